// src/ops/rand.cc - random tensors: only shape and dtype mean anything. Evaluation gives a fixed sequence. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

enum class Source { kUniform, kNormal, kInts };

Result<Types> typed(const Call& c, DType t, Shape shape) {
  for (const Dim& d : shape)
    if (d.is_constant() && d.value() < 0) return fail(Code::kUnsupported, "{}: [op.2] size {}", c.name(), d.value());
  if (!is_number(t)) return fail(Code::kUnsupported, "{}: [op.1] dtype {}", c.name(), name(t));
  return Types{TensorType{t, std::move(shape)}};
}
Result<Types> sized(const Call& c) {
  const DType none = c.name().starts_with("aten.randint") ? DType::i64 : kDefaultFloat;
  return typed(c, c.dtype("dtype").value_or(none), c.dims("size"));
}
Result<Types> like(const Call& c) { return typed(c, c.dtype("dtype").value_or(c.type(0).dtype), c.type(0).shape); }

// splitmix64 from a fixed seed.
uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
void draw(const Call& c, Source source, ir::Tensor& out) {
  uint64_t state = 1;
  const auto uniform = [&] { return static_cast<double>(next(state) >> 11) * 0x1p-53; };
  const bool ints = source == Source::kInts;
  const bool has_low = ints && c.op().schema.index_of("low") >= 0;
  const int64_t low = has_low ? c.i("low") : 0, width = ints ? std::max<int64_t>(wrap_sub(c.i("high"), low), 1) : 1;
  for (int64_t k = 0, n = out.numel(); k < n; ++k) {
    if (ints)
      ir::store_i(out.dtype, out.mutable_data(), k,
                  wrap_add(low, static_cast<int64_t>(next(state) % static_cast<uint64_t>(width))));
    else if (source == Source::kUniform)
      ir::store_f(out.dtype, out.mutable_data(), k, uniform());
    else
      ir::store_f(out.dtype, out.mutable_data(), k,
                  std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * M_PI * uniform()));
  }
}

}  // namespace

std::vector<OpDef> define_rand() {
  std::vector<OpDef> all;
  const auto add = [&](const char* schema, auto infer, Source source) {
    OpDef d;
    d.schema_text = schema;
    d.infer = infer;
    d.is_nondeterministic = true;
    d.whole = [source](const Call& c, std::span<const ir::Tensor>, std::span<ir::Tensor> out) -> Result<void> {
      draw(c, source, out[0]);
      return {};
    };
    all.push_back(std::move(d));
  };
  add("aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      sized, Source::kUniform);
  add("aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      sized, Source::kNormal);
  add("aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      sized, Source::kUniform);
  add("aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      sized, Source::kNormal);
  add("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None) -> Tensor",
      sized, Source::kInts);
  add("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None) -> Tensor",
      sized, Source::kInts);
  add("aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      like, Source::kUniform);
  add("aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      like, Source::kNormal);
  add("aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      like, Source::kInts);
  add("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? "
      "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      like, Source::kInts);
  add("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", infer_same, Source::kUniform);
  for (OpDef& d : all) {
    if (d.schema_text.starts_with("aten::rand(")) d.stock = "aten::rand.out";
    if (d.schema_text.starts_with("aten::randn(")) d.stock = "aten::randn.out";
    if (!d.stock.empty()) d.stock_args = [](const ir::Node& n) { return std::vector<ir::Arg>{n.arg("size")}; };
  }
  return all;
}

}  // namespace edgewright::ops
