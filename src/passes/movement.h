// src/passes/movement.h - what a value is, seen through the data movement that makes it: chains of permute, view, slice, expand,
// clone and their kin as one index map over the value that they start from. Depends on pass_def.h, ops/index_map.h.
//
// Passes ask here ("is it the transpose of w, w itself, one matrix for the whole batch?") instead of matching op spellings.
#pragma once

#include "ops/index_map.h"
#include "passes/pass_def.h"

namespace edgewright::passes {

// A copy of its first operand, element for element and with its type: clone, detach, dropout at inference, a cast to the same dtype.
bool is_copy(const Node& n);
// Result r as a map of the first operand: data movement on static shapes without empty dims, and copies. nullopt for all else.
std::optional<ops::IndexMap> movement(const Node& n, size_t r = 0);

// A value that another one shows.
struct Source {
  Value* value;
  ops::IndexMap map;        // from `value` to the value asked about
  std::vector<Node*> path;  // the nodes in between, last one first; empty for the value itself
};
// `v` itself, then what it shows, nearest first. Empty where v's shape is symbolic or has an empty dim.
std::vector<Source> sources(Value* v);

// What a chain of steps takes: nodes that move elements (a view does not), nodes, elements moved. Less in every respect is cheaper.
struct Cost {
  int64_t moving = 0, nodes = 0, elements = 0;
  auto operator<=>(const Cost&) const = default;
};
using Steps = std::vector<ops::IndexMap::Step>;
Cost cost(const ops::IndexMap& map, const Steps& steps);
// Of the nodes of a path, how many go with the first one: each has no user but the one before it.
size_t removable(const std::vector<Node*>& path);

// Ends a match of a single data movement: the root becomes the cheapest equal chain over one of the values that it shows; never
// more nodes, never more moved than by the nodes that go. On symbolic shapes: permutes of permutes, views of views, no-ops.
Match compose(Node& n, Rewriter& rw);

// Whether an in-place op writes to the storage that `v` shows, through any view of it: then what the value is depends on when it is
// read, until functionalize has made that plain.
bool is_written(const Value* v);

// Made of constants alone (through at most a few nodes), so that fold-constants makes it one.
bool from_constants(const Value* v);

}  // namespace edgewright::passes
