// src/format/pte.h - the .pte program file as plain structs: a bounds-checked reader. pte_build.h writes the same structs.
//
// Layout (stock ExecuTorch 1.5.1, exir/_serialize): a flatbuffer (program.fbs, identifier "ET12") whose bytes 8.. hold the
// extended header: "eh00", u32 header length, u64 program size, u64 segment base, u64 segment data size; then segments, each
// aligned to 128 from the base: constants, mutable data, delegate payloads, named data. Without segments there is no header.
// Depends on base and flatbuffers (in the .cc only).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "format/pieces.h"

namespace edgewright::pte {

inline constexpr uint32_t kSegmentAlignment = 128;
inline constexpr uint32_t kConstantAlignment = 16;

enum class Dynamism : uint8_t { kStatic = 0, kBound = 1, kUnbound = 2 };

// Where a planned tensor lies: memory_id counts from 1 and indexes Plan::buffer_sizes.
struct Allocation {
  uint32_t memory_id = 1;
  uint64_t offset = 0;
};

struct Tensor {
  DType dtype = DType::f32;
  std::vector<int32_t> sizes;      // upper bounds where dynamism is kBound
  std::vector<uint8_t> dim_order;  // outermost dimension first; identity is contiguous
  bool requires_grad = false;
  // No allocation: buffer > 0 is Program::constants[buffer]; 0 means the data comes at run time.
  // With allocation: buffer > 0 is the initial value, Program::mutable_data[buffer].
  uint32_t buffer = 0;
  std::optional<Allocation> allocation;
  Dynamism dynamism = Dynamism::kStatic;
  std::string name;        // fully qualified name, may be empty
  bool external = false;   // data lies outside of the file, under `name`
  bool has_extra = false;  // write the extra table although it holds defaults
};

struct Null {};
struct IntList {
  std::vector<int64_t> items;
};  // indices of int values in Plan::values
struct DoubleList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<bool> items;
};
struct TensorList {
  std::vector<int32_t> items;
};  // indices of tensors in Plan::values
struct OptionalTensorList {
  std::vector<int32_t> items;
};  // the same; -1 or the index of a Null: none

// In the order of the file's union (tag = index + 1).
using Value = std::variant<Null, int64_t, bool, double, Tensor, std::string, IntList, DoubleList, BoolList, TensorList,
                           OptionalTensorList>;

struct Operator {
  std::string name;      // "aten::add"
  std::string overload;  // "out", may be empty
};

struct KernelCall {
  int32_t op = 0;
  std::vector<int32_t> args;
};  // args: indices of values, outputs last
struct DelegateCall {
  int32_t delegate = 0;
  std::vector<int32_t> args;
};  // inputs, then outputs
struct MoveCall {
  int32_t from = 0, to = 0;
};
struct JumpFalseCall {
  int32_t cond = 0, target = 0;
};  // target: index of an instruction of the chain
struct FreeCall {
  int32_t value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
};
struct Delegate {
  std::string id;        // "XnnpackBackend"
  uint32_t payload = 0;  // index into Program::payloads
  std::vector<CompileSpec> specs;
};

struct Chain {
  std::vector<int32_t> inputs, outputs;
  std::vector<Instruction> instructions;
};

struct Plan {
  std::string name;                                 // "forward"
  std::string container_inputs, container_outputs;  // encoded pytree specs, may be empty
  std::vector<Value> values;
  std::vector<int32_t> inputs, outputs;
  std::vector<Chain> chains;
  std::vector<Operator> operators;
  std::vector<Delegate> delegates;
  std::vector<int64_t> buffer_sizes;  // element 0 is reserved and 0
};

struct NamedData {
  std::string key;
  uint32_t blob = 0;  // index into Program::named_blobs
};

// A whole file. All Bytes borrow: from the file when read, from the caller when built.
// When read, constants[i] and mutable_data[i] reach from the constant's offset to the end of its segment, since the file
// does not tell their sizes: take Tensor's own number of bytes through `initial_data`.
struct Program {
  uint32_t version = 0;
  std::vector<Plan> plans;
  std::vector<Bytes> constants;     // [0] is reserved and empty
  std::vector<Bytes> mutable_data;  // [0] is reserved and empty
  std::vector<Bytes> payloads;      // when read: each a single run
  std::vector<NamedData> named_data;
  std::vector<Bytes> named_blobs;

  const Bytes* find_named(std::string_view key) const;  // nullptr if absent
};

// Reads a file. Every index, size and reference in the result is in range:
// value indices of lists, inputs, outputs and calls (args of calls and lists may be -1 only in OptionalTensorList), op and
// delegate indices, jump targets (0..instructions.size()), tensors (sizes >= 0 with a product of bytes that fits, dim_order a
// permutation, known dtype, allocation inside its buffer, data inside the file), payload and blob indices.
// Errors: kMalformed, with the reason; kUnsupported for the fields that stock defines and that nothing here can honour
// (storage offset, other devices). Memory is bounded by a small multiple of file.size(). `file` must outlive the result.
Result<Program> parse(Bytes file);

// True if the bytes begin as a .pte file does.
bool looks_like_pte(Bytes file);

// Bytes of the tensor at its declared sizes (its upper bound). Nothing checked: parse() did.
uint64_t byte_size(const Tensor& t);
// The data of a constant, or the initial value of a mutable tensor; empty if it has none.
Bytes initial_data(const Program& p, const Tensor& t);

}  // namespace edgewright::pte
