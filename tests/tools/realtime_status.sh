# SPDX-License-Identifier: Apache-2.0
# A process that writes live is seen from another one, as text, JSON and OpenMetrics, for as long as it lives.
. "$PML_TEST_SOURCE/tools/support/check.sh"
PML_RUNTIME_DIR=$dir/run
export PML_RUNTIME_DIR

exits 0 table create ./t --live --columns "id INT NOT NULL, v STRING"
exits 0 table create ./other --live --columns "id INT"
exits 4 realtime status ./t
says "no process of this user writes ./t live"
exits 4 realtime status
exits 4 realtime status ./nothing
exits 2 realtime status ./t --json --openmetrics
says "do not go together"
exits 2 realtime status ./t --interval 2
says "--watch"
exits 2 realtime
says "pml realtime status --help"
exits 4 realtime status --openmetrics
[ "$(tail -1 out)" = "# EOF" ] || fail "an exposition without processes: $(cat out)"

mkfifo rows
"$PML" ingest ./t - --format json --live --commit-every 3 <rows 2>ingest_err &
writer=$!
exec 9>rows
wait_for() { # WORD...: until the command prints it
    n=0
    until "$PML" realtime status ./t --json >out 2>err && grep -qF "$1" out; do
        n=$((n + 1))
        [ $n -lt 300 ] || fail "no status with $1: $(cat out err ingest_err)"
        sleep 0.1
    done
}
wait_for '"write_rows":0'
# Also while the writer waits for more: rows of a batch that is not full, and the time that goes by. Commits are where they would be
# without the pauses.
echo '{"id":1,"v":"a"}' >&9
echo '{"id":2,"v":"b"}' >&9
wait_for '"write_rows":2,'
printf '{"id":%s,"v":"c"}\n' 3 4 5 >&9
wait_for '"write_rows":5,'
prints '"commits":1,'
exits 0 count ./t
prints_exactly 3
age() { sed 's/.*"uncommitted_age_ms":\([0-9]*\),.*/\1/' out; }
wait_for '"uncommitted_rows":2,'
before=$(age)
n=0
until "$PML" realtime status ./t --json >out && [ "$(age)" -gt "$before" ]; do
    n=$((n + 1))
    [ $n -lt 300 ] || fail "the status of a waiting writer stays as it was: $(cat out)"
    sleep 0.1
done
prints "\"process\":$writer,"
python3 - out <<'P' || fail "not the JSON it should be: $(cat out)"
import json, sys
s = json.loads(open(sys.argv[1]).read())
assert s["table"].endswith("t"), s["table"]
assert len(s["write_micros"]["buckets"]) == 40
assert all(isinstance(v, int) for k, v in s.items() if k not in ("table",) and not isinstance(v, dict)), s
P
exits 4 realtime status ./other
exits 0 realtime status ./t
prints ", process $writer"
prints "total_memory_bytes"
exits 0 realtime status --openmetrics
grep -q "^paimonlive_write_rows_total{table=\".*t\",process=\"$writer\"} [0-9]*\$" out || fail "no counter of rows: $(cat out)"
python3 - out <<'P' || fail "no exposition"
import re, sys
text = open(sys.argv[1]).read()
assert text.endswith("# EOF\n")
families, seen = {}, set()
for line in text.splitlines()[:-1]:
    if line.startswith("# TYPE "):
        _, _, name, kind = line.split(" ")
        assert name not in families, name
        families[name], current, buckets = kind, name, []
    elif line.startswith("# "):
        assert line.split(" ")[2] == current, line
    else:
        m = re.fullmatch(r'(\w+)(\{.*\}) (\d+(\.\d+)?)', line)
        assert m and m.group(1).startswith(current), line
        assert line.split(" ")[0] not in seen, line
        seen.add(line.split(" ")[0])
        suffix = m.group(1)[len(current):]
        assert suffix in {"gauge": [""], "counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}[families[current]], line
        if suffix == "_bucket":
            buckets.append(int(m.group(3)))
            assert buckets == sorted(buckets), line
        if suffix == "_count":
            assert buckets[-1] == int(m.group(3)) and len(buckets) == 40, line
P

# Watching goes on until it is told to stop.
"$PML" realtime status ./t --json --watch >seen 2>/dev/null &
watcher=$!
n=0
until [ "$(wc -l <seen)" -ge 2 ]; do
    n=$((n + 1))
    [ $n -lt 300 ] || fail "the watcher wrote $(cat seen)"
    sleep 0.1
done
kill -INT $watcher
code=0
wait $watcher || code=$?
[ $code -eq 0 ] || fail "the watcher ended with $code"

# Who ends is gone; so is who is killed, and what no process wrote is not shown.
exec 9>&-
wait $writer || fail "ingest: $(cat ingest_err)"
exits 4 realtime status ./t
"$PML" ingest ./t - --format json --live <rows 2>ingest_err &
writer=$!
exec 9>rows
wait_for '"write_rows":0'
kill -KILL $writer
wait $writer || true
exec 9>&-
exits 4 realtime status ./t
[ -z "$(ls run)" ] || fail "left behind: $(ls run)"
echo '{"table":1}' >"run/0123456789abcdef-$$.json"
echo '{"table":"x","process":1' >"run/1123456789abcdef-$$.json"
exits 4 realtime status

# A folder that others may write is not trusted, and that does not stop the work.
chmod 777 run
printf '{"id":9}\n' >one.json
exits 0 ingest ./t one.json --live
says "no status for"
exits 4 realtime status
