#!/usr/bin/env bash
# examples/digits/demo.sh [EDGEWRIGHT]: compiles the committed network, holds it to PyTorch's outputs, runs it on its held-out
# images and counts how many it gets right. `./dev demo` builds what this needs and calls it.
set -euo pipefail
edgewright=$(realpath "${1:-${EDGEWRIGHT:?the edgewright binary}}")
score=$(dirname "$edgewright")/digits_score
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$here"/* "$scratch"
cd "$scratch"

step() {
  local title=$1
  shift
  printf '\n%s\n  $ edgewright %s\n' "$title" "$*"
  "$edgewright" "$@"
}

echo "A small convolutional network, trained with PyTorch $(sed -E 's/.*"torch": "([0-9.]+).*/\1/' digits.json) on 1,437 handwritten digits, and 360 digits that it never saw."
step "1. Compile it: from what torch.export.save wrote to a file for the ExecuTorch runtime" \
  compile digits.pt2 -o digits.pte
step "2. Check it: the compiled program, the reference interpreter and PyTorch's own outputs against one another" \
  check digits.pt2 --inputs heldout_inputs.safetensors --expect pytorch_outputs.safetensors
step "3. Run it: the compiled file on the 360 held-out digits" \
  run digits.pte --inputs heldout_inputs.safetensors -o outputs.safetensors
echo
"$score" heldout_inputs.safetensors heldout_labels.safetensors outputs.safetensors
sed -E 's/.*"right": ([0-9]+), "of": ([0-9]+).*/PyTorch itself: \1 of \2/' digits.json
