"""Writes through views: the base after a view of it was overwritten, as PyTorch leaves it.

A case holds the view's op with its arguments, `written R VALUE` (result R was overwritten with VALUE) and `base VALUE`."""

import torch
from vectors import b8, draw, f64, i32, i64, op, resolve, text


def write(v, name, base, *args, r=0, fill=None, **kwargs):
    after = base.clone()
    views = resolve(name)(after, *args, **kwargs)
    view = views[r] if isinstance(views, (list, tuple)) else views
    if fill is None:
        value = draw(*view.shape, dtype=base.dtype, seed=9) if view.dtype == base.dtype else draw(*view.shape, dtype=view.dtype, seed=9)
        view.copy_(value)
    else:
        view.fill_(fill)
        value = view.clone()
    v._head(name, (base, *args), kwargs)
    v.lines += [f"written {r} {text(value)}", f"base {text(after)}"]


@op("scatter_back")
def _(v):
    big = 2**63 - 1
    write(v, "aten.view", draw(2, 6), [3, 4])
    write(v, "aten.view", draw(2, 6), [-1])
    write(v, "aten.view", draw(), [1, 1])
    write(v, "aten.view_as", draw(2, 6), draw(4, 3))
    write(v, "aten.view.dtype", draw(2, 3), i32)
    write(v, "aten.view.dtype", draw(2, dtype=i64), f64)
    write(v, "aten.reshape", draw(2, 6), [4, -1])
    write(v, "aten.reshape_as", draw(2, 6), draw(12))
    write(v, "aten.flatten.using_ints", draw(2, 3, 4), 1, 2)
    write(v, "aten.flatten.using_ints", draw())
    write(v, "aten.ravel", draw(2, 3))
    write(v, "aten.unflatten.int", draw(2, 6), 1, [3, -1])
    write(v, "aten.permute", draw(2, 3, 4), [2, 0, 1])
    write(v, "aten.permute", draw(2, 3, 4), [-1, 1, 0])
    write(v, "aten.transpose.int", draw(2, 3, 4), 0, -1)
    write(v, "aten.swapaxes", draw(2, 3), 0, 1)
    write(v, "aten.swapdims", draw(2, 3), 0, 1)
    write(v, "aten.t", draw(2, 3))
    write(v, "aten.t", draw(3))
    write(v, "aten.numpy_T", draw(2, 3))
    write(v, "aten.mT", draw(2, 3, 4))
    write(v, "aten.movedim.int", draw(2, 3, 4), 0, 2)
    write(v, "aten.movedim.intlist", draw(2, 3, 4), [0, 1], [2, 0])
    write(v, "aten.moveaxis.int", draw(2, 3, 4), -1, 0)
    write(v, "aten.squeeze", draw(1, 2, 1, 3))
    write(v, "aten.squeeze.dim", draw(1, 2, 1), -1)
    write(v, "aten.squeeze.dim", draw(1, 2, 1), 1)
    write(v, "aten.squeeze.dims", draw(1, 2, 1), [0, 1, 2])
    write(v, "aten.unsqueeze", draw(2, 3), -2)
    write(v, "aten.unsqueeze", draw(), 0)
    write(v, "aten.expand", draw(2, 3), [2, -1])
    write(v, "aten.expand", draw(2, 3), [1, 1, 2, 3])
    write(v, "aten.expand_as", draw(2, 3), draw(2, 3))
    write(v, "aten.slice.Tensor", draw(5, 3), 0, 1, 3)
    write(v, "aten.slice.Tensor", draw(5, 3), 1, -2, big)
    write(v, "aten.slice.Tensor", draw(5, 3), 0, 0, big, 2)
    write(v, "aten.slice.Tensor", draw(5, 3), -2, 1, 5, 3)
    write(v, "aten.slice.Tensor", draw(5, 3), 0, 3, 1)
    write(v, "aten.slice.Tensor", draw(5, 3))
    write(v, "aten.slice.Tensor", draw(5, dtype=b8), 0, -3)
    write(v, "aten.narrow", draw(5, 3), 0, 1, 3)
    write(v, "aten.narrow", draw(5, 3), -1, -2, 2)
    write(v, "aten.select.int", draw(4, 3), 0, 2)
    write(v, "aten.select.int", draw(4, 3, 2), -2, -1)
    write(v, "aten.select.int", draw(3), 0, 0)
    for r in range(3):
        write(v, "aten.split.Tensor", draw(5, 2), 2, r=r)
        write(v, "aten.split_with_sizes", draw(2, 5), [2, 0, 3], 1, r=r)
        write(v, "aten.split.sizes", draw(2, 5), [1, 1, 3], -1, r=r)
        write(v, "aten.chunk", draw(5, 2), 3, r=r)
        write(v, "aten.tensor_split.sections", draw(7, 2), 3, r=r)
        write(v, "aten.tensor_split.indices", draw(7, 2), [5, 2], r=r)
        write(v, "aten.unbind.int", draw(3, 2), r=r)
        write(v, "aten.unbind.int", draw(2, 3), -1, r=r)
    write(v, "aten.diagonal", draw(3, 4))
    write(v, "aten.diagonal", draw(3, 4), 2)
    write(v, "aten.diagonal", draw(2, 3, 4), -1, 2, 0)
    write(v, "aten.unfold", draw(7), 0, 2, 3)
    write(v, "aten.unfold", draw(2, 6), 1, 2, 2)
    write(v, "aten.unfold", draw(6, 2), 0, 6, 1)
    write(v, "aten.unfold", draw(), 0, 1, 1)
    write(v, "aten.as_strided", draw(12), [2, 3], [1, 4], 2)
    write(v, "aten.as_strided", draw(3, 4), [3], [5])
    write(v, "aten.alias", draw(2, 3))
    write(v, "aten.detach", draw(2, 3))
