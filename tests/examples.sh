#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example on a fresh directory and looks for the line that it must end with: examples.sh PROGRAM LINE
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$("$1" "$dir/table")
printf '%s\n' "$out"
test "$(printf '%s\n' "$out" | tail -n 1)" = "$2"
