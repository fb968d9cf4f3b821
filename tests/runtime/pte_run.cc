// tests/runtime/pte_run.cc - runs one .pte for tests and measurements:
//   pte_run MODEL.pte [--inputs F.safetensors] [--expect F.safetensors] [--atol A] [--rtol R] [--method M] [--threads N] [--bench SECONDS]
// --inputs and --expect repeat: successive calls on one loaded method. Exit status as the command line's.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "format/safetensors.h"
#include "runtime/program.h"

namespace {

using namespace edgewright;

double value(const HostTensor& t, int64_t i) {
  const std::byte* p = t.bytes.data() + static_cast<size_t>(i) * size_of(t.dtype);
  const auto as = [p]<class T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (t.dtype) {
    case DType::f32: return as(float{});
    case DType::f64: return as(double{});
    case DType::f16: return half_to_float(as(uint16_t{}));
    case DType::bf16: return bf16_to_float(as(uint16_t{}));
    case DType::i64: return static_cast<double>(as(int64_t{}));
    case DType::i32: return as(int32_t{});
    case DType::i16: return as(int16_t{});
    case DType::i8: return as(int8_t{});
    case DType::u8:
    case DType::b8: return as(uint8_t{});
    default: return 0;
  }
}

// Greatest difference beyond atol + rtol * |expected|; negative when all is well.
std::string compare(const HostTensor& got, const HostTensor& want, double atol, double rtol, double& worst) {
  if (got.dtype != want.dtype) return fmt::format("dtype {} instead of {}", name(got.dtype), name(want.dtype));
  if (got.sizes != want.sizes)
    return fmt::format("shape [{}] instead of [{}]", fmt::join(got.sizes, ", "), fmt::join(want.sizes, ", "));
  const bool exact = !is_float(got.dtype);
  std::string bad;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double a = value(got, i), b = value(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double d = std::fabs(a - b);
    worst = std::max(worst, std::isnan(d) ? INFINITY : d);
    if (bad.empty() && (exact || !(d <= atol + rtol * std::fabs(b)) || std::isinf(b)))
      bad = fmt::format("element {}: {} instead of {}", i, a, b);
  }
  return bad;
}

int fail_with(const Error& e) {
  std::fprintf(stderr, "%s\n", e.str().c_str());
  return exit_status(e.code);
}

}  // namespace

int main(int argc, char** argv) {
  std::string model, method_name = "forward";
  std::vector<std::string> inputs, expects;
  double atol = 1e-4, rtol = 1e-4, bench = 0;
  runtime::LoadOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (a == "--inputs")
      inputs.push_back(next());
    else if (a == "--expect")
      expects.push_back(next());
    else if (a == "--atol")
      atol = std::stod(next());
    else if (a == "--rtol")
      rtol = std::stod(next());
    else if (a == "--method")
      method_name = next();
    else if (a == "--threads")
      options.threads = std::stoi(next());
    else if (a == "--bench")
      bench = std::stod(next());
    else
      model = a;
  }
  const auto start = std::chrono::steady_clock::now();
  auto program = runtime::Program::load(model, options);
  if (!program) return fail_with(program.error());
  auto method = (*program)->method(method_name);
  if (!method) return fail_with(method.error());
  const double load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  int status = 0;
  double worst = 0;
  for (size_t set = 0; set < std::max<size_t>(inputs.size(), 1); ++set) {
    if (set < inputs.size()) {
      auto tensors = safetensors::read(inputs[set]);
      if (!tensors) return fail_with(tensors.error());
      for (const NamedTensor& t : *tensors) {
        const auto i = static_cast<size_t>(std::stoul(t.name));
        if (i >= (*method)->num_inputs()) continue;
        const auto tag = (*method)->input_info(i).tag;
        if (tag == runtime::Tag::kInt || tag == runtime::Tag::kBool) {
          auto r = tag == runtime::Tag::kInt ? (*method)->set_input_int(i, static_cast<int64_t>(value(t.tensor, 0)))
                                             : (*method)->set_input_bool(i, value(t.tensor, 0) != 0);
          if (!r) return fail_with(r.error());
        } else if (auto r = (*method)->set_input(i, t.tensor); !r) {
          return fail_with(r.error());
        }
      }
    }
    if (auto r = (*method)->execute(); !r) return fail_with(r.error());
    if (set >= expects.size()) continue;
    auto want = safetensors::read(expects[set]);
    if (!want) return fail_with(want.error());
    for (const NamedTensor& t : *want) {
      const auto i = static_cast<size_t>(std::stoul(t.name));
      if (i >= (*method)->num_outputs()) {
        std::printf("output %zu is not there\n", i);
        status = 1;
        continue;
      }
      const std::string bad = compare((*method)->output_tensor(i), t.tensor, atol, rtol, worst);
      if (!bad.empty()) {
        std::printf("set %zu output %zu: %s\n", set, i, bad.c_str());
        status = 1;
      }
    }
  }
  if (!expects.empty()) std::printf("worst difference %g\n", worst);
  if (bench > 0) {
    std::vector<double> ms;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < bench) {
      const auto t0 = std::chrono::steady_clock::now();
      if (auto r = (*method)->execute(); !r) return fail_with(r.error());
      ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
    }
    std::sort(ms.begin(), ms.end());
    std::printf("load_ms %.2f runs %zu min_ms %.3f median_ms %.3f p90_ms %.3f\n", load_ms, ms.size(), ms.front(),
                ms[ms.size() / 2], ms[ms.size() * 9 / 10]);
  }
  return status;
}
