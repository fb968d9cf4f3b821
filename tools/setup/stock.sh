#!/usr/bin/env bash
# The stock ExecuTorch runtime that tests and benchmarks compare with: a Python environment with the
# executorch wheel (no torch), and tests/stock built against the C++ package inside the wheel.
#   tools/setup/stock.sh
# Result: $deps/stock (the environment), $deps/stock-build/stock_run. Ends with status 1 and the reason
# on stdout where it cannot be had; whoever calls decides whether that matters.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly venv=$deps/stock
readonly wheel=executorch==1.5.1

cannot() { printf '%s\n' "$1"; exit 1; }

if [[ ! -f $venv/stamp || $(<"$venv/stamp") != "$wheel" ]]; then
  rm -rf "$venv"
  step "$logs/stock-wheel.log" "stock runtime: environment" python3 -m venv "$venv" ||
    cannot "python3 -m venv failed (see $logs/stock-wheel.log)"
  step "$logs/stock-wheel.log" "stock runtime: $wheel" \
    "$venv/bin/pip" install --disable-pip-version-check --no-deps --only-binary :all: --retries 1 --timeout 20 "$wheel" ||
    cannot "pip could not install $wheel (see $logs/stock-wheel.log)"
  printf '%s\n' "$wheel" >"$venv/stamp"
fi
[[ -f $repo/tests/stock/CMakeLists.txt ]] || cannot "tests/stock is not there"
if [[ ! -f $deps/stock-build/build.ninja ]]; then
  step "$logs/stock-build.log" "stock runtime: configuring its runner" \
    cmake -S "$repo/tests/stock" -B "$deps/stock-build" -G Ninja -DSTOCK_VENV="$venv" \
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache || cannot "tests/stock could not be configured (see $logs/stock-build.log)"
fi
step "$logs/stock-build.log" "stock runtime: compiling its runner" ninja -C "$deps/stock-build" ||
  cannot "tests/stock did not compile (see $logs/stock-build.log)"
