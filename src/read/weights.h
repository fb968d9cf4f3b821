// src/read/weights.h - the tensors of one exported program by name, from every layout that torch.export.save has had. Depends
// on base, ir/tensor.h, json.h, pickle.h, zip.h.
//
// Format facts (torch/_export/serde/schema.py, torch/export/pt2_archive): up to torch 2.7 the state dict and the constants are
// torch.save files; 2.8 put the same into data/weights/<model>.pt; from 2.9 on data/weights/<model>_weights_config.json maps
// each name to a file of raw storage bytes and the view of it (dtype, sizes, strides, offset), and only tensor subclasses are
// pickled.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/tensor.h"
#include "read/json.h"
#include "read/pickle.h"

namespace edgewright::read {

// The dtype that torch's schema numbers `code` (serde/schema.py, ScalarType). Errors: kUnsupported for those we do not have,
// kMalformed for others.
Result<DType> dtype_from_code(int64_t code);

class Weights {
 public:
  // Adds what one torch.save file of a dict holds. An empty entry holds nothing.
  Result<void> add_torch_save(const Bytes& bytes);
  // Adds what a config names; `folder` ("program/data/weights/") is where its files are.
  Result<void> add_config(const ZipArchive& zip, std::string_view config, const std::string& folder);

  // Errors: kMalformed where there is no such tensor; the recorded reason where it is there but cannot be read (a tensor subclass).
  Result<ir::Tensor> find(std::string_view name) const;
  // Whether it is a tensor subclass that wraps plain tensors; programs take those out by attribute ("qdata").
  bool has_parts(std::string_view name) const { return parts_.contains(std::string(name)); }
  // Errors: kUnsupported where there is no such tensor inside.
  Result<ir::Tensor> part(std::string_view name, std::string_view attribute) const;
  bool has(std::string_view name) const {
    return tensors_.contains(std::string(name)) || refused_.contains(std::string(name));
  }

 private:
  Result<ir::Tensor> from_config(const ZipArchive& zip, const std::string& name, JsonObject meta,
                                 const std::string& folder);
  void add_parts(const std::string& name, PyRef r);
  std::unordered_map<std::string, ir::Tensor> tensors_;
  std::unordered_map<std::string, Error> refused_;  // a reason matters only if the program uses the tensor
  std::unordered_map<std::string, std::map<std::string, ir::Tensor, std::less<>>> parts_;
  std::map<std::string, Bytes> files_;
};

}  // namespace edgewright::read
