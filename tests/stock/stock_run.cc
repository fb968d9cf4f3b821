// stock_run: one .pte in the stock ExecuTorch runtime, with given inputs, to compare with ours or to time.
// Depends on the executorch wheel and simdjson only, so that nothing of edgewright can hide a fault of edgewright.
//
//   stock_run MODEL.pte [--inputs F.safetensors]... [-o F.safetensors]... [--expect F.safetensors]...
//             [--input K=VALUE]... [--method NAME]... [--atol A] [--rtol R] [--threads N] [--bench SECONDS]
//
// Keys of the files are leaf numbers, "0", "1", .... Each --inputs is one call on the loaded method, or, where --method is given as often, on
// its own, with arenas shared; -o and --expect
// go with them in order. --bench repeats the last call and prints times as one line of JSON.
// Status: 0 right; 1 outputs differ from --expect; 2 usage; 3 a file cannot be read; 4 the runtime refused to load or run.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

// The thread pool's library is in the wheel, its header is not: these two are all that is used of it.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t new_thread_count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;
using executorch::runtime::Tag;

[[noreturn]] void die(int status, const std::string& message) {
  std::fprintf(stderr, "stock_run: %s\n", message.c_str());
  std::exit(status);
}

struct Code {
  const char* name;
  ScalarType type;
  size_t size;
};
constexpr Code kCodes[] = {
    {"F32", ScalarType::Float, 4},     {"F64", ScalarType::Double, 8}, {"F16", ScalarType::Half, 2},
    {"BF16", ScalarType::BFloat16, 2}, {"I64", ScalarType::Long, 8},   {"I32", ScalarType::Int, 4},
    {"I16", ScalarType::Short, 2},     {"I8", ScalarType::Char, 1},    {"U8", ScalarType::Byte, 1},
    {"BOOL", ScalarType::Bool, 1},     {"U16", ScalarType::UInt16, 2}, {"U32", ScalarType::UInt32, 4},
};

// A dense row-major tensor with bytes of its own.
struct HostTensor {
  Code code;
  std::vector<int64_t> sizes;
  std::string bytes;
};
using TensorFile = std::map<size_t, HostTensor>;

TensorFile read_safetensors(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(in)), {});
  uint64_t header = 0;
  if (!in.good() && !in.eof()) die(3, path + ": cannot be read");
  if (all.size() < 8) die(3, path + ": too short for safetensors");
  std::memcpy(&header, all.data(), 8);
  if (header > all.size() - 8) die(3, path + ": header is longer than the file");
  simdjson::dom::parser parser;
  simdjson::dom::object entries;
  if (parser.parse(all.data() + 8, header).get(entries)) die(3, path + ": header is not a JSON object");
  const size_t data = 8 + header;
  TensorFile file;
  for (const auto [key, entry] : entries) {
    if (key == "__metadata__") continue;
    std::string_view dtype;
    uint64_t begin = 0, end = 0;
    simdjson::dom::array shape;
    if (entry["dtype"].get(dtype) || entry["shape"].get(shape) || entry["data_offsets"].at(0).get(begin) ||
        entry["data_offsets"].at(1).get(end) || begin > end || end > all.size() - data)
      die(3, path + ": bad entry for key " + std::string(key));
    HostTensor t;
    const auto code =
        std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) { return dtype == c.name; });
    if (code == std::end(kCodes)) die(3, path + ": dtype " + std::string(dtype));
    t.code = *code;
    for (const auto dim : shape) t.sizes.push_back(int64_t(dim));
    t.bytes = all.substr(data + begin, end - begin);
    file[std::strtoul(std::string(key).c_str(), nullptr, 10)] = std::move(t);
  }
  return file;
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  std::string header = "{";
  size_t at = 0;
  for (const auto& [key, t] : file) {
    header += (at || header.size() > 1 ? ",\"" : "\"") + std::to_string(key) + "\":{\"dtype\":\"" + t.code.name +
              "\",\"shape\":[";
    for (size_t i = 0; i < t.sizes.size(); ++i) header += (i ? "," : "") + std::to_string(t.sizes[i]);
    header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + t.bytes.size()) + "]}";
    at += t.bytes.size();
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t length = header.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header;
  for (const auto& [key, t] : file) out << t.bytes;
  if (!out.flush()) die(3, path + ": cannot be written");
}

// Calls f(row-major byte offset, strided byte offset) for every element.
template <class F>
void for_each_element(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, size_t item, F f) {
  int64_t count = 1;
  for (const int64_t s : sizes) count *= s;
  std::vector<int64_t> at(sizes.size());
  int64_t strided = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(i * item, strided * item);
    for (size_t d = sizes.size(); d-- > 0;) {
      strided += strides[d];
      if (++at[d] < sizes[d]) break;
      strided -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}

HostTensor to_host(const Tensor& t) {
  HostTensor out;
  const auto code =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& c) { return c.type == t.scalar_type(); });
  if (code == std::end(kCodes)) die(4, "an output has scalar type " + std::to_string(int(t.scalar_type())));
  out.code = *code;
  out.sizes.assign(t.sizes().begin(), t.sizes().end());
  const std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  out.bytes.resize(t.nbytes());
  const char* data = static_cast<const char*>(t.const_data_ptr());
  for_each_element(out.sizes, strides, code->size,
                   [&](size_t to, size_t from) { std::memcpy(&out.bytes[to], data + from, code->size); });
  return out;
}

// The bytes laid out in the dim order that the program declares for this input; `storage` keeps them alive.
TensorPtr to_device(const HostTensor& t, executorch::runtime::Span<const uint8_t> dim_order, std::string& storage) {
  std::vector<executorch::aten::SizesType> sizes(t.sizes.begin(), t.sizes.end());
  std::vector<executorch::aten::DimOrderType> order(dim_order.begin(), dim_order.end());
  if (order.size() != sizes.size())
    die(2, "an input has rank " + std::to_string(sizes.size()) + ", not " + std::to_string(order.size()));
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(1, t.sizes[order[i]]);
  }
  storage.resize(std::max<size_t>(1, t.bytes.size()));
  for_each_element(t.sizes, strides, t.code.size,
                   [&](size_t from, size_t to) { std::memcpy(&storage[to], &t.bytes[from], t.code.size); });
  std::vector<executorch::aten::StridesType> narrow(strides.begin(), strides.end());
  return executorch::extension::make_tensor_ptr(std::move(sizes), storage.data(), std::move(order), std::move(narrow),
                                                t.code.type);
}

template <class T>
double load_as_double(const std::string& bytes, size_t i) {
  T value;
  std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
  return static_cast<double>(value);
}

double element(const HostTensor& t, size_t i) {
  switch (t.code.type) {
    case ScalarType::Float: return load_as_double<float>(t.bytes, i);
    case ScalarType::Double: return load_as_double<double>(t.bytes, i);
    case ScalarType::Half: return static_cast<float>(*reinterpret_cast<const executorch::aten::Half*>(&t.bytes[i * 2]));
    case ScalarType::BFloat16:
      return static_cast<float>(*reinterpret_cast<const executorch::aten::BFloat16*>(&t.bytes[i * 2]));
    case ScalarType::Long: return load_as_double<int64_t>(t.bytes, i);
    case ScalarType::Int: return load_as_double<int32_t>(t.bytes, i);
    case ScalarType::Short: return load_as_double<int16_t>(t.bytes, i);
    case ScalarType::Char: return load_as_double<int8_t>(t.bytes, i);
    default: return load_as_double<uint8_t>(t.bytes, i);
  }
}

bool is_float(const HostTensor& t) { return t.code.name[0] == 'F' || t.code.name[0] == 'B' && t.code.name[1] == 'F'; }

// The agreement rule of the project: |a - b| <= atol + rtol |b|, NaN equals NaN, infinities equal; integers exact.
// Returns what is wrong, or nothing; prints the largest difference.
std::optional<std::string> differs(const HostTensor& got, const HostTensor& want, double atol, double rtol,
                                   double& worst) {
  if (std::strcmp(got.code.name, want.code.name))
    return std::string("dtype ") + got.code.name + ", not " + want.code.name;
  if (got.sizes != want.sizes) return "other shape";
  if (!is_float(want)) return got.bytes == want.bytes ? std::nullopt : std::optional<std::string>("integers differ");
  size_t bad = 0;
  const size_t count = want.bytes.size() / want.code.size;
  for (size_t i = 0; i < count; ++i) {
    const double a = element(got, i), b = element(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::fabs(a - b);
    if (std::isfinite(error)) worst = std::max(worst, error);
    bad += !(std::isfinite(a) && std::isfinite(b) && error <= atol + rtol * std::fabs(b));
  }
  return bad ? std::optional<std::string>(std::to_string(bad) + " of " + std::to_string(count) +
                                          " elements out of tolerance")
             : std::nullopt;
}

struct Options {
  std::string model;
  std::vector<std::string> methods;  // none: forward; one for all calls, or one per call
  std::vector<std::string> inputs, outputs, expected;
  std::map<size_t, std::string> scalars;
  double atol = 1e-4, rtol = 1e-4, bench = 0;
  int threads = 1;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) die(2, arg + " needs a value");
      return argv[i];
    };
    if (arg == "--inputs")
      o.inputs.push_back(value());
    else if (arg == "-o")
      o.outputs.push_back(value());
    else if (arg == "--expect")
      o.expected.push_back(value());
    else if (arg == "--method")
      o.methods.push_back(value());
    else if (arg == "--atol")
      o.atol = std::atof(value().c_str());
    else if (arg == "--rtol")
      o.rtol = std::atof(value().c_str());
    else if (arg == "--threads")
      o.threads = std::atoi(value().c_str());
    else if (arg == "--bench")
      o.bench = std::atof(value().c_str());
    else if (arg == "--input") {
      const std::string pair = value();
      const size_t eq = pair.find('=');
      if (eq == std::string::npos) die(2, "--input wants KEY=VALUE, not " + pair);
      o.scalars[std::strtoul(pair.c_str(), nullptr, 10)] = pair.substr(eq + 1);
    } else if (arg[0] == '-' || !o.model.empty())
      die(2, "unexpected argument " + arg);
    else
      o.model = arg;
  }
  if (o.model.empty())
    die(2, "usage: stock_run MODEL.pte [--inputs F]... [-o F]... [--expect F]... [--bench SECONDS] [--threads N]");
  if (o.outputs.size() > o.inputs.size() || o.expected.size() > o.inputs.size())
    die(2, "more -o or --expect than --inputs");
  return o;
}

void check(Error error, const std::string& what) {
  if (error != Error::Ok)
    die(
        4, what + ": error 0x" + [&] {
          char b[16];
          std::snprintf(b, sizeof b, "%x", unsigned(error));
          return std::string(b);
        }());
}

// The inputs of one call. Those that neither the file nor --input names keep the value that the export fixed.
struct Call {
  std::vector<std::pair<size_t, EValue>> values;
  std::vector<TensorPtr> tensors;
  std::vector<std::string> storage;
};

Call make_call(Method& method, const Options& o, const TensorFile& file) {
  Call call;
  const auto meta = method.method_meta();
  call.storage.resize(meta.num_inputs());
  for (const auto& [key, tensor] : file)
    if (key >= meta.num_inputs()) die(2, "input " + std::to_string(key) + " is one too many");
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) continue;
    const auto scalar = o.scalars.find(i);
    if (*tag == Tag::Tensor) {
      const auto info = meta.input_tensor_meta(i);
      const auto it = file.find(i);
      if (!info.ok() || it == file.end()) die(2, "input " + std::to_string(i) + " is missing");
      call.tensors.push_back(to_device(it->second, info->dim_order(), call.storage[i]));
      call.values.emplace_back(i, *call.tensors.back());
    } else if (scalar != o.scalars.end()) {
      const char* text = scalar->second.c_str();
      if (*tag == Tag::Int)
        call.values.emplace_back(i, EValue(int64_t(std::strtoll(text, nullptr, 10))));
      else if (*tag == Tag::Double)
        call.values.emplace_back(i, EValue(std::strtod(text, nullptr)));
      else if (*tag == Tag::Bool)
        call.values.emplace_back(i, EValue(scalar->second == "true" || scalar->second == "1"));
    }
  }
  return call;
}

void run(Method& method, const Call& call) {
  for (const auto& [i, value] : call.values) check(method.set_input(value, i), "input " + std::to_string(i));
  check(method.execute(), "run");
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(o.threads);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> methods = o.methods.empty() ? std::vector<std::string>{"forward"} : o.methods;
  if (methods.size() > 1 && methods.size() != o.inputs.size()) die(2, "as many --method as --inputs, or one");
  Module module(o.model, Module::LoadMode::Mmap, nullptr, nullptr, nullptr, /*share_memory_arenas=*/methods.size() > 1);
  check(module.load(), o.model + ": load");
  for (const std::string& name : methods)
    if (!module.is_method_loaded(name)) check(module.load_method(name), o.model + ": load of method " + name);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // Module::execute wants every input anew, fixed ones too
  std::vector<Method*> by_call;
  for (const std::string& name : methods) by_call.push_back(*module.method(name));
  Method& last = *by_call.back();
#pragma GCC diagnostic pop
  const double load_ms = ms_since(start);

  int status = 0;
  Call call;
  double first_ms = 0;
  for (size_t i = 0; i < o.inputs.size(); ++i) {
    Method& method = by_call.size() == 1 ? last : *by_call[i];
    call = make_call(method, o, read_safetensors(o.inputs[i]));
    const auto began = std::chrono::steady_clock::now();
    run(method, call);
    if (i == 0) first_ms = ms_since(began);
    TensorFile out;
    for (size_t k = 0; k < method.outputs_size(); ++k)
      if (method.get_output(k).isTensor()) out[k] = to_host(method.get_output(k).toTensor());
    if (i < o.outputs.size()) write_safetensors(o.outputs[i], out);
    if (i >= o.expected.size()) continue;
    for (const auto& [key, want] : read_safetensors(o.expected[i])) {
      double worst = 0;
      const auto wrong =
          out.count(key) ? differs(out[key], want, o.atol, o.rtol, worst) : std::optional<std::string>("missing");
      std::printf("call %zu output %zu: %s, max difference %.3g\n", i, key, wrong ? wrong->c_str() : "agrees", worst);
      if (wrong) status = 1;
    }
  }
  if (o.bench <= 0) return status;

  if (o.inputs.empty()) die(2, "--bench needs --inputs");
  std::vector<double> times;
  const auto began = std::chrono::steady_clock::now();
  while (times.size() < 3 || ms_since(began) < o.bench * 1e3) {
    const auto one = std::chrono::steady_clock::now();
    run(last, call);
    times.push_back(ms_since(one));
  }
  std::sort(times.begin(), times.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"median_ms\": %.4f, \"min_ms\": %.4f, \"p90_ms\": %.4f, \"runs\": %zu, \"load_ms\": %.3f, \"first_ms\": %.3f, "
      "\"peak_rss_mb\": %.1f, \"threads\": %d}\n",
      times[times.size() / 2], times[0], times[times.size() * 9 / 10], times.size(), load_ms, first_ms,
      usage.ru_maxrss / 1024.0, o.threads);
  return status;
}
