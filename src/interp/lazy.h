// src/interp/lazy.h - chosen elements of values, pulled through the nodes that make them. Depends on ops, ir.
//
// A region of a graph is given by its boundary: evaluation goes from the values asked for through their producers until it
// meets a boundary value or a constant. Whatever was computed is kept, so that two regions with one boundary share their work.
// Cost follows what is asked for, not the size of the tensors; an op that has only a whole-tensor meaning is computed whole.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "interp/apply.h"

namespace edgewright::interp {

// An int that the error of a float before it could have changed is not `certain`.
struct CertainInt {
  int64_t v = 0;
  bool certain = true;
};

// Not thread-safe. Graphs and nodes must outlive it and stay as they are. Each error is sticky: the region cannot be evaluated.
// Errors: kUnsupported for an op without a meaning, in-place ops, control flow, more elements or deeper regions than the
// limits; kInternal for a value that neither the boundary nor a node gives; otherwise the ops' own.
class Lazy {
 public:
  struct Limits {
    int64_t elements = int64_t{1} << 22;  // computed one by one
    int depth = 600;                      // nodes between a value and the boundary
  };
  Lazy() : Lazy(Limits{}) {}
  explicit Lazy(Limits limits) : limits_(limits) {}
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  // Declares a boundary value, before anything is asked for.
  void set(const ir::Value* v, Datum d);

  // Dtype and concrete sizes; for a number its kind and value. kUnsupported where sizes depend on data not yet computed.
  Result<ops::Call::Known> type(const ir::Value* v);
  // One element, exactly as the interpreter's: computed in double, rounded to the dtype.
  Result<double> f(const ir::Value* v, ops::Index at);
  // One element of an int or bool value.
  Result<int64_t> i(const ir::Value* v, ops::Index at);
  // One element of a float value with the bound of what f32 arithmetic in any order could make of it. Boundary values and constants are exact.
  Result<ops::Bounded> bounded(const ir::Value* v, ops::Index at);
  // One element of an int or bool value, and whether rounding before it could change it.
  Result<CertainInt> certain(const ir::Value* v, ops::Index at);
  // All elements.
  Result<ir::Tensor> dense(const ir::Value* v);
  // Elements computed one by one so far.
  int64_t count() const { return count_; }

 private:
  struct Applied;  // a node with its operands resolved
  // One element each by row-major place; small values keep them in an array.
  template <class T>
  struct Memo {
    std::unordered_map<int64_t, T> sparse;
    std::vector<T> all;
    std::vector<bool> have;
    const T* find(int64_t at) const;
    void put(int64_t at, T v, int64_t numel);
  };
  struct Entry {
    ops::Call::Known known;
    DType dtype = DType::f32;
    std::vector<int64_t> sizes, strides;  // row-major
    int64_t numel = 0;
    bool sized = false;  // false while its sizes depend on data
    Applied* by = nullptr;
    size_t result = 0;
    ops::Point point;
    bool has_point = false;
    std::optional<Datum> datum;  // boundary, constants, numbers, what was computed whole
    bool is_given = false;       // boundary, constant or a view of such: exact
    int exact = -1;              // computed from exact values without rounding; -1: not yet known
    Memo<double> f;
    Memo<int64_t> i;
    Memo<ops::Bounded> bounded;
    Memo<CertainInt> certain;
  };
  struct Applied {
    const ir::Node* node = nullptr;
    const ops::OpDef* def = nullptr;
    std::optional<ops::Call> call;
    std::vector<Entry*> operands;  // by operand number
    std::vector<Entry*> results;
  };
  class RoundedIn;
  class ErrorIn;
  class SampleIn;

  Entry* entry(const ir::Value* v);  // null after a failure
  bool prepare(const ir::Value* v);  // v's entry and all that it needs
  bool apply_node(const ir::Node& n);
  void view_of_given(const Applied& a, Entry& e);
  bool point_of(Entry& e);
  bool make_dense(Entry& e);
  bool is_exact(Entry& e);
  bool chooses_from_given(Entry& e) const;
  bool enter(Entry& e, ops::Index at, int64_t& place);  // checks limits and the index
  template <class T, class Cache>
  std::optional<T> had(Entry& e, ops::Index at, int64_t& place, const Cache& cache);
  double eval_f(Entry& e, ops::Index at);
  int64_t eval_i(Entry& e, ops::Index at);
  ops::Bounded eval_bounded(Entry& e, ops::Index at);
  CertainInt eval_certain(Entry& e, ops::Index at);
  // Follows a move to the operand's element; null for a fill or a failure.
  Entry* moved(Entry& e, ops::Index at, ops::IndexBuffer& to);
  void fail_with(Error e) {
    if (!error_) error_ = std::move(e);
  }
  template <class T>
  Result<T> checked(T v) const {
    if (error_) return std::unexpected(*error_);
    return v;
  }

  const Limits limits_;
  std::unordered_map<const ir::Value*, std::unique_ptr<Entry>> entries_;
  std::unordered_map<const ir::Node*, std::unique_ptr<Applied>> applied_;
  std::optional<Error> error_;
  int64_t count_ = 0;
  int depth_ = 0;
};

}  // namespace edgewright::interp
