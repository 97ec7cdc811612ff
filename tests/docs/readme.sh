#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the lines of README.md's "Two minutes" with the command of this build: readme.sh README.md PML
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed -n '/^## Two minutes/,/^From C/s/^    //p' "$1" >"$dir/lines"
grep -q 'PML_WAREHOUSE=/tmp/warehouse$' "$dir/lines" && grep -q '^build/pml ' "$dir/lines" || { echo "README.md reads otherwise" >&2; exit 1; }
sed -e "s|/tmp/warehouse|$dir/warehouse|" -e "s|build/pml|\"$2\"|g" "$dir/lines" >"$dir/script"
sh -eux "$dir/script" >"$dir/out"
cat "$dir/out"
# One flight is late, the other is not; both went in with one commit.
grep -q 'JFK' "$dir/out"
! grep -q 'EWR' "$dir/out"
grep -q 'Usage\|usage' "$dir/out"
