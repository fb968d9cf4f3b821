#include "ops/families.h"

#include <algorithm>

namespace edgewright::ops {

// ---- dtypes ---------------------------------------------------------------------------------------------------------

namespace {
int category(DType t) { return is_float(t) ? 2 : is_int(t) ? 1 : 0; }
}  // namespace

std::optional<DType> promote(DType a, DType b) {
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) return size_of(a) == size_of(b) ? DType::f32 : size_of(a) > size_of(b) ? a : b;  // f16 with bf16
  const auto wide_unsigned = [](DType t) { return t == DType::u16 || t == DType::u32 || t == DType::u64; };
  if (wide_unsigned(a) || wide_unsigned(b)) return std::nullopt;
  if (size_of(a) == size_of(b)) return DType::i16;  // u8 with i8
  return size_of(a) > size_of(b) ? a : b;
}

DType dtype_of(ir::ScalarKind kind) {
  switch (kind) {
    case ir::ScalarKind::kInt: return DType::i64;
    case ir::ScalarKind::kBool: return DType::b8;
    case ir::ScalarKind::kFloat: break;
  }
  return kDefaultFloat;
}

DType result_type(const Call& c, std::span<const std::string> params) {
  std::optional<DType> best[3];  // tensors with dims, 0-dim tensors, numbers
  for (const std::string& p : params) {
    const int k = c.operand(p);
    const auto kind = c.number_kind(p);
    if (k < 0 && !kind) continue;
    const DType t = k >= 0 ? c.type(k).dtype : dtype_of(*kind);
    std::optional<DType>& slot = best[k < 0 ? 2 : c.type(k).rank() > 0 ? 0 : 1];
    const auto both = promote(slot.value_or(t), t);
    if (!both) c.error(fmt::format("[op.1] no arithmetic on dtypes {} and {}", name(slot.value_or(t)), name(t)));
    slot = both.value_or(t);
  }
  std::optional<DType> r;
  for (const auto& b : best)
    if (b && (!r || category(*b) > category(*r))) r = promote(r.value_or(*b), *b).value_or(*b);
  return r.value_or(kDefaultFloat);
}
DType result_type(const Call& c, std::initializer_list<std::string> params) {
  return result_type(c, std::span(params.begin(), params.size()));
}

double cast_f(DType t, double v) {
  switch (t) {
    case DType::f64: return v;
    case DType::f32: return static_cast<float>(v);
    case DType::f16: return half_to_float(double_to_half(v));
    case DType::bf16: return bf16_to_float(double_to_bf16(v));
    case DType::b8: return v != 0;
    default: return static_cast<double>(cast_i(t, float_to_int(v)));
  }
}
int64_t float_to_int(double v) { return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : INT64_MIN; }
int64_t cast_i(DType t, int64_t v) {
  switch (t) {
    case DType::b8: return v != 0;
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i8: return static_cast<int8_t>(v);
    case DType::i16: return static_cast<int16_t>(v);
    case DType::u16: return static_cast<uint16_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    case DType::u32: return static_cast<uint32_t>(v);
    default: return v;
  }
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

Shape broadcast(const Call& c, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t skip = longer.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); ++d) {
    const Dim &x = longer[d + skip], &y = shorter[d];
    if (x == y || y == Dim(1)) continue;
    if (x == Dim(1)) {
      out[d + skip] = y;
    } else if (x.is_constant() && y.is_constant()) {
      c.error(fmt::format("[op.2] sizes {} and {} do not broadcast (dim {})", x.str(), y.str(), d + skip));
    } else if (y.is_constant()) {
      out[d + skip] = y;
    }
  }
  return out;
}

BroadcastIndex::BroadcastIndex(const Shape& operand, size_t result_rank)
    : rank_(operand.size()), skip_(result_rank - operand.size()) {
  EW_CHECK(result_rank >= operand.size() && result_rank <= kMaxRank);
  for (size_t d = 0; d < rank_; ++d) one_[d] = operand[d] == Dim(1);
}

bool next_index(std::span<int64_t> at, std::span<const int64_t> sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++at[d] < sizes[d]) return true;
    at[d] = 0;
  }
  return false;
}

// ---- blocks of memory -----------------------------------------------------------------------------------------------

namespace {
template <class T>
T read(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <class T, class To>
void load_as(const std::byte* data, int64_t at, int64_t step, int64_t n, To* out) {
  const std::byte* p = data + at * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = step * static_cast<int64_t>(sizeof(T));
  if (step == 0) {
    std::fill(out, out + n, static_cast<To>(read<T>(p)));
  } else if (step == 1) {
    for (int64_t j = 0; j < n; ++j) out[j] = static_cast<To>(read<T>(p + j * static_cast<int64_t>(sizeof(T))));
  } else {
    for (int64_t j = 0; j < n; ++j, p += bytes) out[j] = static_cast<To>(read<T>(p));
  }
}
template <class T, class From>
void store_as(std::byte* data, int64_t at, int64_t n, const From* in) {
  std::byte* p = data + at * static_cast<int64_t>(sizeof(T));
  for (int64_t j = 0; j < n; ++j) {
    const T v = static_cast<T>(in[j]);
    std::memcpy(p + j * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
  }
}
}  // namespace

void load_block(DType t, const std::byte* data, int64_t at, int64_t step, int64_t n, double* out) {
  switch (t) {
    case DType::f32: return load_as<float>(data, at, step, n, out);
    case DType::f64: return load_as<double>(data, at, step, n, out);
    case DType::i64: return load_as<int64_t>(data, at, step, n, out);
    case DType::i32: return load_as<int32_t>(data, at, step, n, out);
    case DType::u8: return load_as<uint8_t>(data, at, step, n, out);
    case DType::i8: return load_as<int8_t>(data, at, step, n, out);
    default:
      for (int64_t j = 0; j < n; ++j) out[j] = ir::load_f(t, data, at + j * step);
  }
}
void load_block(DType t, const std::byte* data, int64_t at, int64_t step, int64_t n, int64_t* out) {
  switch (t) {
    case DType::i64: return load_as<int64_t>(data, at, step, n, out);
    case DType::i32: return load_as<int32_t>(data, at, step, n, out);
    case DType::u8: return load_as<uint8_t>(data, at, step, n, out);
    case DType::i8: return load_as<int8_t>(data, at, step, n, out);
    default:
      for (int64_t j = 0; j < n; ++j) out[j] = ir::load_i(t, data, at + j * step);
  }
}
void store_block(DType t, std::byte* data, int64_t at, int64_t n, const double* in) {
  if (t == DType::f32) return store_as<float>(data, at, n, in);
  if (t == DType::f64) return store_as<double>(data, at, n, in);
  for (int64_t j = 0; j < n; ++j) ir::store_f(t, data, at + j, in[j]);
}
void store_block(DType t, std::byte* data, int64_t at, int64_t n, const int64_t* in) {
  if (t == DType::i64) return store_as<int64_t>(data, at, n, in);
  for (int64_t j = 0; j < n; ++j) ir::store_i(t, data, at + j, in[j]);
}

void copy_into(const ir::Tensor& from, ir::Tensor& to) {
  EW_CHECK(from.dtype == to.dtype && from.numel() == to.numel());
  const int64_t n = from.numel();
  if (n == 0) return;
  const auto width = static_cast<int64_t>(size_of(from.dtype));
  std::byte* out = to.mutable_data();
  if (from.is_contiguous()) {
    std::memcpy(out, from.data, static_cast<size_t>(n * width));
    return;
  }
  const size_t rank = from.sizes.size();  // not 0: that is contiguous
  const int64_t inner = from.sizes[rank - 1], step = from.strides[rank - 1] * width;
  std::vector<int64_t> at(rank - 1, 0);
  const std::span<const int64_t> outer(from.sizes.data(), rank - 1);
  const auto run = [&]<class T>(T) {
    do {
      const std::byte* p = from.data + from.offset_of(at) * width;
      if (step == width) {
        std::memcpy(out, p, static_cast<size_t>(inner * width));
      } else {
        for (int64_t j = 0; j < inner; ++j) std::memcpy(out + j * width, p + j * step, sizeof(T));
      }
      out += inner * width;
    } while (next_index(at, outer));
  };
  switch (width) {
    case 1: return run(uint8_t{});
    case 2: return run(uint16_t{});
    case 4: return run(uint32_t{});
    case 8: return run(uint64_t{});
    default: return run(std::array<std::byte, 16>{});
  }
}

std::vector<double> to_doubles(const ir::Tensor& t) {
  const ir::Tensor x = t.contiguous();
  std::vector<double> out(static_cast<size_t>(x.numel()));
  load_block(x.dtype, x.data, 0, 1, x.numel(), out.data());
  return out;
}
std::vector<int64_t> to_ints(const ir::Tensor& t) {
  const ir::Tensor x = t.contiguous();
  std::vector<int64_t> out(static_cast<size_t>(x.numel()));
  load_block(x.dtype, x.data, 0, 1, x.numel(), out.data());
  return out;
}

// ---- elementwise ----------------------------------------------------------------------------------------------------

namespace {
constexpr size_t kMaxSlots = 6;
constexpr int64_t kBlock = 512;

struct Dtypes {
  DType compute = kDefaultFloat, result = kDefaultFloat;
};
Dtypes dtypes_of(const Elementwise& e, const Call& c) {
  std::vector<std::string> voters;
  for (const Slot& s : e.slots)
    if (s.role == Slot::kPromoted) voters.push_back(s.param);
  const Rule rule = e.rule_of ? e.rule_of(c) : e.rule;
  if (rule == Rule::kFirst) voters.resize(1);
  DType t = result_type(c, voters);
  if (rule == Rule::kFloat && !is_float(t)) t = kDefaultFloat;
  return {t, rule == Rule::kBool ? DType::b8 : t};
}

// A formula ready to run: its arguments resolved at one call.
struct Bound {
  struct Arg {
    int operand = -1;
    BroadcastIndex index;
    Scalar constant;          // where operand is -1
    bool needs_cast = false;  // the operand's dtype does not fit into the dtype computed in
  };
  Formula formula;
  Dtypes dtypes;
  std::vector<Arg> args;

  template <class R>
  R cast(const Arg& a, R v) const {
    if (!a.needs_cast) return v;
    if constexpr (std::is_same_v<R, int64_t>)
      return cast_i(dtypes.compute, v);
    else if constexpr (std::is_same_v<R, Bounded>)
      return {cast_f(dtypes.compute, v.v), v.e};
    else
      return cast_f(dtypes.compute, v);
  }
  template <class R, class I>
  void gather(const I& in, Index at, R* x) const {
    IndexBuffer buffer;
    for (size_t k = 0; k < args.size(); ++k) {
      const Arg& a = args[k];
      if constexpr (std::is_same_v<R, int64_t>)
        x[k] = a.operand < 0 ? a.constant.i : cast<R>(a, in.i(a.operand, a.index(at, buffer)));
      else
        x[k] = a.operand < 0 ? R(a.constant.f) : cast<R>(a, in.f(a.operand, a.index(at, buffer)));
    }
  }
};

// Keeps every value of `from` (so that no cast is needed).
bool holds(DType to, DType from) {
  if (to == from || is_bool(from)) return true;
  if (is_float(to)) {
    if (to == DType::f64) return from != DType::i64 && from != DType::u64;
    return to == DType::f32 && (from == DType::f16 || from == DType::bf16 || size_of(from) < 4);
  }
  return is_int(to) && is_int(from) && size_of(to) > size_of(from);
}

Result<Bound> bind(const Elementwise& e, const Call& c) {
  Bound b;
  b.formula = e.choose ? e.choose(c) : e.formula;
  b.dtypes = dtypes_of(e, c);
  const bool real = is_float(b.dtypes.compute);
  if (real ? !(b.dtypes.result == DType::b8 ? b.formula.test != nullptr : b.formula.f != nullptr) : !b.formula.i)
    return fail(Code::kUnsupported, "{}: [op.1] not defined on {}", c.name(), name(b.dtypes.compute));
  size_t rank = 0;
  for (size_t k = 0; k < c.num_operands(); ++k) rank = std::max(rank, c.type(static_cast<int>(k)).rank());
  for (const Slot& s : e.slots) {
    Bound::Arg a;
    a.operand = c.operand(s.param);
    if (a.operand >= 0) {
      const TensorType& t = c.type(a.operand);
      a.index = BroadcastIndex(t.shape, rank);
      a.needs_cast = s.role != Slot::kAsIs && !holds(b.dtypes.compute, t.dtype);
    } else if (!c.has(s.param) && s.if_none) {
      a.constant = *s.if_none;
    } else {
      a.constant = c.scalar(s.param);
      // PyTorch's arithmetic on half floats takes numbers in f32.
      const DType to =
          b.dtypes.compute == DType::f16 || b.dtypes.compute == DType::bf16 ? DType::f32 : b.dtypes.compute;
      if (real)
        a.constant.f = cast_f(to, a.constant.f);
      else
        a.constant.i = is_bool(to) ? int64_t{a.constant.f != 0}
                                   : cast_i(to, a.constant.is_float() ? float_to_int(a.constant.f) : a.constant.i);
    }
    b.args.push_back(std::move(a));
  }
  return b;
}

// Runs `fn` over blocks of one number system, the innermost runs merged as far as the strides allow.
template <class R, class Out>
void run_blocks(const Bound& b, std::span<const ir::Tensor> in, ir::Tensor& out,
                void (*fn)(const R* const*, Out*, int64_t)) {
  const size_t args = b.args.size();
  std::vector<int64_t> sizes;
  std::vector<std::array<int64_t, kMaxSlots>> strides;  // per dim
  for (size_t d = 0; d < out.sizes.size(); ++d) {
    std::array<int64_t, kMaxSlots> st{};
    for (size_t k = 0; k < args; ++k) {
      if (b.args[k].operand < 0) continue;
      const ir::Tensor& t = in[static_cast<size_t>(b.args[k].operand)];
      const size_t skip = out.sizes.size() - t.sizes.size();
      if (d >= skip && t.sizes[d - skip] != 1) st[k] = t.strides[d - skip];
    }
    if (out.sizes[d] == 1) continue;
    bool merges = !sizes.empty();
    for (size_t k = 0; k < args && merges; ++k) merges = strides.back()[k] == st[k] * out.sizes[d];
    if (merges) {
      sizes.back() *= out.sizes[d];
      strides.back() = st;
    } else {
      sizes.push_back(out.sizes[d]);
      strides.push_back(st);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    strides.emplace_back();
  }
  const int64_t inner = sizes.back();
  const auto step = strides.back();
  sizes.pop_back();
  strides.pop_back();

  std::vector<R> buffer(args * kBlock);
  std::array<const R*, kMaxSlots> x{};
  std::vector<Out> y(kBlock);
  for (size_t k = 0; k < args; ++k) {
    x[k] = buffer.data() + k * kBlock;
    if (b.args[k].operand >= 0) continue;
    R v;
    if constexpr (std::is_same_v<R, double>)
      v = b.args[k].constant.f;
    else
      v = b.args[k].constant.i;
    std::fill_n(buffer.data() + k * kBlock, kBlock, v);
  }
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t done = 0;
  do {
    std::array<int64_t, kMaxSlots> base{};
    for (size_t d = 0; d < at.size(); ++d)
      for (size_t k = 0; k < args; ++k) base[k] += at[d] * strides[d][k];
    for (int64_t j = 0; j < inner; j += kBlock) {
      const int64_t n = std::min(kBlock, inner - j);
      for (size_t k = 0; k < args; ++k) {
        const Bound::Arg& a = b.args[k];
        if (a.operand < 0) continue;
        const ir::Tensor& t = in[static_cast<size_t>(a.operand)];
        R* to = buffer.data() + k * kBlock;
        load_block(t.dtype, t.data, base[k] + j * step[k], step[k], n, to);
        if (a.needs_cast)
          for (int64_t q = 0; q < n; ++q) to[q] = b.cast<R>(a, to[q]);
      }
      fn(x.data(), y.data(), n);
      store_block(out.dtype, out.mutable_data(), done + j, n, y.data());
    }
    done += inner;
  } while (next_index(at, sizes));
}
}  // namespace

OpDef elementwise(Elementwise e) {
  EW_CHECK(!e.slots.empty() && e.slots.size() <= kMaxSlots);
  OpDef d;
  d.schema_text = e.schema;
  d.stock = e.stock;
  d.infer = [e](const Call& c) -> Result<Types> {
    TensorType t;
    for (size_t k = 0; k < c.num_operands(); ++k) {
      const TensorType& x = c.type(static_cast<int>(k));
      if (!is_number(x.dtype))
        return fail(Code::kUnsupported, "{}: [op.1] dtype {} is not supported", c.name(), name(x.dtype));
      t.shape = broadcast(c, t.shape, x.shape);
    }
    if (t.shape.size() > kMaxRank)
      return fail(Code::kUnsupported, "{}: [op.2] rank {} is over {}", c.name(), t.shape.size(), kMaxRank);
    const Dtypes types = dtypes_of(e, c);
    const Formula f = e.choose ? e.choose(c) : e.formula;
    if (is_float(types.compute) ? !f.f && !f.test : !f.i)
      return fail(Code::kUnsupported, "{}: [op.1] not defined on {}", c.name(), name(types.compute));
    t.dtype = types.result;
    return Types{std::move(t)};
  };
  d.eval = [e](const Call& c, size_t) -> Result<Point> {
    EW_ASSIGN(Bound bound, bind(e, c));
    const auto b = std::make_shared<const Bound>(std::move(bound));
    Point p;
    if (!is_float(b->dtypes.compute)) {
      p.i = [b](const In& in, Index at) {
        int64_t x[kMaxSlots];
        b->gather(in, at, x);
        return b->formula.i(x);
      };
    } else if (b->dtypes.result == DType::b8) {
      p.i = [b](const In& in, Index at) {
        double x[kMaxSlots];
        b->gather(in, at, x);
        return b->formula.test(x);
      };
    } else {
      p.f = [b](const In& in, Index at) {
        double x[kMaxSlots];
        b->gather(in, at, x);
        return b->formula.f(x);
      };
      p.bounded = [b](const BoundedIn& in, Index at) {
        Bounded x[kMaxSlots];
        b->gather(in, at, x);
        return b->formula.bounded(x);
      };
    }
    return p;
  };
  d.whole = [e](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    EW_ASSIGN(const Bound b, bind(e, c));
    if (c.failed()) return fail(Code::kUnsupported, "{}: {}", c.name(), *c.failed());
    if (out[0].numel() == 0) return {};
    if (!is_float(b.dtypes.compute))
      run_blocks<int64_t, int64_t>(b, in, out[0], b.formula.i_block);
    else if (b.dtypes.result == DType::b8)
      run_blocks<double, int64_t>(b, in, out[0], b.formula.test_block);
    else
      run_blocks<double, double>(b, in, out[0], b.formula.f_block);
    return {};
  };
  return d;
}

OpDef unary_float(std::string schema, Formula f, std::string stock) {
  return elementwise({.schema = std::move(schema),
                      .slots = {"self"},
                      .rule = Rule::kFloat,
                      .formula = f,
                      .choose = {},
                      .stock = std::move(stock)});
}
OpDef unary_same(std::string schema, Formula f, std::string stock) {
  return elementwise({.schema = std::move(schema),
                      .slots = {"self"},
                      .rule = Rule::kPromote,
                      .formula = f,
                      .choose = {},
                      .stock = std::move(stock)});
}
OpDef binary(std::string schema, Formula f, std::string stock) {
  return elementwise({.schema = std::move(schema),
                      .slots = {"self", "other"},
                      .rule = Rule::kPromote,
                      .formula = f,
                      .choose = {},
                      .stock = std::move(stock)});
}
OpDef comparison(std::string schema, Formula f, std::string stock) {
  return elementwise({.schema = std::move(schema),
                      .slots = {"self", "other"},
                      .rule = Rule::kBool,
                      .formula = f,
                      .choose = {},
                      .stock = std::move(stock)});
}

int64_t int_div_trunc(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap_sub(0, a) : a / b;
}
int64_t int_div_floor(int64_t a, int64_t b) {
  const int64_t q = int_div_trunc(a, b);
  return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
Formula floor_division() {
  return floats<2>([](auto a, auto b) {
           return num::other(a, b, [](double x, double y) {
             if (y == 0) return x / y;
             const double rest = std::fmod(x, y);
             double q = (x - rest) / y;
             if (rest != 0 && (y < 0) != (rest < 0)) q -= 1;
             if (q == 0) return std::copysign(0.0, x / y);
             const double down = std::floor(q);
             return q - down > 0.5 ? down + 1 : down;
           });
         })
      .ints<2>([](int64_t a, int64_t b) { return int_div_floor(a, b); });
}

OpDef filled(std::string schema, std::function<Result<Types>(const Call&)> infer,
             std::function<Scalar(const Call&)> value) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = infer;
  const auto cast_value = [infer, value](const Call& c) -> Result<Scalar> {
    EW_ASSIGN(const Types t, infer(c));
    const DType to = std::get<TensorType>(t[0]).dtype;
    Scalar v = value(c);
    if (!is_float(to)) {
      v.i = is_bool(to) ? int64_t{v.f != 0} : cast_i(to, v.is_float() ? float_to_int(v.f) : v.i);
      v.f = static_cast<double>(v.i);
      v.kind = dtype_of(ir::ScalarKind::kBool) == to ? ir::ScalarKind::kBool : ir::ScalarKind::kInt;
    }
    return v;
  };
  d.eval = [cast_value](const Call& c, size_t) -> Result<Point> {
    EW_ASSIGN(const Scalar v, cast_value(c));
    return move_point([](Index, int64_t*) { return -1; }, v);
  };
  d.whole = [cast_value](const Call& c, std::span<const ir::Tensor>, std::span<ir::Tensor> out) -> Result<void> {
    EW_ASSIGN(const Scalar v, cast_value(c));
    ir::Tensor& t = out[0];
    const int64_t n = t.numel();
    if (n == 0) return {};
    if (is_float(t.dtype))
      ir::store_f(t.dtype, t.mutable_data(), 0, v.f);
    else
      ir::store_i(t.dtype, t.mutable_data(), 0, v.i);
    const auto width = static_cast<int64_t>(size_of(t.dtype)), bytes = n * width;
    for (int64_t done = width; done < bytes; done *= 2)
      std::memcpy(t.mutable_data() + done, t.data, static_cast<size_t>(std::min(done, bytes - done)));
    return {};
  };
  return d;
}

OpDef not_on_bools(OpDef d) {
  d.infer = [rule = d.infer](const Call& c) -> Result<Types> {
    for (const char* p : {"self", "other"})
      if (result_type(c, {p}) == DType::b8) return fail(Code::kUnsupported, "{}: [op.1] '{}' is bool", c.name(), p);
    return rule(c);
  };
  return d;
}

OpDef renamed(std::string schema, std::string target) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [target](const Call& c) { return find(target)->infer(c); };
  d.decompose = [target](const ir::Node& n, Builder& b) {
    std::vector<ir::Arg> args;  // all of them: the other name may have no defaults
    for (const ir::Param& p : n.op().schema.params) args.push_back(n.arg(p.name));
    return b.done({b(target, std::move(args))});
  };
  return d;
}

// ---- folds over dims ------------------------------------------------------------------------------------------------

FoldedDims::FoldedDims(std::vector<int64_t> axes, size_t rank, bool keep)
    : in_rank(rank), folded(std::move(axes)), keepdim(keep) {
  std::sort(folded.begin(), folded.end());
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!std::binary_search(folded.begin(), folded.end(), d)) kept.push_back(d);
}
Shape FoldedDims::shape(const Shape& in) const {
  Shape out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!std::binary_search(folded.begin(), folded.end(), static_cast<int64_t>(d)))
      out.push_back(in[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

FoldedDims dims_of(const Call& c, std::string_view dim, std::string_view keepdim, std::string_view self) {
  const int64_t rank = c.rank(self);
  const auto has_param = [&](std::string_view p) { return c.op().schema.index_of(p) >= 0; };
  std::vector<int64_t> axes;
  if (has_param(dim) && c.has(dim))
    axes = c.axes(dim, rank);
  else
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  return {std::move(axes), static_cast<size_t>(rank), has_param(keepdim) && c.flag(keepdim)};
}

Result<Point> fold_point(const Call& c, const FoldedDims& dims, const Fold& fold, DType compute, DType result) {
  const TensorType& t = c.type(0);
  const bool casts = !holds(compute, t.dtype);
  Point p;
  if (!is_float(compute)) {
    if (!fold.i) return fail(Code::kUnsupported, "{}: [op.1] not defined on {}", c.name(), name(compute));
    p.i = [=, shape = t.shape](const In& in, Index at) {
      std::vector<int64_t> x;
      dims.each(shape, at, [&](Index k) { x.push_back(casts ? cast_i(compute, in.i(0, k)) : in.i(0, k)); });
      return fold.i(x);
    };
  } else if (!is_float(result)) {
    if (!fold.test) return fail(Code::kUnsupported, "{}: [op.1] not defined on {}", c.name(), name(compute));
    p.i = [=, shape = t.shape](const In& in, Index at) {
      std::vector<double> x;
      dims.each(shape, at, [&](Index k) { x.push_back(casts ? cast_f(compute, in.f(0, k)) : in.f(0, k)); });
      return fold.test(x);
    };
  } else {
    if (!fold.f) return fail(Code::kUnsupported, "{}: [op.1] not defined on {}", c.name(), name(compute));
    p.f = [=, shape = t.shape](const In& in, Index at) {
      std::vector<double> x;
      dims.each(shape, at, [&](Index k) { x.push_back(casts ? cast_f(compute, in.f(0, k)) : in.f(0, k)); });
      return fold.f(x);
    };
    p.bounded = [=, shape = t.shape](const BoundedIn& in, Index at) {
      std::vector<Bounded> x;
      dims.each(shape, at, [&](Index k) {
        Bounded v = in.f(0, k);
        if (casts) v.v = cast_f(compute, v.v);
        x.push_back(v);
      });
      return fold.bounded(x);
    };
  }
  return p;
}

void fold_whole(const FoldedDims& dims, const Fold& fold, DType compute, const ir::Tensor& in, ir::Tensor& out) {
  const bool casts = !holds(compute, in.dtype);
  // The folded dims as an outer odometer and one inner run; kept dims as another odometer.
  std::vector<int64_t> kept_sizes, kept_strides, sizes, strides;
  int64_t n = 1;
  for (int64_t d : dims.kept) {
    kept_sizes.push_back(in.sizes[static_cast<size_t>(d)]);
    kept_strides.push_back(in.strides[static_cast<size_t>(d)]);
  }
  for (int64_t d : dims.folded) {
    const int64_t size = in.sizes[static_cast<size_t>(d)], stride = in.strides[static_cast<size_t>(d)];
    n *= size;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    strides.push_back(0);
  }
  const int64_t inner = sizes.back(), step = strides.back();
  sizes.pop_back();
  strides.pop_back();
  const int64_t count = out.numel();
  if (count == 0) return;
  const auto run = [&]<class R>(std::vector<R> x, const auto& apply) {
    std::vector<int64_t> at(kept_sizes.size(), 0), j(sizes.size(), 0);
    for (int64_t o = 0; o < count; ++o, next_index(at, kept_sizes)) {
      int64_t base = 0;
      for (size_t k = 0; k < at.size(); ++k) base += at[k] * kept_strides[k];
      if (n > 0) {
        R* to = x.data();
        do {
          int64_t from = base;
          for (size_t k = 0; k < j.size(); ++k) from += j[k] * strides[k];
          load_block(in.dtype, in.data, from, step, inner, to);
          to += inner;
        } while (next_index(j, sizes));
      }
      if (casts)
        for (R& v : x) {
          if constexpr (std::is_same_v<R, double>)
            v = cast_f(compute, v);
          else
            v = cast_i(compute, v);
        }
      const auto y = apply(std::span<const R>(x));
      store_block(out.dtype, out.mutable_data(), o, 1, &y);
    }
  };
  const auto m = static_cast<size_t>(n);
  if (!is_float(compute))
    run(std::vector<int64_t>(m), fold.i);
  else if (!is_float(out.dtype))
    run(std::vector<double>(m), fold.test);
  else
    run(std::vector<double>(m), fold.f);
}

OpDef reduction(Reduction r) {
  OpDef d;
  d.schema_text = r.schema;
  d.stock = r.stock;
  d.infer = [r](const Call& c) -> Result<Types> {
    const TensorType& t = c.type(0);
    if (!is_number(t.dtype))
      return fail(Code::kUnsupported, "{}: [op.1] dtype {} is not supported", c.name(), name(t.dtype));
    return Types{TensorType{r.dtypes(c).second, dims_of(c).shape(t.shape)}};
  };
  d.eval = [r](const Call& c, size_t) -> Result<Point> {
    const auto [compute, result] = r.dtypes(c);
    return fold_point(c, dims_of(c), r.fold(c), compute, result);
  };
  d.whole = [r](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const auto [compute, result] = r.dtypes(c);
    const Fold fold = r.fold(c);
    const FoldedDims dims = dims_of(c);
    EW_TRY(fold_point(c, dims, fold, compute, result));  // the same refusals
    fold_whole(dims, fold, compute, in[0], out[0]);
    return {};
  };
  return d;
}

// ---- lowering to XNNPACK --------------------------------------------------------------------------------------------

Lower lower_unary(XnnUnary op, std::string self) {
  return [op, self = std::move(self)](const ir::Node& n, XnnEmitter& x) {
    return x.unary(op, n.arg(self).value(), n.result());
  };
}

std::optional<double> constant_number(const ir::Node& n, std::string_view param) {
  const ir::Arg a = n.arg(param);
  if (a.i()) return static_cast<double>(*a.i());
  if (a.f()) return *a.f();
  if (a.b()) return *a.b();
  const ir::Value* v = a.value();
  if (!v) return std::nullopt;
  if (const auto* s = v->scalar(); s && s->expr && s->expr->is_constant()) return static_cast<double>(s->expr->value());
  if (v->tensor() && v->is_constant() && v->data && v->data->numel() == 1 && is_number(v->data->dtype))
    return ir::load_f(v->data->dtype, v->data->data, 0);
  return std::nullopt;
}

Lower lower_binary(XnnBinary op, std::string a, std::string b) {
  return [op, a = std::move(a), b = std::move(b)](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const ir::Arg l = n.arg(a), r = n.arg(b);
    const bool left = l.value() && l.value()->tensor(), right = r.value() && r.value()->tensor();
    if (left && right) return x.binary(op, l.value(), r.value(), n.result());
    const auto number = constant_number(n, left ? b : a);
    if (!number || (!left && !right))
      return fail(Code::kKeptOnHost, "{}: an operand is a number known only at run time", n.name());
    if (left) return x.binary(op, l.value(), static_cast<float>(*number), n.result());
    return x.binary(op, static_cast<float>(*number), r.value(), n.result());
  };
}

Lower lower_scaled_sum(XnnBinary op, std::string a, std::string b) {
  return [op, a = std::move(a), b = std::move(b)](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const auto alpha = constant_number(n, "alpha");
    if (alpha == 1.0) return lower_binary(op, a, b)(n, x);
    const ir::Arg scaled = n.arg(b);
    const auto number = constant_number(n, b);
    const ir::Value *l = n.arg(a).value(), *r = scaled.value();
    if (!alpha || !l || !l->tensor() || !r || !r->tensor() || number)
      return fail(Code::kKeptOnHost, "{}: alpha with a number as operand, or known only at run time", n.name());
    const ir::Value* t = x.temporary(*r->tensor());
    EW_TRY(x.binary(XnnBinary::kMultiply, r, static_cast<float>(*alpha), t));
    return x.binary(op, l, t, n.result());
  };
}

std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> numbers_to_tensors(std::string op) {
  return [op = std::move(op)](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    std::vector<ir::Arg> args;
    for (const ir::Param& p : n.op().schema.params) {
      ir::Arg a = n.arg(p.name);
      const bool is_tensor = a.value() && a.value()->tensor();
      if (!is_tensor && !a.is_none()) {
        const auto v = constant_number(n, p.name);
        if (!v) return std::vector<ir::Value*>{};
        a = b.scalar(n.result()->tensor()->dtype, *v);
      }
      args.push_back(std::move(a));
    }
    return b.done({b(op, std::move(args))});
  };
}

Result<Types> infer_same(const Call& c) {
  const TensorType& t = c.type(0);
  if (!is_number(t.dtype))
    return fail(Code::kUnsupported, "{}: [op.1] dtype {} is not supported", c.name(), name(t.dtype));
  return Types{t};
}

}  // namespace edgewright::ops
