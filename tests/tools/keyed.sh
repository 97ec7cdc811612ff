# SPDX-License-Identifier: Apache-2.0
# Tables with a primary key: rows change and go, from JSON, CSV and Parquet; what is not written is refused by name.
. "$PML_TEST_SOURCE/tools/support/check.sh"

columns="id INT NOT NULL, p STRING NOT NULL, v STRING"
exits 0 table create t --columns "$columns" --primary-key p,id --partition-by p --bucket 2
exits 0 table describe t
prints "primary key  p, id"
cat >first.jsonl <<'END'
{"_kind":"+I","id":1,"p":"a","v":"one"}
{"_kind":"+I","id":2,"p":"a","v":"two"}
{"_kind":"+U","id":1,"p":"b","v":"other"}
{"id":3,"p":"a","v":"three"}
END
cat >second.jsonl <<'END'
{"_kind":"-U","id":1,"p":"a","v":"one"}
{"_kind":"+U","id":1,"p":"a","v":"ONE"}
{"_kind":"-D","id":2,"p":"a","v":"two"}
{"_kind":"+I","id":4,"p":"a","v":null}
END
exits 0 ingest t first.jsonl
says "4 rows in 1 commit, snapshot 1"
exits 0 load t second.jsonl
says "4 rows in 1 commit, snapshot 2"
exits 0 count t
prints_exactly 4
exits 0 scan t --format csv
LC_ALL=C sort out | tr '\n' ' ' | grep -q '^1,a,ONE 1,b,other 3,a,three 4,a, id,p,v $' || fail "these are not the rows: $(cat out)"
exits 0 scan t --where "id = 1 AND p = 'a'" --format json
prints_exactly '{"id":1,"p":"a","v":"ONE"}'
exits 0 dump t
prints '{"_kind":"+U","id":1,"p":"a","v":"ONE"}'

# CSV, and Parquet: rows of other forms are +I.
printf 'id,p,v\n3,a,3 of CSV\n2,a,2 again\n' >third.csv
exits 0 ingest t third.csv
exits 0 count t
prints_exactly 5
exits 0 scan t --where "id = 3" --columns v --format csv
prints "3 of CSV"
exits 0 table create plain --columns "$columns"
printf 'id,p,v\n3,a,3 of Parquet\n' >fourth.csv
exits 0 ingest plain fourth.csv
exits 0 ingest t "$(find warehouse/default.db/plain -name '*.parquet')"
exits 0 count t
prints_exactly 5
exits 0 scan t --where "id = 3" --columns v --format csv
prints "3 of Parquet"

# Replaced, and removed.
exits 0 ingest t third.csv --overwrite
exits 0 count t
prints_exactly 3
exits 0 table drop-partition t p=a --yes
exits 0 count t
prints_exactly 1

# Kinds in a column; rows that are passed over.
exits 0 table create kinds --columns "id INT NOT NULL, k STRING" --primary-key id --bucket 1 --option rowkind.field=k
printf 'id,k\n1,+I\n2,+I\n1,-D\n' >kinds.csv
exits 0 ingest kinds kinds.csv
exits 0 count kinds
prints_exactly 1
printf 'id,k\n1,+I\n1,*I\n' >kinds.csv
exits 1 ingest kinds kinds.csv
says "kinds.csv, row 2: column k, which gives the kind of a row, is *I"
exits 0 table create texts --columns "id INT NOT NULL, k STRING"
exits 0 ingest texts kinds.csv
exits 1 ingest kinds "$(find warehouse/default.db/texts -name '*.parquet')"
says ".parquet, row 2: column k, which gives the kind of a row, is *I"
printf '{"id":1,"k":"-D"}\n\n{"id":2}\n' >kinds.jsonl
exits 1 ingest kinds kinds.jsonl
says "kinds.jsonl, line 3: column k, which gives the kind of a row, is null"
exits 0 ingest t second.jsonl --option ignore-delete=true
exits 0 scan t --where "id = 2" --columns id --format csv
prints_lines 1
exits 0 table create first --columns "id INT NOT NULL, v STRING" --primary-key id --bucket 1 --option merge-engine=first-row
printf '{"id":1}\n\n{"id":2}\n{"_kind":"-D","id":1,"v":"x"}\n' >delete.jsonl
exits 1 ingest first delete.jsonl
says "delete.jsonl, line 4: merge-engine first-row takes no rows of kind -D"
exits 0 ingest first delete.jsonl --option ignore-delete=true
exits 0 table create sums --columns "id INT NOT NULL, v INT" --primary-key id --bucket 1 --option merge-engine=aggregation --option fields.v.aggregate-function=min
printf '{"_kind":"-U","id":1,"v":1}\n' >retract.jsonl
exits 1 ingest sums retract.jsonl
says "retract.jsonl, line 1: "
exits 3 ingest plain first.jsonl
says "a row of kind +U needs primary-key"
printf '{"id":1,"p":"a","v":"x","_VALUE_KIND":3}\n' >column.jsonl
exits 1 ingest t column.jsonl
says '"_kind" says what a row is'

# What only a real-time writer refuses is a wrong row of its file, too.
exits 0 table create floats --columns "d DOUBLE NOT NULL, s FLOAT" --primary-key d --bucket 1 --live --option realtime.allow-float-key=true \
    --option sequence.field=s
printf '{"d":1,"s":1}\n\n{"d":-0.0,"s":1}\n' >zero.jsonl
exits 1 ingest floats zero.jsonl --live
says "zero.jsonl, line 3: the key column d is NaN or -0.0"
printf 'd,s\n1,1\n2,2\nNaN,3\n' >nan.csv
exits 1 ingest floats nan.csv --live
says "nan.csv, row 3: the key column d is NaN or -0.0"
printf '{"d":1,"s":1}\n{"d":2,"s":"NaN"}\n' >sequence.jsonl
exits_with_input 1 sequence.jsonl ingest floats - --live
says "standard input, line 2: the sequence field s is NaN"
exits 0 ingest floats sequence.jsonl
exits 0 count floats
prints_exactly 2

# What is not written.
exits 3 table create no --columns "$columns" --primary-key id --partition-by p
says "needs cross-partition"
exits 3 table create no --columns "$columns" --primary-key id --bucket -2
says "needs bucket:postpone"
for option in changelog-producer=input file.format=orc file.format=avro file.format.per.level=0:orc file.compression.per.level=0:lz4 \
    metadata.stats-mode.per.level=0:none sequence.snapshot-ordering=true; do
    exits 3 table create no --columns "$columns" --primary-key id --bucket 1 --option $option
    says "needs "
done
exits 0 ingest t first.jsonl --live --option realtime.enabled=true
