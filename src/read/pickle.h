// src/read/pickle.h - the pickles that torch.save makes of tensors in plain containers; nothing is ever run. Depends on
// base, ir/tensor.h, zip.h.
//
// Format facts: Python's pickle protocols 2 to 5; torch.save's zip (data.pkl beside byteorder and data/<key>), with storages as
// persistent ids ('storage', <torch>.FloatStorage, key, device, elements) and tensors as calls of torch._utils._rebuild_*.
// Only the calls named in pickle.cc are understood, each by what it means. Whatever else a pickle would make becomes a PyRefused
// with its name, which fails only what uses it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/tensor.h"
#include "read/zip.h"

namespace edgewright::read {

struct PyObject;
using PyRef = const PyObject*;

struct PyNone {};
struct PyTuple {
  std::vector<PyRef> items;
};
struct PyList {
  std::vector<PyRef> items;
};
struct PyDict {  // also OrderedDict; in order of insertion
  std::vector<std::pair<PyRef, PyRef>> items;
};
struct PyGlobal {
  std::string module, name;
};
struct PyStorage {
  DType dtype = DType::u8;
  bool typed = true;  // false: torch.UntypedStorage, counted in bytes
  Bytes bytes;
};
// What the pickle would have made with code of its own: "tensor subclass torchao.Int8Tensor", "object of my.Config". What such an object
// was given can be looked at, as plain data.
struct PyRefused {
  std::string what;
  PyRef attributes = nullptr;  // of a wrapper subclass, a dict: its inner tensors are plain ones; null elsewhere
  std::vector<PyRef> args;     // of an object: what its class was called with (a named tuple's items)
  PyRef state = nullptr;       // of an object: its attributes, usually a dict; null where it has none
};
struct PyOpaque {  // a device, layout and the like: carried, never looked at
  std::string text;
};
struct PyObject {
  std::variant<PyNone, bool, int64_t, double, std::string, PyTuple, PyList, PyDict, PyGlobal, PyStorage, PyOpaque,
               PyRefused, DType, ir::Tensor>
      v;
  template <class T>
  const T* as() const {
    return std::get_if<T>(&v);
  }
};

// Owns every object of one pickle (they may refer to each other in cycles).
struct Pickle {
  std::deque<PyObject> objects;
  PyRef root = nullptr;
};

// Reads what torch.save wrote: `zip` is the whole archive's bytes. Tensors are views of it where stored and aligned to their
// element, copies otherwise. Errors: kMalformed for broken bytes or extents outside a storage; kUnsupported for opcodes that
// neither tensors in plain containers nor the objects refused need, and for big-endian files.
Result<Pickle> read_torch_save(const Bytes& zip);

// The pickle alone; `storage` answers persistent ids (key, bytes that the file must hold). For tests and fuzzing.
struct PickleStorages {
  virtual ~PickleStorages() = default;
  virtual Result<Bytes> find(const std::string& key) = 0;
};
Result<Pickle> read_pickle(std::span<const std::byte> bytes, PickleStorages& storages);

// Sizes that some machine could hold: at most 64 dims (ATen's limit) of together fewer than 2^46 elements, where a size of 0
// counts as 1, so that strides do not overflow either. Errors: kMalformed.
Result<void> check_sizes(std::span<const int64_t> sizes);

// A tensor over a storage: a view where the bytes are aligned to the element, else a copy of the storage, made once per `bytes`.
// Errors: kMalformed as check_sizes and ir::Tensor::from_storage, and for an expansion to more than 64 times the storage.
Result<ir::Tensor> tensor_over(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
                               const Bytes& bytes);
// Copies the bytes where they are not aligned to `dtype`.
Bytes aligned_for(DType dtype, Bytes bytes);

}  // namespace edgewright::read
