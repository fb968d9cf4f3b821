// src/ops/pad.cc - borders: constant, reflected, replicated, circular; negative pads cut away. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

enum class Mode : uint8_t { kConstant, kReflect, kReplicate, kCircular };

// Pads come in pairs from the last dim backwards: (left, right) of the last dim, then of the one before, ...
struct Side {
  Dim before, after;
};
std::vector<Side> sides(const Call& c, std::string_view param, size_t rank) {
  std::vector<Side> out(rank, Side{0, 0});
  const Shape pad = c.dims(param);
  if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
    c.error(fmt::format("[pad.1] {} pads for {} dims", pad.size(), rank));
    return out;
  }
  for (size_t i = 0; i < pad.size() / 2; ++i) out[rank - 1 - i] = {pad[2 * i], pad[2 * i + 1]};
  return out;
}
// [pad.2] No size becomes negative. [pad.3] A reflection is shorter than the dim, a circular pad no longer than it. Modes other
// than constant need at least one element to take from.
Result<Types> padded(const Call& c, std::string_view param, Mode mode) {
  TensorType t = c.tensor("self");
  const auto pads = sides(c, param, t.rank());
  for (size_t d = 0; d < t.rank() && !c.failed(); ++d) {
    const Dim n = t.shape[d];
    const auto& [before, after] = pads[d];
    t.shape[d] = n + before + after;
    if (!n.is_constant() || !before.is_constant() || !after.is_constant()) continue;
    const __int128 size = static_cast<__int128>(n.value()) + before.value() + after.value();
    const int64_t most = std::max(before.value(), after.value());
    if (size < 0 || size > INT64_MAX)
      c.error(
          fmt::format("[pad.2] dim {} of size {} with pads {} and {}", d, n.value(), before.value(), after.value()));
    if (before == Dim(0) && after == Dim(0)) continue;
    if (mode == Mode::kReflect && most >= n.value())
      c.error(fmt::format("[pad.3] a reflection of {} in a dim of size {}", most, n.value()));
    if (mode == Mode::kCircular && most > n.value())
      c.error(fmt::format("[pad.3] a circular pad of {} in a dim of size {}", most, n.value()));
    if (mode == Mode::kCircular &&
        n.value() + std::min<int64_t>(before.value(), 0) + std::min<int64_t>(after.value(), 0) < 1)
      c.error("[pad.3] nothing to go round");
    if (mode != Mode::kConstant && n.value() == 0) c.error("[pad.3] nothing to take a border from");
    if (mode != Mode::kConstant && size < 1)
      c.error(fmt::format("[pad.2] dim {} would be left with {} elements", d, static_cast<int64_t>(size)));
  }
  return Types{t};
}
// The coordinate of a dim of size n that coordinate `o` of the padded dim shows; -1 for the constant.
int64_t source(Mode mode, int64_t o, int64_t before, int64_t after, int64_t n) {
  const int64_t i = o - before;
  switch (mode) {
    case Mode::kConstant: return i < 0 || i >= n ? -1 : i;
    case Mode::kReflect: return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    case Mode::kReplicate: return std::clamp<int64_t>(i, 0, n - 1);
    case Mode::kCircular: {  // goes round what negative pads leave
      const int64_t first = std::max<int64_t>(-before, 0), left = n - first - std::max<int64_t>(-after, 0);
      return first + ((i - first) % left + left) % left;
    }
  }
  return -1;
}
Result<Point> padded_point(const Call& c, std::string_view param, Mode mode, Scalar fill = {}) {
  const TensorType& t = c.tensor("self");
  std::vector<std::pair<int64_t, int64_t>> pads;
  for (const Side& s : sides(c, param, t.rank()))
    pads.emplace_back(s.before.maybe().value_or(0), s.after.maybe().value_or(0));
  return move_point(
      [mode, pads, sizes = ir::static_sizes(t.shape)](Index at, int64_t* in) {
        for (size_t d = 0; d < sizes.size(); ++d)
          if ((in[d] = source(mode, at[d], pads[d].first, pads[d].second, sizes[d])) < 0) return kFill;
        return 0;
      },
      as_element(t.dtype, fill));
}

// Negative pads are slices first; XNNPACK then pads with the constant.
Result<void> lower_constant(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const ir::Value* v = self_of(n);
  const auto pads = sides(c, "pad", shape_of(v).size());
  Scalar fill = c.scalar("value");
  if (!is_float(v->tensor()->dtype)) fill.f = std::trunc(fill.f);  // an element of ints is an int
  if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
  std::vector<int64_t> offset, kept, pre, post;
  bool cut = false, grown = false;
  TensorType t = *v->tensor();
  for (size_t d = 0; d < pads.size(); ++d) {
    if (!pads[d].before.is_constant() || !pads[d].after.is_constant())
      return fail(Code::kKeptOnHost, "pads known only at run time");
    const int64_t b = pads[d].before.value(), a = pads[d].after.value();
    offset.push_back(std::max<int64_t>(-b, 0));
    if (t.shape[d].is_constant()) {
      kept.push_back(t.shape[d].value() + std::min<int64_t>(b, 0) + std::min<int64_t>(a, 0));
      if (kept.back() <= 0) return fail(Code::kKeptOnHost, "nothing of the tensor is left");
    } else {
      if (b < 0 || a < 0) return fail(Code::kKeptOnHost, "a size known only at run time is cut");
      kept.push_back(0);
    }
    cut |= b < 0 || a < 0;
    pre.push_back(std::max<int64_t>(b, 0));
    post.push_back(std::max<int64_t>(a, 0));
    grown |= b > 0 || a > 0;
    if (kept.back() > 0) t.shape[d] = kept.back();
  }
  if (!cut && !grown) return out.copy(v, n.result());
  if (cut) {
    const ir::Value* to = grown ? out.temporary(t) : n.result();
    EW_TRY(out.static_slice(v, to, offset, kept));
    v = to;
  }
  return grown ? out.static_constant_pad(v, n.result(), pre, post, static_cast<float>(fill.f)) : Result<void>{};
}
// Slices side by side, one dim after the other.
std::function<Result<void>(const ir::Node&, XnnEmitter&)> lower_border(const char* param, Mode mode) {
  return [param, mode](const ir::Node& n, XnnEmitter& out) -> Result<void> {
    const ir::Value* v = self_of(n);
    const auto pads = sides(Call::of(n), param, shape_of(v).size());
    if (!is_static(shape_of(v)) || !is_static(shape_of(n.result())))
      return fail(Code::kKeptOnHost, "XNNPACK's slice needs static sizes");
    std::vector<size_t> dims;
    for (size_t d = 0; d < pads.size(); ++d)
      if (!(pads[d].before == Dim(0) && pads[d].after == Dim(0))) dims.push_back(d);
    if (dims.empty()) return out.copy(v, n.result());
    TensorType t = *v->tensor();
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t d = dims[i];
      const int64_t size = t.shape[d].value(), before = pads[d].before.maybe().value_or(0),
                    after = pads[d].after.maybe().value_or(0), grown = shape_of(n.result())[d].value();
      std::vector<Cut> cuts;  // runs of consecutive sources
      for (int64_t o = 0; o < grown; ++o) {
        const int64_t from = source(mode, o, before, after, size);
        if (!cuts.empty() && from == cuts.back().start + cuts.back().length)
          ++cuts.back().length;
        else
          cuts.push_back({from, 1});
        if (cuts.size() > kMaxSlices)
          return fail(Code::kKeptOnHost, "the border would take more than {} slices", kMaxSlices);
      }
      t.shape[d] = grown;
      const ir::Value* to = i + 1 == dims.size() ? n.result() : out.temporary(t);
      EW_TRY(emit_slices(out, v, to, static_cast<int64_t>(d), cuts));
      v = to;
    }
    return {};
  };
}

// [pad.4] reflection_pad<n>d and replication_pad<n>d take n + 1 dims, or n + 2 with a batch.
OpDef border(const char* schema, Mode mode, size_t n, const char* stock) {
  OpDef d;
  d.schema_text = schema;
  d.infer = [mode, n](const Call& c) -> Result<Types> {
    const size_t rank = c.tensor("self").rank();
    if (rank != n + 1 && rank != n + 2)
      c.error(fmt::format("[pad.4] self has {} dims, not {} or {}", rank, n + 1, n + 2));
    if (c.dims("padding").size() != 2 * n)
      c.error(fmt::format("[pad.1] {} pads where {} are needed", c.dims("padding").size(), 2 * n));
    const Shape& s = c.tensor("self").shape;
    for (size_t d = rank == n + 2 ? 1 : 0; d < rank; ++d)
      if (s[d] == Dim(0)) c.error("[pad.7] a dim is empty");
    return padded(c, "padding", mode);
  };
  d.eval = [mode](const Call& c, size_t) { return padded_point(c, "padding", mode); };
  d.lower = lower_border("padding", mode);
  d.stock = stock;
  return d;
}

// --- aten.pad: the mode by name ---
std::optional<Mode> mode_of(const Call& c) {
  const std::string m = c.str("mode");
  if (m == "constant") return Mode::kConstant;
  if (m == "reflect") return Mode::kReflect;
  if (m == "replicate") return Mode::kReplicate;
  if (m == "circular") return Mode::kCircular;
  c.error(fmt::format("[pad.5] mode '{}'", m));
  return std::nullopt;
}
Scalar fill_of(const Call& c) { return c.has("value") ? c.scalar("value") : Scalar{}; }
// [pad.6] Modes other than constant pad the last 1, 2 or 3 dims of 2 to 5, all but the first one or two.
Result<Types> infer_pad(const Call& c) {
  const auto mode = mode_of(c);
  const size_t rank = c.tensor("self").rank(), n = c.dims("pad").size() / 2;
  if (mode && *mode != Mode::kConstant) {
    if (n < 1 || n > 3 || (rank != n + 1 && rank != n + 2))
      c.error(fmt::format("[pad.6] mode '{}' with {} pads for {} dims", c.str("mode"), 2 * n, rank));
    if (c.has("value") && c.f("value") != 0) c.error(fmt::format("[pad.6] mode '{}' takes no value", c.str("mode")));
  }
  return padded(c, "pad", mode.value_or(Mode::kConstant));
}
Result<Point> eval_pad(const Call& c, size_t) {
  return padded_point(c, "pad", mode_of(c).value_or(Mode::kConstant), fill_of(c));
}
Result<std::vector<ir::Value*>> by_mode(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const auto mode = mode_of(c);
  const size_t dims = c.dims("pad").size() / 2;
  const ir::Arg x = n.args()[0], pad = n.arg("pad");
  if (mode == Mode::kConstant)
    return all(b, {b("aten.constant_pad_nd", {x, pad, n.arg("value").is_none() ? ir::Arg(0) : n.arg("value")})});
  if (mode == Mode::kCircular) return all(b, {b("aten._pad_circular", {x, pad})});
  return all(b,
             {b(fmt::format("aten.{}_pad{}d", mode == Mode::kReflect ? "reflection" : "replication", dims), {x, pad})});
}

// A circular pad where XNNPACK does not take it: slices and cat.
Result<std::vector<ir::Value*>> circular_as_cat(const ir::Node& n, Builder& b) {
  ir::Value* v = self_of(n);
  const auto pads = sides(Call::of(n), "pad", shape_of(v).size());
  for (size_t d = 0; d < pads.size(); ++d) {
    const Dim size = shape_of(v)[d];
    if (!size.is_constant() || !pads[d].before.is_constant() || !pads[d].after.is_constant())
      return std::vector<ir::Value*>{};
    const int64_t k = size.value(), before = pads[d].before.value(), after = pads[d].after.value(),
                  dim = static_cast<int64_t>(d);
    if (before < 0 || after < 0)
      v = b("aten.slice.Tensor", {v, dim, std::max<int64_t>(-before, 0), k + std::min<int64_t>(after, 0)});
    const int64_t left = k + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (before > left || after > left) return std::vector<ir::Value*>{};  // more than once around
    std::vector<ir::Value*> parts;
    if (before > 0) parts.push_back(b("aten.slice.Tensor", {v, dim, left - before, left}));
    parts.push_back(v);
    if (after > 0) parts.push_back(b("aten.slice.Tensor", {v, dim, 0, after}));
    v = parts.size() == 1 ? parts[0] : b("aten.cat", {ir::Arg::values(parts), dim});
    if (b.failed()) break;
  }
  return all(b, {v});
}

bool is_negative(const Dim& d) { return d.is_constant() && d.value() < 0; }

// Negative pads as slices, then the others.
Result<std::vector<ir::Value*>> cropped_first(const ir::Node& n, Builder& b) {
  ir::Value* v = self_of(n);
  const auto pads = sides(Call::of(n), "pad", shape_of(v).size());
  ir::ArgList rest(2 * pads.size(), ir::Arg(0));
  bool cut = false;
  for (size_t d = 0; d < pads.size(); ++d) {
    const Dim size = shape_of(v)[d];
    if (!size.is_constant() || !pads[d].before.is_constant() || !pads[d].after.is_constant())
      return std::vector<ir::Value*>{};
    const int64_t before = pads[d].before.value(), after = pads[d].after.value();
    // A pad may take away more than there is and give it back on the other side.
    const int64_t start = std::clamp<int64_t>(-before, 0, size.value());
    const int64_t end = std::clamp<int64_t>(size.value() + after, start, size.value());
    if (end - start != size.value() + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0))
      return std::vector<ir::Value*>{};
    if (before < 0 || after < 0) v = b("aten.slice.Tensor", {v, static_cast<int64_t>(d), start, end});
    cut |= before < 0 || after < 0;
    rest[2 * (pads.size() - 1 - d)] = std::max<int64_t>(before, 0);
    rest[2 * (pads.size() - 1 - d) + 1] = std::max<int64_t>(after, 0);
  }
  if (!cut) return std::vector<ir::Value*>{};
  const bool grows = std::any_of(rest.begin(), rest.end(), [](const ir::Arg& a) { return *a.i() > 0; });
  return all(b, {grows ? b("aten.constant_pad_nd", {v, std::move(rest), n.arg("value")}) : v});
}

}  // namespace

std::vector<OpDef> define_pad() {
  OpDef pad;
  pad.schema_text = "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor";
  pad.infer = infer_pad;
  pad.eval = eval_pad;
  pad.decompose = by_mode;
  OpDef constant;
  constant.schema_text = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor";
  constant.infer = [](const Call& c) { return padded(c, "pad", Mode::kConstant); };
  constant.eval = [](const Call& c, size_t) { return padded_point(c, "pad", Mode::kConstant, c.scalar("value")); };
  constant.lower = lower_constant;
  constant.stock = "aten::constant_pad_nd.out";
  constant.stock_limit = [](const ir::Node& n) {
    for (const Side& s : sides(Call::of(n), "pad", shape_of(self_of(n)).size()))
      if (is_negative(s.before) || is_negative(s.after)) return std::string("the stock kernel takes no negative pads");
    return std::string();
  };
  constant.decompose = cropped_first;
  OpDef circular;
  circular.schema_text = "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor";
  circular.infer = [](const Call& c) { return padded(c, "pad", Mode::kCircular); };
  circular.eval = [](const Call& c, size_t) { return padded_point(c, "pad", Mode::kCircular); };
  circular.decompose = circular_as_cat;
  return {pad,
          constant,
          circular,
          border("aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", Mode::kReflect, 1,
                 "aten::reflection_pad1d.out"),
          border("aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", Mode::kReflect, 2,
                 "aten::reflection_pad2d.out"),
          border("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", Mode::kReflect, 3,
                 "aten::reflection_pad3d.out"),
          border("aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", Mode::kReplicate, 1,
                 "aten::replication_pad1d.out"),
          border("aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", Mode::kReplicate, 2,
                 "aten::replication_pad2d.out"),
          border("aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", Mode::kReplicate, 3,
                 "aten::replication_pad3d.out")};
}

}  // namespace edgewright::ops
