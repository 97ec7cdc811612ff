#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example on a fresh directory and looks for the line that it must end with: examples.sh PROGRAM LINE [ARGUMENT...]
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
program=$1 line=$2
shift 2
out=$("$program" "$dir/table" "$@")
printf '%s\n' "$out"
test "$(printf '%s\n' "$out" | tail -n 1)" = "$line"
