# SPDX-License-Identifier: Apache-2.0
# Rows by their keys: the forms of keys, the order of rows, what is said of keys that are not there.
. "$PML_TEST_SOURCE/tools/support/check.sh"

exits 0 table create t --columns "id INT NOT NULL, p STRING NOT NULL, v STRING" --primary-key p,id --partition-by p --bucket 2
exits 4 lookup t p=a,id=1
says 'there is no row with the key {"p":"a","id":"1"}'
cat >rows.jsonl <<'END'
{"id":1,"p":"a","v":"one"}
{"id":2,"p":"a","v":"two"}
{"id":1,"p":"b,id=1","v":"other"}
END
exits 0 ingest t rows.jsonl
printf '{"_kind":"-D","id":2,"p":"a","v":null}\n{"_kind":"+U","id":1,"p":"a","v":"ONE"}\n' >later.jsonl
exits 0 ingest t later.jsonl

exits 0 lookup t p=a,id=1 --json
prints_exactly '{"id":1,"p":"a","v":"ONE"}'
exits 0 lookup t id=1,p=a --columns v,id --format csv
[ "$(tr '\n' ' ' <out)" = "v,id ONE,1 " ] || fail "these are not the columns: $(cat out)"
exits 0 lookup t '{"p":"b,id=1","id":1}' --json
prints_exactly '{"id":1,"p":"b,id=1","v":"other"}'
exits 0 lookup t p=a,id=1 --snapshot 1 --json
prints_exactly '{"id":1,"p":"a","v":"one"}'
exits 0 lookup t p=a,id=1
prints "ONE"

# Keys out of rows; in their order, as often as they are asked for; those that are not there.
exits_with_input 4 rows.jsonl lookup t p=a,id=9 - p=a,id=1 --json
[ "$(grep -c . out)" = 3 ] || fail "not three rows: $(cat out)"
[ "$(head -1 out)" = '{"id":1,"p":"a","v":"ONE"}' ] || fail "another order: $(cat out)"
says '{"p":"a","id":"9"}'
says '{"p":"a","id":"2"}'
exits_with_input 4 rows.jsonl lookup t - --json --aligned
[ "$(sed -n 2p out)" = null ] || fail "the deleted one is there: $(cat out)"
[ "$(grep -c . out)" = 3 ] || fail "not three lines: $(cat out)"
exits 0 lookup t - --format csv
prints_exactly "id,p,v"
exits 4 lookup t p=a,id=2 --format csv
prints_exactly "id,p,v"

# Whoever asks through a pipe gets the answer before the next question, in every format.
for format in json csv table; do
    mkfifo asked answered
    timeout 30 "$PML" lookup t - --format $format <asked >answered 2>pipe_err &
    lookup=$!
    exec 8>asked 9<answered
    echo 'p=a,id=1' >&8
    while read -r line <&9 && [ "${line#*ONE}" = "$line" ]; do :; done
    printf 'p=c,id=1\np=a,' >&8
    printf 'id=9\n{"id":1,"p":"b,id=1"}\np=a' >&8
    n=0
    until [ "$(grep -c "there is no row" pipe_err)" -ge 2 ]; do
        n=$((n + 1))
        [ $n -lt 100 ] || fail "no word of the missing keys: $(cat pipe_err)"
        sleep 0.1
    done
    while read -r line <&9 && [ "${line#*other}" = "$line" ]; do :; done
    echo ',id=1' >&8
    read -r line <&9 && [ "${line#*ONE}" != "$line" ] || fail "not the answer to a line in two pieces: $line"
    exec 8>&- 9<&-
    code=0
    wait $lookup || code=$?
    [ $code -eq 4 ] || fail "a lookup through a pipe ended with $code: $(cat pipe_err)"
    rm asked answered
done
# A wrong line is named, and those before it are answered.
printf 'p=a,id=1\n\np=a,id=x\n' >wrong
exits_with_input 1 wrong lookup t - --json
says "standard input, line 3: column 'id' of a key: 'x'"
prints_exactly '{"id":1,"p":"a","v":"ONE"}'
printf 'p=a,id=1\r\n{"p":' >wrong
exits_with_input 1 wrong lookup t - --json
says 'standard input, line 2: "{"p":" is no key: it is no JSON'
prints_exactly '{"id":1,"p":"a","v":"ONE"}'

# What is no key, no table for it, no option.
exits 2 lookup t id=1
says "a column is missing"
exits 2 lookup t x=1
says "it does not begin with a column of the primary key"
exits 2 lookup t p=a,id=1,id=2
says "a column is there twice"
exits 2 lookup t '{"p":null,"id":1}'
says "a value is null"
exits 2 lookup t '{"p":'
says "it is no JSON"
exits 2 lookup t p=a,id=x
says "column 'id' of a key: 'x' is no INT value"
exits 2 lookup t p=a,id=1 --aligned
says "goes with --json"
exits 2 lookup t
says "an operand is missing"
exits 4 lookup t p=a,id=1 --columns nope
exits 0 table create plain --columns "id INT"
exits 2 lookup plain id=1
says "has no primary key to look rows up by"
