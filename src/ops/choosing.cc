#include "ops/choosing.h"

#include <cmath>

#include "ops/dense.h"

namespace edgewright::ops {
namespace {

// The block's elements, numbered by row-major place among the blocks.
template <class F>
void each_in_block(const ParamBlocks& b, int64_t place, F f) {
  const size_t rank = b.sizes.size();
  IndexBuffer at{}, first{};
  std::array<int64_t, kMaxRank> j{};
  for (size_t d = rank; d-- > 0;) {
    if (b.sizes[d] == 0) return;
    const int64_t count = std::max<int64_t>(b.sizes[d] / b.block[d], 1);
    first[d] = place % count * b.block[d];
    place /= count;
  }
  do {
    for (size_t d = 0; d < rank; ++d) at[d] = first[d] + j[d];
    f(Index{at.data(), rank});
  } while (next_index({j.data(), rank}, b.block));
}
int64_t place_of(Index at, std::span<const int64_t> sizes) {
  int64_t k = 0;
  for (size_t d = 0; d < at.size(); ++d) k = k * sizes[d] + at[d];
  return k;
}
struct Extremes {
  double lo = INFINITY, hi = -INFINITY;
  void add(double x) {
    lo = num::minimum(lo, x);
    hi = num::maximum(hi, x);
  }
};

}  // namespace

OpDef choosing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                  std::function<Choosing(const Call&)> resolve, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = std::move(infer);
  d.eval = [resolve, infer = d.infer](const Call& c, size_t r) -> Result<Point> {
    EW_ASSIGN(const Types types, infer(c));
    const Choosing choosing = resolve(c);
    const auto& type = std::get<TensorType>(types[r]);
    const std::vector<int64_t> sizes = ir::static_sizes(type.shape);
    const auto chosen = [choosing, sizes](const auto& in, Index at, double* error) {
      Extremes x;
      each_in_block(choosing.blocks, place_of(at, sizes), [&](Index from) {
        const auto v = in.f(0, from);
        x.add(num::value(v));
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Bounded>) *error = std::max(*error, v.e);
      });
      return choosing.choose(x.lo, x.hi);
    };
    if (r == 0 || is_float(type.dtype))
      return float_point([chosen, r, slope = choosing.slope](const auto& in, Index at) {
        using R = typename std::decay_t<decltype(in)>::F;
        double error = 0;
        const Choosing::Chosen x = chosen(in, at, &error);
        const double v = r == 0 ? x.scale : x.zero_point;
        if constexpr (std::is_same_v<R, Bounded>)
          return r == 0 ? Bounded::rounded(v, 2 * slope * error + 3 * Bounded::u * std::fabs(v))
                        : Bounded{v, error == 0 ? 0.0 : INFINITY};
        else
          return v;
      });
    return int_point([chosen](const In& in, Index at) -> int64_t {
      double error = 0;
      return static_cast<int64_t>(chosen(in, at, &error).zero_point);
    });
  };
  d.whole = [resolve](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Choosing choosing = resolve(c);
    if (c.failed()) return {};
    const ir::Tensor x = in[0].contiguous();
    std::vector<Extremes> extremes(static_cast<size_t>(out[0].numel()));
    constexpr int64_t kBlock = 512;
    std::array<double, kBlock> block;
    choosing.blocks.runs([&](int64_t first, int64_t count, int64_t place, int64_t step) {
      for (int64_t done = 0; done < count; done += kBlock) {
        const int64_t n = std::min(kBlock, count - done);
        load_block(x.dtype, x.data, first + done, 1, n, block.data());
        if (step == 0) {
          Extremes e = extremes[static_cast<size_t>(place)];
          for (int64_t j = 0; j < n; ++j) e.add(block[static_cast<size_t>(j)]);
          extremes[static_cast<size_t>(place)] = e;
        } else {
          for (int64_t j = 0; j < n; ++j)
            extremes[static_cast<size_t>(place + (done + j) * step)].add(block[static_cast<size_t>(j)]);
        }
      }
    });
    std::vector<double> scales, zero_points;
    for (const Extremes& e : extremes) {
      const Choosing::Chosen one = choosing.choose(e.lo, e.hi);
      scales.push_back(one.scale);
      zero_points.push_back(one.zero_point);
    }
    assign(out[0], scales);
    if (is_float(out[1].dtype)) {
      assign(out[1], zero_points);
    } else {
      std::vector<int64_t> ints;
      for (double z : zero_points) ints.push_back(static_cast<int64_t>(z));
      assign(out[1], ints);
    }
    return {};
  };
  d.stock = std::move(stock);
  d.stock_limit = stock_limit_of_choosing;
  d.agreement = Agreement::kQuantized;
  return d;
}

}  // namespace edgewright::ops
