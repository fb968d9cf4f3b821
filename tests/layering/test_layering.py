#!/usr/bin/env python3
"""Includes in src/ point only up the design's table, and so do the libraries' links. Standard library only.

  tests/layering/test_layering.py SRC CMAKELISTS

Ends with "N passed, N failed, N skipped". A file may include its own folder, what TABLE gives that folder,
and what that in turn is given.
"""
import pathlib
import re
import sys
import tempfile

TABLE = {
    "base": [],
    "ir": ["base"],
    "ops": ["ir"],
    "format": ["base"],
    "read": ["ir", "ops", "format"],
    "interp": ["ir", "ops"],
    "passes": ["ir", "ops", "interp"],
    "quantize": ["passes", "interp"],
    "partition": ["ir", "ops"],
    "lower": ["ir", "ops", "partition", "format"],
    "write": ["lower", "format"],
    "driver": ["base", "ir", "ops", "format", "read", "interp", "passes", "partition", "lower", "write"],
    "runtime": ["base", "format"],
    "session": ["driver", "quantize", "runtime", "interp"],
    "cli": ["session"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
LIBRARY = re.compile(r"^ew_library\((\w+)\s+([^)]*)\)", re.M)


def closure(folder, table=None):
    """Every folder that `folder` may include, itself among them."""
    table = TABLE if table is None else table
    seen, waiting = set(), [folder]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += table.get(one, [])
    return seen


def include_faults(src):
    """One line per include of ours that the table does not allow or that names no file."""
    faults = []
    for path in sorted(p for suffix in ("*.h", "*.cc", "*.inc") for p in src.rglob(suffix)):
        here = path.relative_to(src)
        if len(here.parts) < 2 or here.parts[0] not in TABLE:
            faults.append(f"src/{here}: its folder is not in the table")
            continue
        allowed = closure(here.parts[0])
        text = path.read_text(encoding="utf-8", errors="replace")
        for found in INCLUDE.finditer(text):
            name, where = found[1], f"src/{here}:{text.count(chr(10), 0, found.start(1)) + 1}"
            folder = name.split("/")[0]
            if folder not in TABLE:
                faults.append(f'{where}: "{name}" is not written from src/')
            elif folder not in allowed:
                faults.append(f'{where}: {here.parts[0]} may not include "{name}" (only {", ".join(sorted(allowed))})')
            elif not (src / name).is_file() and not name.endswith("_generated.h") and not name.endswith(".inc"):
                faults.append(f'{where}: "{name}" does not exist')
    return faults


def link_faults(cmake):
    """One line per link between our libraries that the table does not allow."""
    return [f"CMakeLists.txt: ew_{name} may not link ew_{other}"
            for name, links in LIBRARY.findall(cmake)
            for other in re.findall(r"\bew_(\w+)", links) if other not in closure(name)]


def faults_of_tree(files):
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        for name, text in files.items():
            (src / name).parent.mkdir(parents=True, exist_ok=True)
            (src / name).write_text(text)
        return include_faults(src)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def main(src, cmakelists):
    src, cmake = pathlib.Path(src), pathlib.Path(cmakelists).read_text()

    def the_table_has_no_cycle():
        for folder, above in TABLE.items():
            for one in above:
                expect(folder not in closure(one), f"{folder} and {one} may include each other")

    def the_runtime_stands_on_base_and_format_alone():
        expect(closure("runtime") == {"runtime", "base", "format"}, f"it may include {closure('runtime')}")
        expect("runtime" not in closure("driver"), "the driver may include the runtime")

    def includes_point_up():
        faults = include_faults(src)
        expect(not faults, "\n".join(faults))

    def libraries_link_up():
        expect(LIBRARY.search(cmake), "no ew_library() line was found")
        faults = link_faults(cmake)
        expect(not faults, "\n".join(faults))

    def finds_an_include_that_points_down():
        faults = faults_of_tree({"ir/a.h": '#include "ops/b.h"\n', "ops/b.h": ""})
        expect(len(faults) == 1 and "ir may not include" in faults[0], faults)

    def finds_a_runtime_that_reads_the_ir():
        faults = faults_of_tree({"runtime/a.cc": '\n  #  include "ir/b.h"\n', "ir/b.h": ""})
        expect(len(faults) == 1 and "src/runtime/a.cc:2" in faults[0], faults)

    def finds_an_include_beside_the_file():
        faults = faults_of_tree({"ir/a.cc": '#include "b.h"\n', "ir/b.h": ""})
        expect(len(faults) == 1 and "not written from src/" in faults[0], faults)

    def finds_a_folder_outside_the_table():
        faults = faults_of_tree({"misc/a.h": ""})
        expect(len(faults) == 1 and "not in the table" in faults[0], faults)

    def allows_what_is_further_up():
        faults = faults_of_tree({"cli/a.cc": '#include "base/b.h"\n#include <vector>\n', "base/b.h": ""})
        expect(not faults, faults)

    def finds_a_link_that_points_down():
        expect(link_faults("ew_library(ir ew_base ew_passes)") == ["CMakeLists.txt: ew_ir may not link ew_passes"], "missed")

    cases = [f for f in locals().values() if callable(f)]
    failed = 0
    for case in cases:
        try:
            case()
        except AssertionError as e:
            failed += 1
            print(f"FAILED {case.__name__}:\n{e}")
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
