// Carries out the data movement that lowerings ask of XNNPACK, as XNNPACK defines it, on tensors in memory, after the checks that
// the payload's emitter makes. Other calls are refused, so that a test can tell "not emulated" from "wrong".
#pragma once

#include <map>

#include "ops/xnn_support.h"

namespace edgewright::ops {

class EmulatedXnn : public CheckingEmitter {
 public:
  using Base = CheckingEmitter;
  std::map<const ir::Value*, ir::Tensor> tensors;  // inputs go in, results come out
  bool foreign = false;                            // something that is not emulated was asked for

  V constant_f32(std::vector<float> data, std::vector<int64_t> sizes) override {
    V v = Base::constant_f32(data, sizes);
    ir::Tensor t = ir::Tensor::empty(DType::f32, sizes);
    std::copy(data.begin(), data.end(), reinterpret_cast<float*>(t.mutable_data()));
    tensors[v] = t;
    return v;
  }
  Result<void> copy(V in, V out) override {
    EW_TRY(Base::copy(in, out));
    return put(out, tensors.at(in));
  }
  Result<void> static_reshape(V in, V out, const Shape& sizes) override {
    EW_TRY(Base::static_reshape(in, out, sizes));
    ir::Tensor t = tensors.at(in).contiguous();
    EW_CHECK(numel(sizes) == Dim(t.numel()));
    t.sizes = ir::static_sizes(sizes);
    t.strides = ir::contiguous_strides(t.sizes);
    return put(out, t);
  }
  Result<void> static_transpose(V in, V out, std::vector<int64_t> perm) override {
    EW_TRY(Base::static_transpose(in, out, perm));
    const ir::Tensor& x = tensors.at(in);
    EW_CHECK(perm.size() == x.sizes.size() && perm.size() <= 6);
    ir::Tensor t = x;
    for (size_t d = 0; d < perm.size(); ++d) {
      t.sizes[d] = x.sizes[static_cast<size_t>(perm[d])];
      t.strides[d] = x.strides[static_cast<size_t>(perm[d])];
    }
    return put(out, t);
  }
  Result<void> static_slice(V in, V out, std::vector<int64_t> offsets, std::vector<int64_t> sizes) override {
    EW_TRY(Base::static_slice(in, out, offsets, sizes));
    ir::Tensor t = tensors.at(in);
    EW_CHECK(offsets.size() == t.sizes.size() && sizes.size() == t.sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) {
      EW_CHECK(offsets[d] >= 0 && sizes[d] > 0 && offsets[d] + sizes[d] <= t.sizes[d]);
      t.data += offsets[d] * t.strides[d] * static_cast<int64_t>(sizeof(float));
      t.sizes[d] = sizes[d];
    }
    return put(out, t);
  }
  Result<void> static_constant_pad(V in, V out, std::vector<int64_t> pre, std::vector<int64_t> post,
                                   float value) override {
    EW_TRY(Base::static_constant_pad(in, out, pre, post, value));
    const ir::Tensor x = tensors.at(in).contiguous();
    std::vector<int64_t> sizes = x.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      EW_CHECK(pre[d] >= 0 && post[d] >= 0);
      sizes[d] += pre[d] + post[d];
    }
    ir::Tensor t = ir::Tensor::empty(DType::f32, sizes);
    float* to = reinterpret_cast<float*>(t.mutable_data());
    std::fill(to, to + t.numel(), value);
    each(x.sizes, [&](std::vector<int64_t>& at, int64_t k) {
      int64_t o = 0;
      for (size_t d = 0; d < at.size(); ++d) o += (at[d] + pre[d]) * t.strides[d];
      to[o] = reinterpret_cast<const float*>(x.data)[k];
    });
    return put(out, t);
  }
  Result<void> concatenate(std::vector<V> in, V out, int64_t axis) override {
    EW_TRY(Base::concatenate(in, out, axis));
    EW_CHECK(in.size() >= 2 && in.size() <= 5);
    const size_t a = static_cast<size_t>(axis);
    std::vector<int64_t> sizes = tensors.at(in[0]).sizes;
    sizes[a] = 0;
    for (V v : in) sizes[a] += tensors.at(v).sizes[a];
    ir::Tensor t = ir::Tensor::empty(DType::f32, sizes);
    int64_t start = 0;
    for (V v : in) {
      const ir::Tensor x = tensors.at(v).contiguous();
      each(x.sizes, [&](std::vector<int64_t>& at, int64_t k) {
        int64_t o = start * t.strides[a];
        for (size_t d = 0; d < at.size(); ++d) o += at[d] * t.strides[d];
        reinterpret_cast<float*>(t.mutable_data())[o] = reinterpret_cast<const float*>(x.data)[k];
      });
      start += x.sizes[a];
    }
    return put(out, t);
  }
  // Only the multiplication by ones that repeats.
  Result<void> binary(XnnBinary op, V a, V b, V out, Clamp c) override {
    EW_TRY(Base::binary(op, a, b, out, c));
    if (op != XnnBinary::kMultiply || c.min != -INFINITY || c.max != INFINITY) return other();
    const ir::Tensor &x = tensors.at(a), &y = tensors.at(b);
    const size_t rank = std::max(x.sizes.size(), y.sizes.size());
    const auto size = [&](const ir::Tensor& t, size_t d) {
      return d + t.sizes.size() < rank ? 1 : t.sizes[d + t.sizes.size() - rank];
    };
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < rank; ++d) sizes.push_back(std::max(size(x, d), size(y, d)));
    ir::Tensor t = ir::Tensor::empty(DType::f32, sizes);
    each(sizes, [&](std::vector<int64_t>& at, int64_t k) {
      const auto get = [&](const ir::Tensor& s) {
        int64_t o = 0;
        for (size_t d = rank - s.sizes.size(); d < rank; ++d)
          o += size(s, d) == 1 ? 0 : at[d] * s.strides[d + s.sizes.size() - rank];
        return reinterpret_cast<const float*>(s.data)[o];
      };
      reinterpret_cast<float*>(t.mutable_data())[k] = get(x) * get(y);
    });
    return put(out, t);
  }
  Result<void> unary(XnnUnary, V, V) override { return other(); }
  Result<void> clamp(V, V, Clamp) override { return other(); }
  Result<void> leaky_relu(V, V, float) override { return other(); }
  Result<void> elu(V, V, float) override { return other(); }
  Result<void> binary(XnnBinary, V, float, V, Clamp) override { return other(); }
  Result<void> binary(XnnBinary, float, V, V, Clamp) override { return other(); }
  Result<void> fully_connected(V, V, V, V, bool, Clamp) override { return other(); }
  Result<void> batch_matmul(V, V, V) override { return other(); }
  Result<void> conv2d(V, V, V, V, const Window&, uint32_t, Clamp) override { return other(); }
  Result<void> depthwise_conv2d(V, V, V, V, const Window&, uint32_t, uint32_t, Clamp) override { return other(); }
  Result<void> deconv2d(V, V, V, V, const Window&, uint32_t, Clamp) override { return other(); }
  Result<void> max_pool2d(V, V, const Window&, Clamp) override { return other(); }
  Result<void> avg_pool2d(V, V, const Window&, Clamp) override { return other(); }
  Result<void> argmax_pool2d(V, V, V, const Window&) override { return other(); }
  Result<void> global_avg_pool2d(V, V, Clamp) override { return other(); }
  Result<void> resize_bilinear2d(V, V, int64_t, int64_t, bool, bool) override { return other(); }
  Result<void> depth_to_space(V, V, uint32_t) override { return other(); }
  Result<void> softmax(V, V) override { return other(); }
  Result<void> even_split(V, std::vector<V>, int64_t) override { return other(); }

 private:
  Result<void> other() {
    foreign = true;
    return fail(Code::kKeptOnHost, "not emulated");
  }
  // What is written has the type that the value was declared with.
  Result<void> put(V out, const ir::Tensor& t) {
    EW_CHECK(ir::static_sizes(out->tensor()->shape) == t.sizes);
    tensors[out] = t.contiguous();
    return {};
  }
  template <class F>
  static void each(const std::vector<int64_t>& sizes, F f) {
    std::vector<int64_t> at(sizes.size(), 0);
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    for (int64_t k = 0; k < n; ++k) {
      f(at, k);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < sizes[d]) break;
        at[d] = 0;
      }
    }
  }
};

}  // namespace edgewright::ops
