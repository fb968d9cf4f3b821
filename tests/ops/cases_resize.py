"""Resizing."""

from vectors import bf16, draw, f64, op, u8


@op("upsample")
def _(v):
    for e in ("", "_exact"):
        n = "aten._upsample_nearest_exact" if e else "aten.upsample_nearest"
        v.case(n + "1d", draw(1, 2, 3), [7])
        v.case(n + "2d", draw(1, 2, 3, 4), [6, 8])
        v.case(n + "2d", draw(1, 1, 3, 4), [5, 7])
        v.case(n + "2d", draw(1, 1, 4, 5), [2, 3], 0.5, 0.6)
        v.case(n + "2d.vec", draw(1, 1, 3, 4), None, [2.5, 1.5])
        v.case(n + "2d.vec", draw(1, 1, 3, 4), [4, 3], None)
        v.case(n + "2d", draw(1, 1, 3, 4, dtype=u8), [4, 6])
        v.case(n + "3d", draw(1, 1, 2, 2, 3), [3, 4, 5])
    for a in (False, True):
        v.case("aten.upsample_bilinear2d", draw(1, 2, 3, 4), [6, 8], a)
        v.case("aten.upsample_bilinear2d", draw(1, 1, 4, 5), [3, 2], a)
        v.case("aten.upsample_bilinear2d", draw(1, 1, 3, 4), [1, 5], a)
        v.case("aten.upsample_bilinear2d.vec", draw(1, 1, 3, 4), None, a, [1.5, 2.5])
        v.case("aten.upsample_bilinear2d.vec", draw(1, 1, 3, 4), [5, 5], a, None)
        v.case("aten.upsample_linear1d", draw(1, 2, 3), [7], a)
        v.case("aten.upsample_bicubic2d", draw(1, 1, 4, 5), [6, 7], a)
        v.case("aten.upsample_bicubic2d", draw(1, 1, 5, 5), [3, 2], a)
        v.case("aten.upsample_trilinear3d", draw(1, 1, 2, 3, 2), [3, 4, 5], a)
        v.case("aten._upsample_bilinear2d_aa", draw(1, 1, 7, 6), [3, 4], a)
        v.case("aten._upsample_bilinear2d_aa.vec", draw(1, 1, 4, 6), [5, 2], a, None)
    v.case("aten.upsample_bilinear2d", draw(1, 1, 4, 5), [6, 7], False, 1.6, 1.5)
    v.case("aten.upsample_bilinear2d", draw(1, 2, 3, 4, dtype=f64), [6, 8], False)
    v.case("aten.upsample_bicubic2d.vec", draw(1, 1, 3, 3), None, False, [2.0, 2.0])
    v.rejects("aten.upsample_bilinear2d", draw(1, 2, 3), [6, 8], False)
    v.rejects("aten.upsample_nearest2d", draw(1, 2, 3, 4), [0, 8])
