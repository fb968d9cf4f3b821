// src/session/value.h - one leaf of a program's flattened inputs or outputs, and the files that hold them.
// Depends on format.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "format/tensor.h"

namespace edgewright::session {

// A tensor in C order, a Python number, a string, or None (monostate).
using Value = std::variant<std::monostate, HostTensor, int64_t, double, bool, std::string>;

inline const HostTensor* tensor_of(const Value& v) { return std::get_if<HostTensor>(&v); }

// A tensor leaf with a copy of the data. Aborts if the number of elements is not that of `sizes`.
Value f32(std::vector<int64_t> sizes, const std::vector<float>& data);
Value f64(std::vector<int64_t> sizes, const std::vector<double>& data);
Value i64(std::vector<int64_t> sizes, const std::vector<int64_t>& data);

// "f32[2,3]", "3", "0.5", "True", "'text'", "None".
std::string describe(const Value& v);

// What one call is given: leaves by their number in flattened pytree order, and those that only the signature can place.
struct Inputs {
  std::map<size_t, Value> by_number;
  std::vector<HostTensor> in_order;     // of .npy files: the tensor leaves, first to last
  std::map<std::string, Value> by_key;  // --input K=VALUE: a leaf's number or name
};

// Reads the files of one call: one .safetensors whose keys are leaf numbers, or .npy files, one per tensor leaf.
// Errors: kMalformed (unreadable, keys that are no numbers), kUsage (another kind of file, several .safetensors).
Result<Inputs> read_inputs(const std::vector<std::string>& files);
// Adds "K=VALUE": an int, float, True/False, None, or else a string. Errors: kUsage.
Result<void> add_scalar(Inputs& inputs, const std::string& text);

// Writes the tensors among `outputs` under their leaf numbers (.safetensors), or the only tensor (.npy); all or nothing.
// Errors: kUsage (cannot be written, another kind of file, .npy for several tensors), kUnsupported (a dtype it cannot hold).
Result<void> write_outputs(const std::string& path, const std::vector<Value>& outputs);

}  // namespace edgewright::session
