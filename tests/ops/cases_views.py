"""Views and their functional twins."""

import torch
from vectors import b8, bf16, draw, f16, f32, f64, i8, i16, i32, i64, op, special, u8  # noqa: F401


def twin(v, name, *args, copy=None, **kwargs):
    """The view, and its twin under `copy`."""
    v.case(name, *args, **kwargs)
    if copy:
        v.case(copy, *args, **kwargs)


@op("view")
def _(v):
    for name in ("aten.view", "aten.view_copy", "aten._unsafe_view"):
        v.case(name, draw(2, 6), [3, 4])
        v.case(name, draw(2, 6), [-1])
        v.rejects(name, draw(3), [3, 0])  # no elements for three
        v.case(name, draw(2, 6), [2, -1, 3])
        v.case(name, draw(1), [])
        v.case(name, draw(), [1, 1])
        v.case(name, draw(0, 3), [3, 0])
        v.case(name, draw(0, 3), [-1, 3])
        v.case(name, draw(4, dtype=i64), [2, 2])
        v.case(name, special(f32), [3, 6])
        v.rejects(name, draw(2, 6), [5, -1])
        v.rejects(name, draw(2, 6), [-1, -1])
        v.rejects(name, draw(2, 6), [7])
        v.rejects(name, draw(2, 6), [-2, 6])
        v.rejects(name, draw(0, 3), [0, -1])
    v.case("aten.view_as", draw(2, 6), draw(3, 4))
    v.case("aten.view.dtype", draw(3, 2), i32)
    v.case("aten.view.dtype", draw(3, 2, dtype=i16), f16)
    v.case("aten.view_copy.dtype", draw(4, dtype=f64), i64)


@op("reshape")
def _(v):
    v.case("aten.reshape", draw(2, 6), [3, -1])
    v.case("aten.reshape", draw(2, 3, 4), [4, 3, 2])
    v.case("aten.reshape", draw(3, dtype=b8), [3, 1])
    v.case("aten._reshape_copy", draw(2, 6), [12])
    v.case("aten.reshape_as", draw(2, 6), draw(4, 3))
    v.case("aten._reshape_alias", draw(2, 6), [3, 4], [4, 1])
    v.rejects("aten.reshape", draw(2, 6), [5, 2])


@op("flatten")
def _(v):
    v.case("aten.flatten.using_ints", draw(2, 3, 4))
    v.case("aten.flatten.using_ints", draw(2, 3, 4), 1)
    v.case("aten.flatten.using_ints", draw(2, 3, 4), 0, 1)
    v.case("aten.flatten.using_ints", draw(2, 3, 4, 1), -3, -2)
    v.case("aten.flatten.using_ints", draw(2, 3), 1, 1)
    v.case("aten.flatten.using_ints", draw())
    v.case("aten.flatten.using_ints", draw(0, 3), 0)
    v.rejects("aten.flatten.using_ints", draw(2, 3), 1, 0)
    v.rejects("aten.flatten.using_ints", draw(2, 3), 2)
    v.case("aten.ravel", draw(2, 3))
    v.case("aten.ravel", draw())
    v.case("aten.unflatten.int", draw(2, 6, 2), 1, [2, 3])
    v.case("aten.unflatten.int", draw(2, 6, 2), -2, [-1, 3])
    v.case("aten.unflatten.int", draw(6), 0, [3, 1, -1])
    v.rejects("aten.unflatten.int", draw(2, 6), 1, [4, 2])


@op("permute")
def _(v):
    for name in ("aten.permute", "aten.permute_copy"):
        v.case(name, draw(2, 3, 4), [2, 0, 1])
        v.case(name, draw(2, 3, 4), [-1, 1, 0])
        v.case(name, draw(2, 3, 1, 2), [0, 2, 3, 1])
        v.case(name, draw(0, 3), [1, 0])
        v.case(name, draw(), [])
        v.case(name, draw(2, 3, dtype=b8), [1, 0])
        v.rejects(name, draw(2, 3), [0])
        v.rejects(name, draw(2, 3), [0, 0])
        v.rejects(name, draw(2, 3), [0, 2])


@op("transpose")
def _(v):
    for name in ("aten.transpose.int", "aten.transpose_copy.int", "aten.swapaxes", "aten.swapdims"):
        v.case(name, draw(2, 3, 4), 0, 2)
        v.case(name, draw(2, 3, 4), -1, 1)
        v.case(name, draw(3), 0, 0)
        v.case(name, draw(), 0, -1)
        v.rejects(name, draw(2, 3), 0, 2)
    for name in ("aten.t", "aten.t_copy"):
        v.case(name, draw(2, 3))
        v.case(name, draw(3))
        v.case(name, draw())
        v.rejects(name, draw(2, 3, 4))
    v.case("aten.numpy_T", draw(2, 3, 4))
    v.case("aten.mT", draw(2, 3, 4))
    v.rejects("aten.mT", draw(3))


@op("movedim")
def _(v):
    v.case("aten.movedim.int", draw(2, 3, 4), 0, 2)
    v.case("aten.movedim.int", draw(2, 3, 4), -1, 0)
    v.case("aten.moveaxis.int", draw(2, 3, 4), 1, -1)
    v.case("aten.movedim.intlist", draw(2, 3, 4, 1), [0, 1], [-1, 0])
    v.case("aten.moveaxis.intlist", draw(2, 3, 4, 1), [3, 0, 2], [0, 1, 2])
    v.case("aten.movedim.intlist", draw(2, 3), [], [])
    v.case("aten.movedim.int", draw(), 0, -1)
    v.rejects("aten.movedim.intlist", draw(2, 3), [0], [0, 1])
    v.rejects("aten.movedim.intlist", draw(2, 3), [0, 0], [0, 1])


@op("squeeze")
def _(v):
    for copy in ("", "_copy"):
        v.case(f"aten.squeeze{copy}", draw(1, 2, 1, 3))
        v.case(f"aten.squeeze{copy}", draw(1, 1))
        v.case(f"aten.squeeze{copy}", draw())
        v.case(f"aten.squeeze{copy}.dim", draw(1, 2, 1), 0)
        v.case(f"aten.squeeze{copy}.dim", draw(1, 2, 1), -1)
        v.case(f"aten.squeeze{copy}.dim", draw(1, 2, 1), 1)
        v.case(f"aten.squeeze{copy}.dim", draw(), -1)
        v.case(f"aten.squeeze{copy}.dims", draw(1, 2, 1), [0, 1])
        v.case(f"aten.squeeze{copy}.dims", draw(1, 2, 1), [-1, 0])
        v.case(f"aten.squeeze{copy}.dims", draw(1, 2, 1), [])
        v.rejects(f"aten.squeeze{copy}.dim", draw(1, 2), 2)
        v.rejects(f"aten.squeeze{copy}.dims", draw(1, 2), [0, 0])


@op("unsqueeze")
def _(v):
    for name in ("aten.unsqueeze", "aten.unsqueeze_copy"):
        v.case(name, draw(2, 3), 0)
        v.case(name, draw(2, 3), 2)
        v.case(name, draw(2, 3), -1)
        v.case(name, draw(2, 3), -3)
        v.case(name, draw(), 0)
        v.case(name, draw(0, 2), 1)
        v.rejects(name, draw(2, 3), 3)
        v.rejects(name, draw(2, 3), -4)


@op("expand")
def _(v):
    for name in ("aten.expand", "aten.expand_copy", "aten.broadcast_to"):
        v.case(name, draw(1, 3), [2, 3])
        v.case(name, draw(3, 1), [2, -1, 4])
        v.case(name, draw(), [2, 2])
        v.case(name, draw(1), [0])
        v.case(name, draw(3), [3])
        v.case(name, draw(1, 2, dtype=i64), [3, 2])
        v.rejects(name, draw(2, 3), [4, 3])
        v.rejects(name, draw(2, 3), [3])
        v.rejects(name, draw(3), [-1, 3])
    v.case("aten.expand_as", draw(1, 3), draw(2, 2, 3))


@op("slice")
def _(v):
    big = 2**63 - 1
    for name in ("aten.slice.Tensor", "aten.slice_copy.Tensor"):
        v.case(name, draw(5, 3))
        v.case(name, draw(5, 3), 0, 1, 3)
        v.case(name, draw(5, 3), 0, 1, big)
        v.case(name, draw(5, 3), 0, -2, big)
        v.case(name, draw(5, 3), 0, 0, -1)
        v.case(name, draw(5, 3), 1, None, 2)
        v.case(name, draw(5, 3), -1, 2, 9)
        v.case(name, draw(5, 3), 0, 0, big, 2)
        v.case(name, draw(5, 3), 0, 1, 5, 3)
        v.case(name, draw(5, 3), 0, 4, 2)
        v.case(name, draw(5, 3), 0, -99, 99)
        v.case(name, draw(5, 3), 0, 7, 9)
        v.case(name, draw(0, 3), 0, 0, 1)
        v.case(name, draw(5, dtype=i8), 0, -3, -1)
        v.rejects(name, draw(5, 3), 2)
        v.rejects(name, draw(5, 3), 0, 0, 5, 0)
        v.rejects(name, draw(5, 3), 0, 0, 5, -1)
        v.rejects(name, draw())
    for name in ("aten.narrow", "aten.narrow_copy"):
        v.case(name, draw(5, 3), 0, 1, 3)
        v.case(name, draw(5, 3), -1, 0, 3)
        v.case(name, draw(5, 3), 0, -2, 2)
        v.case(name, draw(5, 3), 0, 5, 0)
        v.rejects(name, draw(5, 3), 0, 3, 3)
        v.rejects(name, draw(5, 3), 0, 0, -1)
        v.rejects(name, draw(), 0, 0, 1)


@op("select")
def _(v):
    for name in ("aten.select.int", "aten.select_copy.int"):
        v.case(name, draw(4, 3), 0, 2)
        v.case(name, draw(4, 3), 1, -1)
        v.case(name, draw(4, 3, 2), -2, 0)
        v.case(name, draw(3), 0, -3)
        v.case(name, draw(0, 3), 1, 1)
        v.case(name, draw(4, dtype=b8), 0, 1)
        v.rejects(name, draw(4, 3), 0, 4)
        v.rejects(name, draw(4, 3), 0, -5)
        v.rejects(name, draw(), 0, 0)


@op("split")
def _(v):
    for name in ("aten.split.Tensor", "aten.split_copy.Tensor", "aten.unsafe_split.Tensor"):
        v.case(name, draw(5, 2), 2)
        v.case(name, draw(5, 4), 2, 1)
        v.case(name, draw(5, 4), 9, -1)
        v.case(name, draw(0, 4), 2)
        v.case(name, draw(0, 4), 0)
        v.rejects(name, draw(5, 2), 0)
        v.rejects(name, draw(5, 2), -1)
        v.rejects(name, draw(), 1)
    for name in ("aten.split_with_sizes", "aten.split_with_sizes_copy", "aten.split.sizes", "aten.unsafe_split_with_sizes"):
        v.case(name, draw(5, 2), [1, 4])
        v.case(name, draw(2, 5), [2, 0, 3], 1)
        v.rejects(name, draw(5, 2), [1, 3])
        v.rejects(name, draw(5, 2), [6, -1])
    for name in ("aten.chunk", "aten.unsafe_chunk"):
        v.case(name, draw(6, 2), 3)
        v.case(name, draw(5, 2), 3)
        v.case(name, draw(5, 4), 4, 0)
        v.case(name, draw(2, 2), 4, 1)
        v.case(name, draw(0, 2), 3)
        v.rejects(name, draw(5, 2), 0)
    v.case("aten.tensor_split.sections", draw(7, 2), 3)
    v.case("aten.tensor_split.sections", draw(2, 2), 4, 1)
    v.case("aten.tensor_split.indices", draw(7, 2), [2, 5])
    v.case("aten.tensor_split.indices", draw(7, 2), [5, 2, -1, 99])
    v.case("aten.tensor_split.indices", draw(7, 2), [])
    v.rejects("aten.tensor_split.sections", draw(7, 2), 0)


@op("unbind")
def _(v):
    for name in ("aten.unbind.int", "aten.unbind_copy.int"):
        v.case(name, draw(3, 2))
        v.case(name, draw(3, 2), 1)
        v.case(name, draw(2, 1, 2), -2)
        v.case(name, draw(2))
        v.rejects(name, draw())
        v.rejects(name, draw(2, 3), 2)


@op("diagonal")
def _(v):
    for name in ("aten.diagonal", "aten.diagonal_copy"):
        v.case(name, draw(3, 4))
        v.case(name, draw(3, 4), 1)
        v.case(name, draw(3, 4), -2)
        v.case(name, draw(3, 4), 9)
        v.case(name, draw(3, 4), -9)
        v.case(name, draw(2, 3, 4), 0, 0, 2)
        v.case(name, draw(2, 3, 4), 1, -1, -2)
        v.rejects(name, draw(3, 4), 0, 1, 1)
        v.rejects(name, draw(3))


@op("unfold")
def _(v):
    for name in ("aten.unfold", "aten.unfold_copy"):
        v.case(name, draw(7), 0, 3, 2)
        v.case(name, draw(2, 6), 1, 2, 1)
        v.case(name, draw(6, 2), -2, 6, 1)
        v.case(name, draw(6), 0, 2, 3)
        v.case(name, draw(), 0, 1, 1)
        v.case(name, draw(3), 0, 0, 1)
        v.rejects(name, draw(7), 0, 8, 1)
        v.rejects(name, draw(7), 0, 2, 0)


@op("as_strided")
def _(v):
    for name in ("aten.as_strided", "aten.as_strided_copy"):
        v.case(name, draw(12), [3, 4], [4, 1])
        v.case(name, draw(12), [4, 3], [1, 4])
        v.case(name, draw(12), [3, 2], [2, 3], 4)
        v.case(name, draw(12), [5, 4], [1, 2])
        v.case(name, draw(3, 4), [3], [5])
        v.case(name, draw(3), [2, 3], [0, 1])
        v.case(name, draw(3), [0], [9])
        v.rejects(name, draw(12), [4, 4], [4, 1])
        v.rejects(name, draw(12), [4], [-1])
        v.rejects(name, draw(12), [4], [1, 1])


@op("alias")
def _(v):
    for name in ("alias", "alias_copy", "detach", "detach_copy", "lift", "lift_fresh", "lift_fresh_copy"):
        v.case(f"aten.{name}", draw(2, 3))
        v.case(f"aten.{name}", draw(dtype=i64))
