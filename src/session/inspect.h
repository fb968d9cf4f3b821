// src/session/inspect.h - what is in a .pt2 or a .pte, without running it. Depends on signature.h.
#pragma once

#include "session/signature.h"

namespace edgewright::session {

struct OpCount {
  std::string op;
  int count = 0;
};

struct DelegateInfo {
  std::string id;      // "XnnpackBackend"
  std::string method;  // whose
  uint64_t payload_bytes = 0, constant_bytes = 0;
  std::vector<OpCount> nodes;
  std::vector<std::string> graph;  // one line per node, in order; empty where the payload is not XNNPACK's
  std::string problem;             // why the payload cannot be read; empty otherwise
};

struct MethodInfo {
  Signature signature;
  std::string in_spec, out_spec;  // how the containers of inputs and outputs were encoded
  std::vector<OpCount> ops;       // most frequent first; of a .pte: kernels, delegate calls and other instructions
  size_t mutable_buffers = 0;
  std::vector<int64_t> arena;  // of a .pte: bytes of each planned buffer
  std::vector<DelegateInfo> delegates;
  std::string graph;  // of a .pt2, in text form, where asked for
};

struct Inspection {
  std::string kind;  // "pt2" or "pte"
  uint64_t file_bytes = 0;
  std::string torch_version;  // of a .pt2
  bool has_sample_inputs = false;
  size_t constants = 0;  // tensors of a .pt2, blobs of a .pte; shared ones once
  uint64_t constant_bytes = 0;
  std::vector<MethodInfo> methods;
};

// Errors: kMalformed (also: neither kind of file), kUnsupported, kUsage (no such model).
Result<Inspection> inspect(const std::string& path, const std::string& model = {}, bool with_graph = false);

}  // namespace edgewright::session
