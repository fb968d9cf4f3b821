#!/usr/bin/env bash
# Obtains and builds XNNPACK 2024-11-08 as the distribution released it, with the
# pthreadpool, cpuinfo and FXdiv that belong to it, as static libraries.
#
#   tools/setup/xnnpack.sh [--force]
#
# Result:  ${EDGEWRIGHT_DEPS:-<repo>/.deps}/xnnpack/{include,lib}, and a stamp; a second run is instant.
# Source:  the distribution's own source packages of its newer suites, asked for
#          through apt with a configuration of ours: nothing of the machine's own is
#          changed, and no root rights are needed. Every tarball is checked by hash.
# Needs:   apt-get, cmake, ninja, a C and C++ compiler, python3, xz.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly prefix=$deps/xnnpack
readonly work=$deps/work/xnnpack
readonly suites=(trixie sid)

# name, suite, upstream version, sha256 of the tarball.
# cpuinfo is sid's: trixie's tarball is missing from the archive.
readonly sources=(
  "xnnpack trixie 0.0~git20241108.4ea82e5 90bde2caef0f880f627bab0dc805a86c4b8070cd98e3243db3046ab3f3be1a99"
  "pthreadpool trixie 0.0~git20240616.560c60d 4cc3cbd933b28131d2a34edc54f76af9fb41bc490af5eae1a5bd3cd07ea90708"
  "fxdiv trixie 0.0~git20200417.b408327 7953482badaf4cb34026c3487c257b8e4ab2df061c019bd6fabbbc12ad52c44b"
  "cpuinfo sid 0.0~git20250905.877328f 557ca404a3836b9f335a3a06b65ff9fe9dbaaefab7fb5c0185f53d9f33615a10"
)
readonly cmake_args=(
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  -DXNNPACK_LIBRARY_TYPE=static -DXNNPACK_BUILD_TESTS=OFF -DXNNPACK_BUILD_BENCHMARKS=OFF
  -DXNNPACK_BUILD_ALL_MICROKERNELS=OFF -DXNNPACK_ENABLE_KLEIDIAI=OFF
  -DCPUINFO_LIBRARY_TYPE=static -DPTHREADPOOL_LIBRARY_TYPE=static
  -DPTHREADPOOL_ALLOW_DEPRECATED_API=ON
)

# How often pthreadpool looks before a thread goes to sleep, at the end of a parallel loop and before the next one; its header has
# this fixed. Of its million, with some 100 cycles each, a thread that waits for one that another process keeps from its
# processor burns its whole time slice: see docs/design/README.md.
readonly spin_wait=2000

# The sources of this machine's own release, one "[OPTIONS] URI" a line, from sources.list
# and deb822 files. Sources of other releases, updates, security and third parties are left out.
machine_sources() {
  python3 - <<'PY'
import glob, os, re

def one_line(path):
    for line in open(path, encoding="utf-8", errors="replace"):
        m = re.match(r"\s*deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+(.*)", line.split("#")[0])
        if m:
            options = dict(o.split("=", 1) for o in (m[1] or "").split() if "=" in o)
            yield m[2], m[3], m[4].split(), options.get("signed-by", "")

def deb822(path):
    for stanza in re.split(r"\n\s*\n", open(path, encoding="utf-8", errors="replace").read()):
        text = "\n".join(l for l in stanza.splitlines() if not l.startswith("#"))
        field = {k.lower(): " ".join(v.split()) for k, v in re.findall(r"^(\S+?):((?:.*)(?:\n[ \t]+.*)*)", text, re.M)}
        if "deb" not in field.get("types", "").split() or field.get("enabled", "yes") in ("no", "false"):
            continue
        key = field.get("signed-by", "")
        for uri in field.get("uris", "").split():
            for suite in field.get("suites", "").split():
                yield uri, suite, field.get("components", "").split(), key if key.startswith("/") else ""

codename = ""
for line in open("/etc/os-release", encoding="utf-8"):
    if line.startswith("VERSION_CODENAME="):
        codename = line.split("=", 1)[1].strip().strip('"')
found = []
paths = ["/etc/apt/sources.list"] + sorted(glob.glob("/etc/apt/sources.list.d/*.list"))
entries = [e for p in paths if os.path.exists(p) for e in one_line(p)]
entries += [e for p in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")) for e in deb822(p)]
for uri, suite, components, key in entries:
    if suite in (codename, "stable", "oldstable", "testing", "sid", "unstable") and "main" in components and (uri, key) not in found:
        found.append((uri, key))
for uri, key in found:
    print(f"{'[signed-by=' + key + '] ' if key else ''}{uri}")
PY
}

# Runs apt-get with our lists and cache, whatever the machine's own are.
our_apt() {
  apt-get -q \
    -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
    -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User="$(id -un)" \
    -o Debug::NoLocking=1 -o Acquire::Check-Valid-Until=false "$@" # pinned hashes do not age
}

tarball() { printf '%s/%s_%s.orig.tar.xz' "$work" "$1" "$2"; }

has_hash() { [[ -f $1 && $(sha256sum "$1" | cut -d' ' -f1) == "$2" ]]; }

# Fetches each tarball that is not there yet, and leaves its path in tarballs[NAME].
fetch() {
  local line suite source name suite_of version sha file log=$logs/xnnpack-fetch.log
  for source in "${sources[@]}"; do
    read -r name suite_of version sha <<<"$source"
    file=$(tarball "$name" "$version")
    if has_hash "$file" "$sha"; then tarballs[$name]=$file; fi
  done
  ((${#tarballs[@]} < ${#sources[@]})) || return 0
  command -v apt-get >/dev/null || die "apt-get is not here: XNNPACK comes from Debian's sources"
  mkdir -p "$work"/{lists/partial,cache/archives/partial}
  while read -r line; do
    for suite in "${suites[@]}"; do printf 'deb-src %s %s main\n' "$line" "$suite"; done
  done < <(machine_sources) >"$work/sources.list"
  [[ -s $work/sources.list ]] ||
    die "found no source of this machine's own Debian release in /etc/apt/sources.list and /etc/apt/sources.list.d"
  step "$log" "XNNPACK: source lists of ${suites[*]}" our_apt update ||
    die "apt-get update failed with the sources in $work/sources.list" "$log"
  for source in "${sources[@]}"; do
    read -r name suite_of version sha <<<"$source"
    [[ -z ${tarballs[$name]-} ]] || continue
    rm -f "$work/$name"_*
    (cd "$work" && step "$log" "XNNPACK: source of $name" our_apt source --download-only --tar-only "$name/$suite_of") ||
      die "apt-get could not fetch the source package $name of $suite_of" "$log"
    file=$(tarball "$name" "$version")
    if [[ -f $file ]]; then
      has_hash "$file" "$sha" ||
        die "$file has sha256 $(sha256sum "$file" | cut -d' ' -f1), expected $sha"
    else
      file=$(find "$work" -maxdepth 1 -name "${name}_*.orig.tar.*" | head -n 1)
      [[ -n $file ]] || die "apt-get fetched $name of $suite_of without its upstream tarball" "$log"
      # Only sid moves; what it has now is checked by apt against the archive's signature.
      [[ $suite_of == sid ]] || die "$suite_of has $(basename "$file"), expected version $version of $name"
      say "note: $suite_of now has $(basename "$file") where version $version was tried; using it"
    fi
    tarballs[$name]=$file
  done
}

# One tarball has its files at its top, the others in a folder: strip it by what is there.
unpack() {
  local name strip
  for name in "${!tarballs[@]}"; do
    rm -rf "${work:?}/src/$name"
    mkdir -p "$work/src/$name"
    strip=1
    tar -tf "${tarballs[$name]}" CMakeLists.txt >/dev/null 2>&1 && strip=0
    tar -xf "${tarballs[$name]}" -C "$work/src/$name" --strip-components=$strip
    [[ -f $work/src/$name/CMakeLists.txt ]] || die "${tarballs[$name]} holds no CMakeLists.txt"
  done
}

# Changes what has no option, and fails where a release no longer has the place.
patch_sources() {
  local header=$work/src/pthreadpool/src/threadpool-common.h
  sed -i "s/^\(#define PTHREADPOOL_SPIN_WAIT_ITERATIONS\) 1000000$/\1 $spin_wait/" "$header"
  grep -qx "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS $spin_wait" "$header" ||
    die "$header does not say PTHREADPOOL_SPIN_WAIT_ITERATIONS as it did"
}

build() {
  local launcher=() log=$logs/xnnpack-build.log
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  rm -rf "$work/build"
  step "$log" "XNNPACK: configuring" cmake -S "$work/src/xnnpack" -B "$work/build" -G Ninja "${cmake_args[@]}" \
    "${launcher[@]}" -DCPUINFO_SOURCE_DIR="$work/src/cpuinfo" -DFXDIV_SOURCE_DIR="$work/src/fxdiv" \
    -DPTHREADPOOL_SOURCE_DIR="$work/src/pthreadpool" || die "XNNPACK could not be configured" "$log"
  step "$log" "XNNPACK: compiling (once, some minutes)" ninja -C "$work/build" XNNPACK microkernels-prod ||
    die "XNNPACK did not compile" "$log"
}

install_prefix() {
  local staged=$prefix.new
  rm -rf "$staged"
  mkdir -p "$staged"/{include,lib}
  cp "$work/src/xnnpack/include/xnnpack.h" "$work/src/pthreadpool/include/pthreadpool.h" \
    "$work/src/cpuinfo/include/cpuinfo.h" "$work/src/fxdiv/include/fxdiv.h" "$staged/include/"
  cp "$work/build/libXNNPACK.a" "$work/build/libmicrokernels-prod.a" "$work/build/pthreadpool/libpthreadpool.a" \
    "$work/build/cpuinfo/libcpuinfo.a" "$staged/lib/"
  printf '%s\n' "$stamp" >"$staged/stamp"
  rm -rf "$prefix"
  mv "$staged" "$prefix"
}

# The stamp is what went in: sources, options and what is patched. A change of either builds anew.
stamp=$(printf '%s\n' "${sources[@]}" "${cmake_args[@]}" "spin_wait $spin_wait")
readonly stamp
[[ ${1-} == --force ]] && rm -f "$prefix/stamp"
up_to_date() { [[ -f $prefix/stamp && $(<"$prefix/stamp") == "$stamp" ]]; }
up_to_date && exit 0
mkdir -p "$work"
exec 9>"$work/lock"
flock 9 # two runs at once: the second finds the work done
up_to_date && exit 0
declare -A tarballs=()
fetch
unpack
patch_sources
build
install_prefix
rm -rf "$work/build" "$work/src"
say "XNNPACK is in $prefix"
