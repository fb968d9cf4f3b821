// custom_kernel MODEL.pt2 INPUTS.safetensors EXPECTED.safetensors: compiles and runs a model with an operator of its own, whose kernel
// stands here. make_model.py exports such a model.
//
// The operator: mylib::soft_shift(Tensor x, Tensor by, float scale, int steps) -> Tensor, x * tanh((x + by) * scale) + steps.
#include <fmt/format.h>

#include <cmath>

#include "runtime/kernel.h"
#include "session/calls.h"
#include "session/check.h"
#include "session/loaded.h"

using namespace edgewright;

namespace {

// Arguments in schema order, then the output. Checks what it gets before it touches data.
Result<void> soft_shift(runtime::Call& c) {
  const runtime::Tensor &x = c.in(0), &by = c.in(1);
  const double scale = c.real(2);
  const int64_t steps = c.integer(3);
  runtime::Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (x.dtype != DType::f32 || by.dtype != DType::f32 || out.dtype != DType::f32) return c.unsupported(x.dtype);
  if (x.rank == 0 || by.rank != 1 || by.sizes[0] != x.sizes[x.rank - 1] || !x.contiguous() || !out.contiguous())
    return c.fail(Code::kUsage, "x needs rows as long as 'by'");
  EW_TRY(c.resize(out, x.shape()));
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double v = static_cast<double>(x.as<float>()[i]), b = static_cast<double>(by.as<float>()[i % by.sizes[0]]);
    out.as<float>()[i] = static_cast<float>(v * std::tanh((v + b) * scale) + static_cast<double>(steps));
  }
  return {};
}

Result<int> run(const std::string& model, const std::string& inputs, const std::string& expected) {
  EW_TRY(runtime::register_kernel("mylib::soft_shift.out", soft_shift));
  // `edgewright compile --custom-op mylib.soft_shift` does the same into a file.
  const driver::CompileOptions compile{.custom_ops = {"mylib.soft_shift"}};
  EW_ASSIGN(auto loaded, session::load(model, {.compile = &compile}));
  EW_ASSIGN(const auto calls,
            session::gather(loaded->signature(), {.inputs = {{inputs}}, .expected = {{expected}}}, {}));
  EW_ASSIGN(const auto outputs, loaded->run(calls[0].inputs));
  for (const session::Value& v : outputs) fmt::print("{}\n", session::describe(v));
  for (const session::OutputCheck& o :
       session::compare_expected(0, loaded->signature(), outputs, *calls[0].expected, session::Tolerance{})) {
    fmt::print("output {}: {}\n", o.output, o.agree() ? "as PyTorch's" : "differs");
    if (!o.agree()) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4)
    return fmt::print(stderr, "usage: custom_kernel MODEL.pt2 INPUTS.safetensors EXPECTED.safetensors\n"), 2;
  const auto status = run(argv[1], argv[2], argv[3]);
  if (status) return *status;
  fmt::print(stderr, "error: {}\n", status.error().str());
  return exit_status(status.error().code);
}
