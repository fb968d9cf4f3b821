#!/usr/bin/env python3
"""Makes tests/stock/programs: small programs with inputs and PyTorch's eager outputs. Needs torch and safetensors.

usage: make_programs.py [NAME]...    (writes beside itself, all or those named; the torch version is stamped into programs/torch.txt)
"""
import torch
import torch.ao.quantization.fx._decomposed  # the quantize and dequantize ops

from maker import OUT, make

nn, F = torch.nn, torch.nn.functional
Q = torch.ops.quantized_decomposed


class Mobile(nn.Module):
    """Grouped, depthwise and transposed convolutions, batch norm, pools, a residual, a squeeze-and-excite branch."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.d = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.ReLU6())
        self.g = nn.Conv2d(8, 12, 1, groups=4)
        self.s = nn.Conv2d(12, 12, 1)
        self.t = nn.ConvTranspose2d(12, 6, 3, 2, 1, output_padding=1)

    def forward(self, x):
        y = self.a(x)
        y = self.g(F.max_pool2d(y + self.d(y), 3, 2, 1))
        y = y * F.hardsigmoid(self.s(F.adaptive_avg_pool2d(y, 1)))
        return self.t(y), F.avg_pool2d(y, 2, ceil_mode=True).flatten(1)


class Attention(nn.Module):
    """Embedding, layer norm, masked attention, GELU: partly outside XNNPACK."""

    def __init__(self):
        super().__init__()
        self.e, self.n, self.m = nn.Embedding(20, 16), nn.LayerNorm(16), nn.MultiheadAttention(16, 4, batch_first=True)
        self.f = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, ids, mask):
        x = self.n(self.e(ids))
        y, _ = self.m(x, x, x, key_padding_mask=mask, need_weights=False)
        return self.f(x + y)


class Counter(nn.Module):
    """A buffer that is written, with an initial value; an in-place write to a slice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.full((3,), 2.0))

    def forward(self, x):
        self.n.add_(1)
        y = x.clone()
        y[1:].mul_(self.n)
        return y


class Aliases(nn.Module):
    """Writes through what is a view for one layout and a copy for another."""

    def forward(self, x):
        y, z = x.clone(), x.clone()
        y.ravel().mul_(2), y.t().ravel().add_(1), y.t().reshape(-1).add_(1), y.t().contiguous().add_(1), y.t().flatten().add_(1)
        z.view(-1)[1:3].mul_(3), z.t().reshape_as(x).add_(5), z.reshape_as(x).sub_(1), z.t()[0].unsqueeze(0).add_(7)
        return y, z


class Linears(nn.Module):
    """A plain linear, one on a transposed input, one whose weight comes through arithmetic, addmm with alpha and beta."""

    def __init__(self):
        super().__init__()
        self.l, self.w, self.b = nn.Linear(6, 6), nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(6))

    def forward(self, x):
        return self.l(x), self.l(x.transpose(0, 1)), F.linear(x, (self.w.t() + 1).t() @ self.w.t()), torch.addmm(self.b, x, self.w @ self.w.t(), beta=0.5, alpha=2)


class Norms(nn.Module):
    """Every norm, means and variances over dims at the end, in the middle and apart, of numbers far from zero."""

    def __init__(self):
        super().__init__()
        self.g, self.i, self.l = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LayerNorm([4, 24, 12])

    def forward(self, x):
        return (self.g(x), self.i(x), self.l(x), F.layer_norm(x, (12,)), F.rms_norm(x, (12,)), x.mean((1, 2), keepdim=True), x.sum(2), x.mean((0, 2)),
                x.sum((1, 3), keepdim=True), x.mean(), x.var((1, 2)), x.std((0, 3)), *torch.var_mean(x, (2, 3), correction=0, keepdim=True), x.std(0), x.norm(dim=1))


class Forms(nn.Module):
    """What XNNPACK has no node for but can be built from its nodes: divisors of pools, strided slices, repeats, three dims."""

    def __init__(self):
        super().__init__()
        self.c, self.i = nn.Conv3d(4, 6, 3, (2, 1, 1), (1, 0, 1), (1, 2, 1), groups=2), nn.InstanceNorm2d(4)

    def forward(self, x, v):
        x, v = x * 2, v * 2
        pools = (F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                 F.avg_pool2d(x, (2, 3), divisor_override=5), F.avg_pool2d(x, 3, 2, 1))
        return (*pools, x[:, 1::2], x[..., 2::3] + 1, x[:, :, ::4], F.interpolate(x, scale_factor=(2, 3)), F.glu(x, 1), self.c(v), self.i(x))


class Clamps(nn.Module):
    """Bounds one after the other that meet in a range, in a point, and not at all; fractional bounds of ints."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, i):
        return (x.clamp(max=1).clamp(min=2.75), F.relu(x).clamp(-2, -1), F.relu6(self.l(x)).clamp(min=7), F.relu(self.l(x)).clamp(max=0), x.clamp(-1, 1).clamp(0, 2),
                F.hardtanh(x + 1, -1, 0.5).clamp(0.5, 3), F.hardtanh(i, -1, 1.5))


class Masked(nn.Module):
    """Attention whose masks close whole rows: by -inf, and by False; their outputs are zeros."""

    def forward(self, q, k, v, added, kept):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=added), F.scaled_dot_product_attention(q, k, v, attn_mask=kept)


class Branches(nn.Module):
    """cond with weights in its branches, one that gives an operand back, one nested, one of other sizes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, p, x):
        inner = lambda v: torch.cond(v.sum() > 0, lambda u: self.a(u).relu(), lambda u: self.b(u) - 1, (v,))
        y, z = torch.cond(p, lambda v: (inner(v), v.clone()), lambda v: (v * 3, v * 3), (x,))
        return y, z + 1, torch.cond(p, lambda v: v[:2] * 2, lambda v: v + 1, (x,))


class Loop(nn.Module):
    """while_loop that swaps two values and computes on one; a cond inside."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, n, x, y):
        def body(i, a, b):
            return i + 1, torch.cond(i % 2 == 0, lambda v: self.l(v), lambda v: v * 2, (b,)), a.clone()

        return torch.while_loop(lambda i, a, b: i < n, body, (torch.zeros((), dtype=torch.int64), x, y))


class Rounds(nn.Module):
    """map, scan from the end, associative_scan."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3)

    def forward(self, x):
        from torch._higher_order_ops import associative_scan, map, scan

        m = map(lambda r: self.l(r) + 1, x)
        last, all = scan(lambda c, r: (c * 0.5 + r, (c - r).relu()), torch.zeros(4), x, dim=0, reverse=True)
        return m, last, all, associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")


class Wrapped(nn.Module):
    """A region without gradients that writes in place to what it is given, an input too."""

    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            z = y + 1
            z.add_(1), y.mul_(2), x.add_(1)
        return y + z, x


class Choose(nn.Module):
    """map over rows whose number changes."""

    def forward(self, x):
        from torch._higher_order_ops import map

        return map(lambda r: r.exp() - r.sum(), x)


class Static(nn.Module):
    """Static int8: convolutions (depthwise, transposed, per channel and per tensor), a residual, pools, pads, cat, a linear."""

    def __init__(self):
        super().__init__()
        weight = lambda name, *sizes: self.register_buffer(name, torch.randint(-127, 128, sizes, dtype=torch.int8))
        weight("a", 8, 3, 3, 3), weight("d", 8, 1, 3, 3), weight("t", 8, 4, 2, 2), weight("l", 5, 12)
        for name, n in (("a", 8), ("t", 4), ("l", 5)):
            self.register_buffer("s" + name, torch.rand(n) * 0.01 + 0.002)
            self.register_buffer("z" + name, torch.zeros(n, dtype=torch.int64))
        self.ba, self.bl = nn.Parameter(torch.randn(8)), nn.Parameter(torch.randn(5))

    def forward(self, x):
        q = lambda v, s, z: Q.quantize_per_tensor(v, s, z, -128, 127, torch.int8)
        d = lambda v, s, z: Q.dequantize_per_tensor(v, s, z, -128, 127, torch.int8)
        c = lambda name, axis: Q.dequantize_per_channel(getattr(self, name), getattr(self, "s" + name), getattr(self, "z" + name), axis, -127, 127, torch.int8)
        u = lambda v, s, z: d(q(v, s, z), s, z)
        y = u(F.relu(F.conv2d(u(x, 0.03, 4), c("a", 0), self.ba, 2, 1)), 0.05, -128)
        e = u(F.conv2d(y, d(self.d, 0.007, 0), None, 1, 1, groups=8), 0.09, 3)
        y = u(y + e, 0.1, -5)
        y = u(F.max_pool2d(y, 2), 0.1, -5)
        t = u(F.conv_transpose2d(y, c("t", 1), None, 2), 0.12, 0)
        t = u(F.pad(torch.cat([t, t], 1), (1, 0, 0, 1)), 0.12, 0)
        m = u(torch.cat([y.mean((2, 3)), t.mean((2, 3))[:, :4]], 1), 0.05, 0)
        return u(F.hardtanh(F.linear(m, c("l", 0), self.bl), -1, 4), 0.04, 1), t, u(F.relu(e.mean((2, 3))), 0.05, 0), F.relu(x.mean((2, 3)))


class Dynamic(nn.Module):
    """Products whose activations are quantized on the way, with 8-bit and 4-bit weights, one of them with blocks; weights alone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 128, (24, 64), dtype=torch.int8))
        self.register_buffer("w4", torch.randint(-8, 8, (24, 64), dtype=torch.int8))
        self.register_buffer("s", torch.rand(24) * 0.01 + 0.002)
        self.register_buffer("g", (torch.rand(24, 2) * 0.1 + 0.02).bfloat16().float())
        self.register_buffer("k", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("z", torch.zeros(24, dtype=torch.int64))
        self.b = nn.Parameter(torch.randn(24))

    def forward(self, x, image):
        def token(v):
            s, z = Q.choose_qparams_per_token_asymmetric(v, torch.int8)
            return Q.dequantize_per_token(Q.quantize_per_token(v, s, z, -128, 127, torch.int8), s, z, -128, 127, torch.int8, torch.float32)

        def whole(v):
            s, z = Q.choose_qparams.tensor(v, -128, 127, 1e-5, torch.int8)
            return Q.dequantize_per_tensor.tensor(Q.quantize_per_tensor.tensor(v, s, z, -128, 127, torch.int8), s, z, -128, 127, torch.int8)

        w = Q.dequantize_per_channel(self.w, self.s, self.z, 0, -127, 127, torch.int8)
        four = Q.dequantize_per_channel(self.w4, self.s * 10, self.z, 0, -8, 7, torch.int8)
        blocks = Q.dequantize_per_channel_group(self.w4, self.g, None, -8, 7, torch.int8, 32, torch.float32)
        k = Q.dequantize_per_channel(self.k, self.s[:4], self.z[:4], 0, -127, 127, torch.int8)
        y = F.relu(F.linear(token(x), w, self.b)), F.linear(token(x), four), F.linear(token(x), blocks, self.b)
        return *y, F.linear(x * 0.5, w, self.b), F.conv2d(whole(image), k, None, 1, 1)


torch.manual_seed(0)
mobile = Mobile()
for m in mobile.modules():
    if isinstance(m, nn.BatchNorm2d):
        m.running_mean.normal_(), m.running_var.uniform_(0.5, 2), m.weight.data.normal_(), m.bias.data.normal_()
make("mobile", mobile, torch.randn(1, 3, 21, 18))
mask = torch.zeros(2, 7, dtype=torch.bool)
mask[1, 4:] = True
make("attention", Attention(), torch.randint(0, 20, (2, 7)), mask)
make("counter", Counter(), torch.randn(4, 3))
make("aliases", Aliases(), torch.randn(4, 4))
make("linears", Linears(), torch.randn(6, 6))
make("dynamic", nn.Sequential(nn.Linear(5, 4), nn.Softplus()), torch.randn(3, 5), dynamic=({0: torch.export.Dim("n", min=2, max=9)},))
make("norms", Norms(), torch.randn(1, 4, 24, 12) + 500, exact=True)
make("forms", Forms(), torch.randn(1, 4, 10, 7), torch.randn(2, 4, 4, 5, 6))
added = torch.zeros(1, 1, 5, 7)
added[..., 2, :] = added[..., 3, 4:] = float("-inf")
for name, core in (("masked", False), ("masked_core", True)):
    make(name, Masked(), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 7, 4), torch.randn(1, 2, 7, 4), added, added == 0, core=core)
yes, no, t = torch.tensor(True), torch.tensor(False), torch.randn(3, 4)
make("branches", Branches(), yes, t.abs(), more=[(yes, -t.abs()), (no, t), (yes, t.abs())])
make("loop", Loop(), torch.tensor(3), torch.randn(2, 3), torch.randn(2, 3), more=[(torch.tensor(n), torch.randn(2, 3), torch.randn(2, 3)) for n in (0, 1, 6)])
make("rounds", Rounds(), torch.randn(5, 4), core=True, more=[(torch.randn(5, 4),)])
make("wrapped", Wrapped(), torch.randn(2, 3), more=[(torch.randn(2, 3),)])
rows = lambda *ns: [(torch.randn(n, 3),) for n in ns]
make("choose", Choose(), *rows(4)[0], dynamic=({0: torch.export.Dim("n", min=1, max=7)},), more=rows(7, 2, 5))
make("static_int8", Static(), torch.randn(1, 3, 12, 10))
make("dynamic_int8", Dynamic(), torch.randn(3, 64), torch.randn(1, 3, 6, 5))
for name, step in (("static_int8", 0.12), ("dynamic_int8", 0.05)):  # a step of what is returned; of what is multiplied, by weights of a row
    (OUT / name / "atol.txt").write_text(f"{step}\n")
make("clamps", Clamps(), torch.randn(3, 4) * 3, torch.tensor([-4, 0, 2, 8, 1], dtype=torch.int8))
(OUT / "torch.txt").write_text(torch.__version__ + "\n")
