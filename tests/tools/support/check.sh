# SPDX-License-Identifier: Apache-2.0
# Sentences for the shell tests; sourced by each. Gives a fresh directory to work in, removed at the end.
: "${PML:?PML names the command to test}"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset PML_WAREHOUSE

fail() {
    echo "FAILED: $*" >&2
    [ -f err ] && sed 's/^/  stderr: /' err >&2
    exit 1
}

# exits CODE WORD...: runs pml with the words; its output is in `out`, its messages in `err`.
exits() {
    want=$1
    shift
    code=0
    "$PML" "$@" >out 2>err </dev/null || code=$?
    [ "$code" -eq "$want" ] || fail "pml $* ended with $code instead of $want"
}

# The same with standard input from a file.
exits_with_input() {
    want=$1 input=$2
    shift 2
    code=0
    "$PML" "$@" >out 2>err <"$input" || code=$?
    [ "$code" -eq "$want" ] || fail "pml $* < $input ended with $code instead of $want"
}

says() { grep -qF -- "$1" err || fail "stderr does not say: $1"; }
prints() { grep -qF -- "$1" out || fail "stdout does not say: $1 -- but: $(cat out)"; }
prints_lines() { [ "$(wc -l <out)" -eq "$1" ] || fail "stdout has $(wc -l <out) lines instead of $1: $(cat out)"; }
prints_exactly() { printf '%s\n' "$1" | cmp -s - out || fail "stdout is not: $1 -- but: $(cat out)"; }
