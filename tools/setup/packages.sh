#!/usr/bin/env bash
# Installs the distribution's packages that a part of the work needs, if they are not there.
#   tools/setup/packages.sh build|lint|fuzz|xnnpack
# Needs root or sudo only where something is missing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1-} in
  build)
    packages=(
      g++ cmake ninja-build ccache pkg-config xz-utils
      python3 python3-venv # XNNPACK's own build, our scripts, the stock runtime's environment
      libfmt-dev libsimdjson-dev libcli11-dev libflatbuffers-dev flatbuffers-compiler zlib1g-dev libgtest-dev
    )
    ;;
  lint) packages=(clang-format-19 clang-tidy-19) ;;
  fuzz) packages=(clang-19 libclang-rt-19-dev) ;;
  xnnpack) packages=(libxnnpack-dev) ;;
  *) die "packages.sh knows build, lint, fuzz and xnnpack" ;;
esac

if ! command -v dpkg-query >/dev/null; then
  say "this is not Debian: going on with what is installed (needed: ${packages[*]})"
  exit 0
fi
missing=()
for p in "${packages[@]}"; do
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
done
((${#missing[@]})) || exit 0

if (($(id -u) == 0)); then root=()
elif command -v sudo >/dev/null; then root=(sudo); sudo -v || die "sudo did not let us install: ${missing[*]}"
else die "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]}"
fi
say "packages to install: ${missing[*]}"
log=$logs/packages.log
step "$log" "package lists" "${root[@]}" apt-get -q update || die "apt-get update failed" "$log"
step "$log" "packages" "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -q install -y --no-install-recommends "${missing[@]}" || die "apt-get install failed" "$log"
