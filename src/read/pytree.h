// src/read/pytree.h - torch's tree specs: how flat leaves make up nested arguments. Depends on base, json.h, pickle.h.
//
// Format facts: torch.utils._pytree.treespec_dumps, protocol 1: [1, {"type": "builtins.dict", "context": "[\"a\"]",
// "children_spec": [...]}]; a leaf has type null. The context is JSON inside the JSON: a dict's keys, a namedtuple's type, a
// data class's [fields, fields that were None]; other classes write what they like, often the names of their attributes.
#pragma once

#include <string>
#include <vector>

#include "read/json.h"
#include "read/pickle.h"

namespace edgewright::read {

struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kTuple, kList, kDict, kOther };
  Kind kind = Kind::kLeaf;
  std::string type;  // "builtins.dict"; empty for a leaf
  std::vector<std::string>
      keys;  // of a dict, or a class's attributes, parallel to children; empty where they are not known
  std::vector<TreeSpec> children;
  size_t num_leaves() const;
  // "(({'a': *, 'b': *}, [*, *], *), {'scale': *})".
  std::string str() const;
  // One name per leaf below `prefix`: "x.a", "x[0]".
  void names(const std::string& prefix, std::vector<std::string>& into) const;
};

// Errors: kMalformed; nesting is limited to 64.
Result<TreeSpec> parse_treespec(std::string_view text);

// Names of the leaves of a program's (args, kwargs): "args[0].a", "kwargs.scale".
std::vector<std::string> input_names(const TreeSpec& spec);

// The leaves of `object` in the order of the spec; false where it does not have the spec's shape.
bool flatten(const TreeSpec& spec, PyRef object, std::vector<PyRef>& into);

}  // namespace edgewright::read
