#include "runtime/kernel.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"

namespace edgewright::runtime {

Scratch::~Scratch() { std::free(data_); }

std::byte* Scratch::get(uint64_t bytes) {
  if (bytes > size_ || !data_) {
    const uint64_t rounded = (std::max<uint64_t>(bytes, 64) + 63) / 64 * 64;
    auto* grown = static_cast<std::byte*>(std::aligned_alloc(64, rounded));
    if (!grown) return nullptr;
    std::free(data_);
    data_ = grown;
    size_ = rounded;
  }
  return data_;
}

namespace {
const EValue kNoneValue{};
const Tensor kStandIn{};  // 1 element, no data: ok() stops a kernel before it reads it
}  // namespace

const EValue& Call::at(size_t i) {
  if (i >= args_.size()) {
    reject("too few arguments");
    return kNoneValue;
  }
  error_at_ = bad() ? error_at_ : i;
  return *args_[i];
}

void Call::reject(std::string_view why) {
  if (!bad()) error_ = why;
}

Result<void> Call::ok() const {
  if (!bad()) return {};
  return named(edgewright::fail(Code::kMalformed, "argument {}: {}", error_at_, error_));
}

std::unexpected<Error> Call::named(std::unexpected<Error> e) const {
  e.error().node = std::string(op_);
  return e;
}

std::unexpected<Error> Call::unsupported(DType t) const {
  return fail(Code::kUnsupported, "no kernel for {} here", name(t));
}

const Tensor& Call::in(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kTensor) return *v.tensor;
  reject("is no tensor");
  return kStandIn;
}

const Tensor* Call::optional_in(size_t i) { return none(i) ? nullptr : &in(i); }

Tensor& Call::out(size_t i) {
  const EValue& v = at(i);
  if (v.tag != Tag::kTensor)
    reject("is no tensor");
  else if (!v.tensor->writable)
    reject("is a constant, and would be written");
  else
    return *v.tensor;
  return const_cast<Tensor&>(kStandIn);
}

int64_t Call::integer(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kInt) return v.i;
  if (v.tag == Tag::kBool) return v.b;
  reject("is no int");
  return 0;
}

bool Call::boolean(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kBool) return v.b;
  if (v.tag == Tag::kInt) return v.i != 0;
  reject("is no bool");
  return false;
}

double Call::real(size_t i) {
  const EValue& v = scalar(i);
  return v.tag == Tag::kDouble ? v.d : v.tag == Tag::kBool ? static_cast<double>(v.b) : static_cast<double>(v.i);
}

const EValue& Call::scalar(size_t i) {
  static const EValue zero = [] {
    EValue v;
    v.tag = Tag::kInt;
    return v;
  }();
  const EValue& v = at(i);
  if (v.tag == Tag::kInt || v.tag == Tag::kBool || v.tag == Tag::kDouble) return v;
  reject("is no number");
  return zero;
}

std::string_view Call::text(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kString) return {v.text, v.size};
  reject("is no string");
  return {};
}

Call::Ints Call::ints(size_t i) {
  Ints out;
  if (none(i)) return out;
  const EValue& v = at(i);
  if (v.tag == Tag::kInt) {  // a scalar where a list of one is meant
    out.v[0] = v.i;
    out.n = 1;
    return out;
  }
  if (v.tag != Tag::kIntList) {
    reject("is no list of ints");
  } else if (v.size > kMaxRank) {
    reject("is too long a list");
  } else {
    for (out.n = 0; out.n < v.size; ++out.n) {
      const EValue& e = *v.items[out.n];
      if (e.tag != Tag::kInt) reject("is no list of ints");
      out.v[out.n] = e.i;
    }
  }
  return out;
}

std::span<const double> Call::doubles(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kDoubleList) return {v.doubles, v.size};
  reject("is no list of doubles");
  return {};
}

std::span<const bool> Call::bools(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kBoolList) return {v.bools, v.size};
  reject("is no list of bools");
  return {};
}

size_t Call::list_size(size_t i) {
  const EValue& v = at(i);
  if (v.tag == Tag::kTensorList) return v.size;
  reject("is no list of tensors");
  return 0;
}

const Tensor* Call::list_in(size_t i, size_t k) {
  const EValue& v = at(i);
  if (v.tag != Tag::kTensorList || k >= v.size) {
    reject("is no list of tensors as long as that");
    return &kStandIn;
  }
  const EValue& e = *v.items[k];
  if (e.is_none()) return nullptr;
  if (e.tag == Tag::kTensor) return e.tensor;
  reject("holds something else than tensors");
  return &kStandIn;
}

Tensor& Call::list_out(size_t i, size_t k) {
  const Tensor* t = list_in(i, k);
  if (!t)
    reject("holds no tensor to write");
  else if (!t->writable)
    reject("holds a constant, which would be written");
  else
    return const_cast<Tensor&>(*t);
  return const_cast<Tensor&>(kStandIn);
}

EValue& Call::slot(size_t i) {
  static thread_local EValue nowhere;
  if (i < args_.size()) return *args_[i];
  reject("too few arguments");
  return nowhere;
}

size_t Call::axis_of(int64_t v, size_t rank) {
  const auto n = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (v < -n || v >= n) {
    reject("is no dimension of the tensor");
    return 0;
  }
  return static_cast<size_t>(v < 0 ? v + n : v);
}

size_t Call::axis(size_t i, size_t rank) { return axis_of(integer(i), rank); }

bool resize_tensor(Tensor& t, std::span<const int64_t> sizes, const char** why) {
  *why = nullptr;
  if (sizes.size() != t.rank)
    *why = "the result has another rank than its tensor";
  else if (t.dynamism == Dynamism::kStatic && !std::equal(sizes.begin(), sizes.end(), t.sizes.begin()))
    *why = "the result has another shape than its static tensor";
  if (*why) return false;
  if (t.dynamism == Dynamism::kStatic) return true;
  const auto n = checked_numel(sizes);
  const auto bytes = n ? checked_mul(*n, static_cast<int64_t>(size_of(t.dtype))) : std::nullopt;
  if (!bytes) {
    *why = "the result's size is negative or overflows";
    return false;
  }
  if (static_cast<uint64_t>(*bytes) > t.capacity) {
    if (t.dynamism != Dynamism::kUnbound) {
      *why = "the result is larger than its tensor's bound";
      return false;
    }
    // An unbounded tensor owns its memory (the method frees it).
    auto* grown = static_cast<std::byte*>(std::realloc(t.data, static_cast<size_t>(*bytes) + 128));
    if (!grown) {
      *why = "out of memory";
      return false;
    }
    t.data = grown;
    t.capacity = static_cast<uint64_t>(*bytes);
  }
  std::copy(sizes.begin(), sizes.end(), t.sizes.begin());
  t.set_strides();
  return true;
}

Result<void> Call::resize(Tensor& out, std::span<const int64_t> sizes) const {
  const char* why;
  if (resize_tensor(out, sizes, &why)) return {};
  return fail(Code::kUsage, "{}: [{}] into [{}]", why, fmt::join(sizes, ", "), fmt::join(out.shape(), ", "));
}

}  // namespace edgewright::runtime
