"""Convolutions."""

from vectors import bf16, draw, f64, op


@op("convolution")
def _(v):
    c = "aten.convolution"
    v.case(c, draw(1, 2, 5), draw(3, 2, 3), draw(3), [1], [0], [1], False, [0], 1)
    v.case(c, draw(2, 2, 5, 4), draw(3, 2, 3, 2), draw(3), [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
    v.case(c, draw(1, 4, 4, 4), draw(4, 1, 3, 3), draw(4), [1, 1], [1, 1], [1, 1], False, [0, 0], 4)
    v.case(c, draw(1, 2, 4, 4), draw(6, 1, 2, 3), None, [2, 2], [1, 1], [1, 1], False, [0, 0], 2)
    v.case(c, draw(1, 4, 4, 3), draw(6, 2, 2, 2), draw(6), [1], [1], [1], False, [0], 2)
    v.case(c, draw(1, 8, 3, 3), draw(9, 8, 1, 1), draw(9), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.case(c, draw(1, 2, 3, 4, 3), draw(2, 2, 2, 3, 2), draw(2), [1, 2, 1], [0, 1, 1], [1, 1, 1], False, [0, 0, 0], 1)
    v.case(c, draw(1, 2, 3, 3), draw(2, 3, 2, 2), draw(3), [2, 2], [0, 1], [1, 1], True, [1, 0], 1)
    v.case(c, draw(1, 4, 3, 3), draw(4, 1, 3, 3), draw(2), [2, 1], [1, 1], [1, 2], True, [1, 0], 2)
    v.case(c, draw(1, 4, 3), draw(4, 2, 3), draw(2), [3], [0], [2], True, [0], 1)
    v.case(c, draw(1, 2, 2, 2, 3), draw(2, 2, 2, 2, 2), None, [2, 2, 1], [0, 0, 0], [1, 1, 1], True, [0, 1, 0], 1)
    v.case(c, draw(0, 2, 4, 4), draw(3, 2, 3, 3), draw(3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.case(c, draw(1, 2, 5, 4, dtype=f64), draw(3, 2, 3, 2, dtype=f64), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
    v.case(c, draw(1, 2, 4, 4, dtype=bf16), draw(3, 2, 3, 3, dtype=bf16), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.rejects(c, draw(1, 3, 4, 4), draw(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.rejects(c, draw(1, 2, 2, 2), draw(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.rejects(c, draw(1, 2, 4, 4), draw(3, 2, 3, 3), draw(2), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.rejects(c, draw(1, 2, 4, 4), draw(3, 2, 3, 3), None, [0, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.case("aten._convolution", draw(1, 2, 4, 4), draw(3, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)


@op("conv1d")
def _(v):
    v.case("aten.conv1d", draw(1, 2, 5), draw(3, 2, 3), draw(3))
    v.case("aten.conv1d", draw(2, 5), draw(3, 2, 3), draw(3), [2], [1], [2])
    v.case("aten.conv1d.padding", draw(1, 2, 5), draw(3, 2, 4), draw(3), [1], "same")
    v.case("aten.conv1d.padding", draw(1, 2, 5), draw(3, 2, 4), draw(3), [2], "valid")
    v.case("aten.conv2d", draw(1, 2, 4, 5), draw(3, 2, 3, 3))
    v.case("aten.conv2d", draw(2, 4, 5), draw(3, 2, 3, 3), draw(3), [1, 2], [1, 1])
    v.case("aten.conv2d", draw(1, 4, 4, 4), draw(4, 2, 1, 1), draw(4), [1, 1], [0, 0], [1, 1], 2)
    v.case("aten.conv2d.padding", draw(1, 2, 4, 5), draw(3, 2, 2, 3), draw(3), [1, 1], "same", [1, 2])
    v.case("aten.conv2d.padding", draw(1, 2, 4, 5), draw(3, 2, 2, 2), draw(3), [1, 1], "same")
    v.rejects("aten.conv2d.padding", draw(1, 2, 4, 5), draw(3, 2, 2, 3), draw(3), [2, 1], "same")
    v.case("aten.conv3d", draw(1, 1, 3, 3, 4), draw(2, 1, 2, 2, 3), draw(2))
    v.case("aten.conv3d", draw(1, 3, 3, 4), draw(2, 1, 2, 2, 3), draw(2), [1, 2, 1], [1, 0, 1])
    v.case("aten.conv_transpose1d", draw(1, 2, 3), draw(2, 3, 3), draw(3), [2], [1], [1])
    v.case("aten.conv_transpose1d", draw(2, 3), draw(2, 3, 3))
    v.case("aten.conv_transpose2d.input", draw(1, 2, 3, 3), draw(2, 3, 3, 2), draw(3), [2, 2], [1, 0], [1, 1], 1, [1, 1])
    v.case("aten.conv_transpose2d.input", draw(1, 4, 3, 3), draw(4, 1, 3, 2), draw(2), [1, 2], [0, 0], [0, 0], 2, [2, 1])
    v.case("aten.conv_transpose3d.input", draw(1, 2, 2, 2, 3), draw(2, 1, 2, 2, 2), draw(1), [2, 1, 2])
