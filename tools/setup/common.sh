# Shared by ./dev and the scripts of tools/setup (sourced by bash): where things are,
# how progress and failures are shown. Owns the layout of the folder of dependencies:
#   ${EDGEWRIGHT_DEPS:-<repo>/.deps}/{xnnpack,stock,log,work}
# Everything said goes to stderr, so that stdout holds a command's own output.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
deps=${EDGEWRIGHT_DEPS:-$repo/.deps}
logs=$deps/log
mkdir -p "$logs"

say() { printf '  %s\n' "$*" >&2; }

# die MESSAGE [LOG]: ends the script; with a log, names it and shows its end.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  if [[ -s ${2-} ]]; then
    printf '  the end of %s:\n' "$2" >&2
    tail -n 25 "$2" | sed 's/^/    /' >&2
  fi
  exit 1
}

# step LOG TITLE COMMAND...: runs the command with its output in LOG and the time that passes
# on the terminal; returns the command's status. Ninja's "[done/total]" is shown as per cent.
step() {
  local log=$1 title=$2 start=$SECONDS tick=0 shown=0 status=0 percent
  shift 2
  "$@" >"$log" 2>&1 &
  local pid=$!
  trap 'kill '"$pid"' 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    # Nothing for what ends within a second; then a line that is rewritten, or one line and a sign of life.
    ((++tick % 10)) && continue
    percent=$(tail -c 8000 "$log" 2>/dev/null | grep -aoE '^\[[0-9]+/[0-9]+\]' | tail -n 1 |
      awk -F'[][/]' '{printf " %d%%", 100 * $2 / $3}') || true
    if [[ -t 2 ]]; then
      printf '\r\033[K  %s%s  %ds' "$title" "$percent" $((SECONDS - start)) >&2
    elif ((shown == 0 || tick % 300 == 0)); then
      printf '  %s%s  %ds\n' "$title" "$percent" $((SECONDS - start)) >&2
    fi
    shown=1
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if ((shown)) && [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((shown && status == 0)); then say "$title: done in $((SECONDS - start)) s"; fi
  return "$status"
}
