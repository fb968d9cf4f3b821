"""Writes vectors/*.vec from cases_*.py: `python3 make_vectors.py [op...]`."""

import glob
import importlib
import os
import sys

import vectors

for path in sorted(glob.glob(os.path.join(vectors.HERE, "cases_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])
wanted = sys.argv[1:] or sorted(vectors.FILES)
for stem in wanted:
    v = vectors.Vectors()
    vectors.FILES[stem](v)
    v.write(stem)
print(f"{len(wanted)} files")
