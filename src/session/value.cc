// src/session/value.cc - leaves and their files.
#include "session/value.h"

#include <charconv>
#include <cstring>

#include "format/npy.h"
#include "format/safetensors.h"

namespace edgewright::session {
namespace {

template <class T>
Value tensor_leaf(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& data) {
  EW_CHECK(checked_numel(sizes) == std::ssize(data));
  std::vector<std::byte> bytes(data.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
  return HostTensor::owned(dtype, std::move(sizes), std::move(bytes));
}

template <class T>
std::optional<T> whole_number(std::string_view s) {
  T v{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

Value scalar_from(const std::string& s) {
  if (s == "None" || s == "null") return std::monostate();
  if (s == "True" || s == "true") return true;
  if (s == "False" || s == "false") return false;
  if (const auto i = whole_number<int64_t>(s)) return *i;
  if (const auto f = whole_number<double>(s)) return *f;
  return s;
}

// Enough of a file's content for what its kind is; the file's name decides where the two agree.
enum class Kind { kSafetensors, kNpy, kOther };
Kind kind_of(const std::string& path) {
  if (path.ends_with(".safetensors")) return Kind::kSafetensors;
  if (path.ends_with(".npy")) return Kind::kNpy;
  return Kind::kOther;
}

Result<Inputs> read_leaves(const std::vector<std::string>& files) {
  Inputs all;
  for (const std::string& path : files) {
    switch (kind_of(path)) {
      case Kind::kSafetensors: {
        if (files.size() > 1)
          return fail(Code::kUsage, "{}: one call takes one .safetensors file; repeat the option for further calls",
                      path);
        EW_ASSIGN(auto tensors, safetensors::read(path));
        for (NamedTensor& t : tensors) {
          const auto number = whole_number<size_t>(t.name);
          if (!number || std::to_string(*number) != t.name)
            return fail(Code::kMalformed, "{}: key '{}' is not the number of a leaf (\"0\", \"1\", ...)", path, t.name);
          all.by_number[*number] = std::move(t.tensor);
        }
        break;
      }
      case Kind::kNpy: {
        EW_ASSIGN(HostTensor t, npy::read(path));
        all.in_order.push_back(std::move(t));
        break;
      }
      case Kind::kOther: return fail(Code::kUsage, "{}: tensors are read from .safetensors and .npy files", path);
    }
  }
  return all;
}

}  // namespace

Value f32(std::vector<int64_t> sizes, const std::vector<float>& data) {
  return tensor_leaf(DType::f32, std::move(sizes), data);
}
Value f64(std::vector<int64_t> sizes, const std::vector<double>& data) {
  return tensor_leaf(DType::f64, std::move(sizes), data);
}
Value i64(std::vector<int64_t> sizes, const std::vector<int64_t>& data) {
  return tensor_leaf(DType::i64, std::move(sizes), data);
}

std::string describe(const Value& v) {
  struct {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(const HostTensor& t) const {
      return fmt::format("{}[{}]", name(t.dtype), fmt::join(t.sizes, ","));
    }
    std::string operator()(int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double f) const { return fmt::format("{:#}", f); }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(const std::string& s) const { return fmt::format("'{}'", s); }
  } text;
  return std::visit(text, v);
}

Result<Inputs> read_inputs(const std::vector<std::string>& files) { return read_leaves(files); }

Result<void> add_scalar(Inputs& inputs, const std::string& text) {
  const size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0) return fail(Code::kUsage, "--input wants K=VALUE, not '{}'", text);
  if (!inputs.by_key.emplace(text.substr(0, eq), scalar_from(text.substr(eq + 1))).second)
    return fail(Code::kUsage, "--input gives '{}' twice", text.substr(0, eq));
  return {};
}

Result<void> write_outputs(const std::string& path, const std::vector<Value>& outputs) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const HostTensor* t = tensor_of(outputs[i])) tensors.push_back({std::to_string(i), *t});
  switch (kind_of(path)) {
    case Kind::kSafetensors: return safetensors::write(path, tensors);
    case Kind::kNpy:
      if (tensors.size() != 1)
        return fail(Code::kUsage, "{}: a .npy file holds one tensor, the program returns {}; write a .safetensors file",
                    path, tensors.size());
      return npy::write(path, tensors[0].tensor);
    case Kind::kOther: return fail(Code::kUsage, "{}: outputs are written as .safetensors or .npy", path);
  }
  return {};
}

}  // namespace edgewright::session
