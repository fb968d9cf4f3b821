// The algebra of data movement against element numbers moved one by one.
#include <gtest/gtest.h>

#include <random>

#include "ops/index_map.h"

namespace edgewright::ops {
namespace {

using Step = IndexMap::Step;

// A tensor whose elements are the numbers of the source elements that they show.
struct Moved {
  std::vector<int64_t> sizes, elements;
  bool operator==(const Moved&) const = default;

  static Moved iota(std::vector<int64_t> sizes) {
    Moved m;
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    for (int64_t i = 0; i < n; ++i) m.elements.push_back(i);
    m.sizes = std::move(sizes);
    return m;
  }
  // A result of these sizes, element by element.
  template <class F>
  Moved make(std::vector<int64_t> to, F from) const {
    Moved m{std::move(to), {}};
    const auto strides = ir::contiguous_strides(sizes);
    std::vector<int64_t> at(m.sizes.size(), 0);
    int64_t n = 1;
    for (int64_t s : m.sizes) n *= s;
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<int64_t> x = from(at);
      int64_t e = 0;
      for (size_t d = 0; d < x.size(); ++d) e += x[d] * strides[d];
      m.elements.push_back(elements[static_cast<size_t>(e)]);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < m.sizes[d]) break;
        at[d] = 0;
      }
    }
    return m;
  }
  Moved apply(const Step& s) const {
    switch (s.kind) {
      case Step::kView: return {s.values, elements};
      case Step::kPermute: {
        std::vector<int64_t> to;
        for (int64_t d : s.values) to.push_back(sizes[static_cast<size_t>(d)]);
        return make(to, [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> x(at.size());
          for (size_t d = 0; d < at.size(); ++d) x[static_cast<size_t>(s.values[d])] = at[d];
          return x;
        });
      }
      case Step::kExpand: {
        const size_t fresh = s.values.size() - sizes.size();
        return make(s.values, [&](const std::vector<int64_t>& at) {
          std::vector<int64_t> x;
          for (size_t d = 0; d < sizes.size(); ++d) x.push_back(sizes[d] == 1 ? 0 : at[d + fresh]);
          return x;
        });
      }
      case Step::kSlice: {
        std::vector<int64_t> to = sizes;
        const size_t d = static_cast<size_t>(s.dim);
        to[d] = (s.end - s.start + s.step - 1) / s.step;
        return make(to, [&](std::vector<int64_t> at) {
          at[d] = s.start + at[d] * s.step;
          return at;
        });
      }
      case Step::kSelect: {
        std::vector<int64_t> to = sizes;
        to.erase(to.begin() + s.dim);
        return make(to, [&](std::vector<int64_t> at) {
          at.insert(at.begin() + s.dim, s.start);
          return at;
        });
      }
      case Step::kFlip:
        return make(sizes, [&](std::vector<int64_t> at) {
          for (int64_t d : s.values)
            at[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)] - 1 - at[static_cast<size_t>(d)];
          return at;
        });
    }
    return *this;
  }
};

Moved moved(const IndexMap& m) {
  Moved out{m.sizes(), {}};
  std::vector<int64_t> at(out.sizes.size(), 0);
  int64_t n = 1;
  for (int64_t s : out.sizes) n *= s;
  for (int64_t i = 0; i < n; ++i) {
    out.elements.push_back(m.element(at));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < out.sizes[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// The map of one step on a tensor of the given sizes, by way of the op's own node.
std::optional<IndexMap> map_of(const std::vector<int64_t>& sizes, const Step& s) {
  ir::Graph g;
  ir::Value* x = g.add_input("x", TensorType{DType::f32, Shape(sizes.begin(), sizes.end())});
  Builder b(g, nullptr);
  ir::Value* y = build(b, x, {s});
  if (!y) return std::nullopt;
  return IndexMap::of(*y->producer);
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }
  Step step(const std::vector<int64_t>& sizes) {
    const int64_t rank = static_cast<int64_t>(sizes.size());
    switch (below(6)) {
      case 0: {  // factors of the number of elements, in any order
        int64_t n = 1;
        for (int64_t s : sizes) n *= s;
        std::vector<int64_t> to;
        while (n > 1 || below(3) == 0) {
          std::vector<int64_t> divisors;
          for (int64_t d = 1; d <= n; ++d)
            if (n % d == 0) divisors.push_back(d);
          to.push_back(to.size() > 3 ? n : divisors[static_cast<size_t>(below(static_cast<int64_t>(divisors.size())))]);
          n /= to.back();
          if (to.size() > 4) break;
        }
        return {.kind = Step::kView, .values = to};
      }
      case 1: {
        std::vector<int64_t> p;
        for (int64_t d = 0; d < rank; ++d) p.insert(p.begin() + below(d + 1), d);
        return {.kind = Step::kPermute, .values = p};
      }
      case 2: {
        std::vector<int64_t> to = sizes;
        for (int64_t& s : to)
          if (s == 1) s = 1 + below(3);
        if (rank < 5 && below(2)) to.insert(to.begin(), 1 + below(3));
        return {.kind = Step::kExpand, .values = to};
      }
      case 3: {
        Step s{.kind = Step::kFlip};
        for (int64_t d = 0; d < rank; ++d)
          if (below(2)) s.values.push_back(d);
        return s;
      }
      case 4:
        if (rank > 1) {
          const int64_t d = below(rank);
          return {.kind = Step::kSelect, .dim = d, .start = below(sizes[static_cast<size_t>(d)])};
        }
        [[fallthrough]];
      default: {
        if (rank == 0) return {.kind = Step::kView, .values = {1}};
        Step s{.kind = Step::kSlice, .dim = below(rank)};
        const int64_t n = sizes[static_cast<size_t>(s.dim)];
        s.start = below(n);
        s.end = s.start + 1 + below(n - s.start);
        s.step = 1 + below(3);
        return s;
      }
    }
  }

 private:
  std::mt19937 engine_;
};

// Random chains: the composed map is the function that the steps are; its own chain is the same function and no longer.
TEST(IndexMap, composes_as_elements_move) {
  Random random(1);
  int composed = 0, refused = 0, chained = 0, unchained = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<std::vector<int64_t>> sources{{2, 3, 4}, {12}, {1, 6}, {4, 4}, {2, 2, 3, 2}, {5, 3}, {}, {7}};
    const auto source = sources[static_cast<size_t>(random.below(static_cast<int64_t>(sources.size())))];
    Moved want = Moved::iota(source);
    std::optional<IndexMap> map = IndexMap::identity(source);
    const int64_t length = 1 + random.below(5);
    for (int64_t k = 0; k < length && map; ++k) {
      const Step s = random.step(want.sizes);
      const Moved next = want.apply(s);
      if (next.elements.size() > 300) continue;
      const auto step = map_of(want.sizes, s);
      ASSERT_TRUE(step);
      want = next;
      map = map->then(*step);
      if (map) ASSERT_EQ(moved(*map), want) << "round " << round;
    }
    if (!map) {
      ++refused;
      continue;
    }
    ++composed;
    EXPECT_EQ(map->is_identity(), want == Moved::iota(source)) << "round " << round;
    EXPECT_EQ(map->is_reshape(), want.elements == Moved::iota(source).elements) << "round " << round;
    const auto chain = map->chain();
    if (!chain) {
      ++unchained;
      continue;
    }
    ++chained;
    Moved again = Moved::iota(source);
    std::optional<IndexMap> same = IndexMap::identity(source);
    for (const Step& s : *chain) {
      const auto step = map_of(again.sizes, s);
      ASSERT_TRUE(step) << "round " << round;
      again = again.apply(s);
      if (same) same = same->then(*step);
    }
    ASSERT_EQ(again, want) << "round " << round;
    ASSERT_TRUE(same) << "round " << round;
    EXPECT_TRUE(*same == *map) << "round " << round;  // one function, one form
  }
  // Most of what programs do has a form; a slice through merged dims has none.
  EXPECT_GT(composed, refused * 4);
  EXPECT_GT(chained, unchained * 9);
}

Step view(std::vector<int64_t> v) { return {.kind = Step::kView, .values = std::move(v)}; }
Step permute(std::vector<int64_t> v) { return {.kind = Step::kPermute, .values = std::move(v)}; }
Step expand(std::vector<int64_t> v) { return {.kind = Step::kExpand, .values = std::move(v)}; }
Step slice(int64_t dim, int64_t start, int64_t end, int64_t step = 1) {
  return {.kind = Step::kSlice, .dim = dim, .start = start, .end = end, .step = step};
}

IndexMap of(const std::vector<int64_t>& source, const std::vector<Step>& steps) {
  IndexMap m = IndexMap::identity(source);
  for (const Step& s : steps) {
    const auto next = map_of(m.sizes(), s);
    EXPECT_TRUE(next);
    const auto r = m.then(*next);
    EXPECT_TRUE(r);
    m = *r;
  }
  return m;
}

TEST(IndexMap, cascaded_permutes_are_one) {
  const IndexMap m = of({2, 3, 4}, {permute({1, 2, 0}), permute({1, 0, 2})});
  EXPECT_EQ(m.as_permutation(), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(m.chain(), (std::vector<Step>{permute({2, 1, 0})}));
  EXPECT_TRUE(of({2, 3, 4}, {permute({1, 2, 0}), permute({2, 0, 1})}).is_identity());
}
TEST(IndexMap, views_and_permutes_of_size_1_are_a_view) {
  EXPECT_EQ(of({2, 1, 6}, {permute({1, 0, 2}), view({3, 4})}).chain(), (std::vector<Step>{view({3, 4})}));
  EXPECT_TRUE(of({2, 6}, {view({3, 4}), view({2, 6})}).is_identity());
}
TEST(IndexMap, the_weight_of_a_decomposed_linear_is_its_permute) {
  // expand(permute(w)) viewed as a batch of matrices
  const IndexMap m = of({5, 3}, {permute({1, 0}), expand({4, 3, 5}), view({4, 3, 5})});
  EXPECT_EQ(m.repeated_dims(), (std::vector<bool>{true, false, false}));
  const auto w = m.without_repeats();
  ASSERT_TRUE(w);
  EXPECT_EQ(w->chain(), (std::vector<Step>{permute({1, 0}), view({1, 3, 5})}));
}
TEST(IndexMap, heads_of_attention_are_view_and_permute) {
  // [n, t, 3 * h * d] -> one of q, k, v as [n, h, t, d]
  const IndexMap m =
      of({2, 5, 3 * 4 * 2}, {view({2, 5, 3, 4, 2}), permute({2, 0, 3, 1, 4}), slice(0, 1, 2), view({2, 4, 5, 2})});
  EXPECT_EQ(m.chain(), (std::vector<Step>{slice(2, 8, 16), view({2, 5, 4, 2}), permute({0, 2, 1, 3})}));
}
TEST(IndexMap, equal_functions_of_different_steps_are_equal) {
  EXPECT_TRUE(of({4, 6}, {view({24}), slice(0, 6, 18)}) == of({4, 6}, {slice(0, 1, 3), view({12})}));
  EXPECT_FALSE(of({4, 4}, {permute({1, 0})}) == IndexMap::identity({4, 4}));
}
TEST(IndexMap, a_strided_slice_stays_one) {
  EXPECT_EQ(of({5, 3}, {slice(0, 0, 5, 2)}).chain(), (std::vector<Step>{slice(0, 0, 5, 2)}));
}
TEST(IndexMap, flips_cancel_and_stand_last) {
  const Step rows{.kind = Step::kFlip, .values = {0}}, columns{.kind = Step::kFlip, .values = {1}};
  EXPECT_TRUE(of({3, 4}, {rows, columns, rows, columns}).is_identity());
  EXPECT_EQ(of({3, 4}, {rows, permute({1, 0})}).chain(), (std::vector<Step>{permute({1, 0}), columns}));
  EXPECT_EQ(of({3, 4}, {rows, view({12})}).chain(), std::nullopt);  // the rows of a flat tensor
}
TEST(IndexMap, a_slice_of_one_without_its_dim_is_a_select) {
  const Step select{.kind = Step::kSelect, .dim = 0, .start = 2};
  EXPECT_EQ(of({3, 4}, {slice(0, 2, 3), view({4})}).chain(), (std::vector<Step>{select}));
  EXPECT_EQ(of({4, 3}, {permute({1, 0}), slice(0, 2, 3), view({4})}).chain(),
            (std::vector<Step>{{.kind = Step::kSelect, .dim = 1, .start = 2}}));
}
TEST(IndexMap, refuses_a_slice_through_a_digit) {
  const IndexMap m = of({3, 4}, {permute({1, 0}), view({12})});
  EXPECT_FALSE(m.then(*map_of({12}, slice(0, 1, 11))));
}
TEST(IndexMap, refuses_symbolic_sizes_and_other_ops) {
  ir::Graph g;
  ir::Value* x = g.add_input("x", TensorType{DType::f32, {Dim::symbol("s0"), 4}});
  ir::Value* y = g.add_input("y", TensorType{DType::f32, {4}});
  Builder b(g, nullptr);
  EXPECT_FALSE(IndexMap::of(*b("aten.permute", {x, ir::Arg::ints({1, 0})})->producer));
  EXPECT_FALSE(IndexMap::of(*b("aten.roll", {y, ir::Arg::ints({1}), ir::Arg::ints({0})})->producer));
}

}  // namespace
}  // namespace edgewright::ops
