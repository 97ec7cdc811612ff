# SPDX-License-Identifier: Apache-2.0
# pml-store-conform passes a good store, and finds a lossy and a crashing one.
set -eu
fail() { printf '%s\n' "$*" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# runs CODE ARGUMENT...
runs() {
    want=$1
    shift
    code=0
    "$PML_CONFORM" "$@" >"$dir/out" 2>"$dir/err" || code=$?
    [ "$code" -eq "$want" ] || { cat "$dir/out" "$dir/err" >&2; fail "pml-store-conform $*: code $code instead of $want"; }
}
prints() { grep -q -e "$1" "$dir/out" || { cat "$dir/out" >&2; fail "nothing like '$1' was printed"; }; }

runs 0 --list
cases=$(grep -Evc '^(keyed|collapsed)_' "$dir/out") keyed=$(grep -Ec '^(keyed|collapsed)_' "$dir/out")
[ "$cases" -ge 19 ] && [ "$keyed" -ge 16 ] || fail "only $cases and $keyed cases"
others=", $keyed of tables that the store does not serve"
runs 0 "$PML_PLUGINS/list_store.so"
prints "^$cases passed, 0 failed$others\$"
prints '^store list, version 1$'
[ "$(grep -c '^ok ' "$dir/out")" -eq "$cases" ] || fail "not one line for each case"
runs 0 "$PML_PLUGINS/list_store.so" --case a_view_never_changes
prints '^1 passed, 0 failed$'

runs 1 "$PML_PLUGINS/lossy.so"
prints '^FAILED advance_lets_whole_segments_go: the row with offset 59 is missing$'
prints "^[0-9]* passed, [1-9][0-9]* failed$others\$"
runs 1 "$PML_PLUGINS/crashing.so"
prints '^FAILED a_view_never_changes: the process ended with code 77$'
prints "^0 passed, $cases failed$others\$"

runs 2
runs 2 --case
runs 2 "$PML_PLUGINS/list_store.so" --case nope
runs 2 "$PML_PLUGINS/missing.so"
grep -q 'PML_E_NOT_FOUND' "$dir/err" || fail "the missing file is not named"
runs 2 "$PML_PLUGINS/refused_abi.so"
runs 0 --help
prints '^usage: pml-store-conform'
