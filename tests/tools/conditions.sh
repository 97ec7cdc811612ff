# SPDX-License-Identifier: Apache-2.0
# --where selects what SQL would, and mistakes are shown with their place.
. "$PML_TEST_SOURCE/tools/support/check.sh"

exits 0 table create t --columns 'id INT NOT NULL, s STRING, d DATE, p DECIMAL(6, 2), at TIMESTAMP(3) WITH LOCAL TIME ZONE, ok BOOLEAN, `select` INT'
cat >rows.jsonl <<'END'
{"id":1,"s":"apple","d":"2024-01-01","p":"1.50","at":"2024-01-01T10:00:00.000Z","ok":true,"select":1}
{"id":2,"s":"banana","d":"2024-02-01","p":"2.50","at":"2024-02-01T10:00:00.000Z","ok":false}
{"id":3,"s":"it's","d":"2024-03-01","p":"-1.00","at":"2024-03-01T10:00:00.000Z"}
{"id":4}
END
exits 0 load t rows.jsonl

# selects IDS CONDITION
selects() {
    exits 0 scan t --columns id --format csv --where "$2"
    got=$(tail -n +2 out | sort -n | tr '\n' ' ')
    [ "$got" = "$1${1:+ }" ] || fail "$2 selects $got instead of $1"
    exits 0 count t --where "$2"
    [ "$(cat out)" -eq "$(echo "$1" | wc -w)" ] || fail "$2 counts $(cat out) instead of $1"
}
selects "1" "id = 1"
selects "2 3 4" "id <> 1"
selects "2 3" "s <> 'apple'"
selects "2 3" "NOT (s = 'apple')"
selects "4" "s IS NULL"
selects "1 2 3" "s IS NOT NULL"
selects "3" "s = 'it''s'"
selects "1" "s LIKE 'a%'"
selects "2" "s LIKE '%na'"
selects "1 2" "s LIKE '%a%'"
selects "1 3" "id IN (1, 3, 99)"
selects "2 3" "s NOT IN ('apple')"
selects "2 3" "d BETWEEN DATE '2024-02-01' AND '2024-12-31'"
selects "2" "p = 2.5"
selects "1 2" "p > 0"
selects "2 3" "at > TIMESTAMP '2024-01-15 00:00:00'"
selects "1" "ok = TRUE"
selects "1" '`select` = 1'
selects "1" '"select" >= 1'
selects "1 4" "s = 'apple' OR s IS NULL AND id > 3"
selects "" "FALSE"
selects "1 2 3 4" "TRUE"
selects "" "s = NULL"
selects "1 2" "3 > id"
selects "1" "id = 1.0"
selects "1 3" "id IN (10e-1, 0.3e1)"
selects "" "id > 2e9"

exits 2 scan t --where "id = AND"
says "       ^"
exits 2 scan t --where "id = 'x'"
exits 4 scan t --where "nope = 1"
exits 2 count t --where "s LIKE 'a_b'"
says "LIKE takes"

# A wrong value is shown with its place and the column.
exits 2 scan t --where "ok = TRUE AND id = 1.5"
says '--where: 1.5 is no value of the INT column "id"'
says "                     ^"
exits 2 scan t --where "id IN (1, 99999999999)"
says '--where: 99999999999 lies outside of the INT column "id", which holds -2147483648..2147483647'
says "            ^"
exits 2 count t --where "id < 1e11"
says '100000000000 lies outside'
exits 2 scan t --where "d = 'x'"
says '--where: column "d": '
exits 4 count t --where "nope = 1"
says "--where: "
exits 2 dump t --filter '{"eq":["id","x"]}'
says '--filter: column "id": '


# Several conditions must all be true; each is whole in itself.
exits 0 count t --where "id = 1 OR id = 2" --where "id = 2 OR id = 3"
prints_exactly 1
exits 2 count t --where "id = 1) OR (id = 2" --where "TRUE"
exits 2 scan t --where "id = 1" --where "id = 'x'"
says "id = 'x'"
exits 2 scan t --columns ,
says "names no column"
exits 2 dump t --columns " , "
says "names no column"
selects "1 3" "s NOT LIKE 'banana'"
exits 2 count t --where "s NOT LIKE 'a%'"
says "NOT LIKE"
