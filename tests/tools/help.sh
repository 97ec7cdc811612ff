# SPDX-License-Identifier: Apache-2.0
# Help is everywhere, teaches with examples, and mistakes say where it is.
. "$PML_TEST_SOURCE/tools/support/check.sh"

exits 0 --version
prints "pml "
exits 0 --help
prints "Exit codes:"
for command in "table create" "table describe" "table list" "table drop" "table truncate" "table drop-partition" load ingest scan lookup count dump changelog snapshots files offsets "offsets repair" "offsets clean" "realtime status" schema; do
    # shellcheck disable=SC2086
    exits 0 $command --help
    prints "Usage: pml $command"
    [ "$(sed -n '/^Examples:/,$p' out | grep -c 'pml ')" -ge 2 ] || fail "pml $command --help has not two examples"
    cp out with_option
    # shellcheck disable=SC2086
    exits 0 help $command
    cmp -s out with_option || fail "pml help $command says something else"
    exits 0 --help
    prints "  $command "
done

exits 2
says "pml --help"
exits 2 scn
says "did you mean pml scan?"
exits 2 table
says "create"
exits 2 scan
says "an operand is missing: pml scan TABLE"
says "pml scan --help"
exits 2 scan a b
says "one operand too many: b"
exits 2 scan a --colums x
says "did you mean --columns?"
exits 2 scan a --limit
says "--limit needs a value"
exits 2 scan a --limit=x
says "whole number"
exits 2 scan a --snapshot 0
says "at least 1"
exits 2 scan a --format xml
says "table, json or csv"
exits 2 table drop a --yes=1
says "takes no value"
exits 2 scan a -x
says "two dashes"
