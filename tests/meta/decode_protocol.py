#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the golden bytes of tests/meta/data/protocol with nothing but docs/protocol.md: proof that the page is enough.

decode_protocol.py FOLDER [--write]    compares what it reads with FOLDER/decoded.txt (or writes that file)
"""
import json
import os
import struct
import sys

MAGIC = -2394839472490812314
FIELDS_OF_SPLIT = {2: 16, 3: 17, 4: 17, 5: 18, 6: 18, 7: 20, 8: 20}
FIELDS_OF_MESSAGE = {3: 16, 4: 17, 5: 17, 6: 18, 7: 18, 8: 20, 9: 20, 10: 20, 11: 20}
NAMES = ("file size rows min_key max_key key_stats value_stats min_sequence max_sequence schema level extra created deleted index "
         "source stats_cols external first_row_id write_cols").split()
KINDS = "sqqbbRRqqqiSqqbtSsqS"  # string, bytes, long, int, tinyint, Row of statistics, list of Strings; creation time is a long


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        assert 0 <= n <= len(self.data) - self.at, "beyond the end"
        self.at += n
        return self.data[self.at - n:self.at]

    def num(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def utf(self):
        raw = self.take(self.num("H")).replace(b"\xc0\x80", b"\0")
        return raw.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass").decode("utf-16-le")

    def block(self):
        return self.take(self.num("i"))

    def text(self):
        return self.block().decode()

    def end(self):
        assert self.at == len(self.data), "bytes behind the end"


def item(data, slot, kind):
    """One value of a binary row or array; slot is where its eight bytes are."""
    long = struct.unpack_from("<q", data, slot)[0]
    if kind == "q":
        return long
    if kind == "i":
        return struct.unpack_from("<i", data, slot)[0]
    if kind == "t":
        return struct.unpack_from("<b", data, slot)[0]
    if kind in "sb" and data[slot + 7] & 0x80:
        raw = data[slot:slot + (data[slot + 7] & 0x7f)]
    else:
        start, size = long >> 32, long & 0xffffffff
        raw = data[start:start + size]
        assert len(raw) == size
    if kind == "s":
        return raw.decode()
    if kind == "R":
        return row(raw, "bbL")
    if kind in "SL":
        return array(raw, "s" if kind == "S" else "q")
    return raw.hex()


def array(data, kind):
    n = struct.unpack_from("<i", data)[0]
    first = 4 + (n + 31) // 32 * 4
    return [None if data[4 + i // 8] >> i % 8 & 1 else item(data, first + 8 * i, kind) for i in range(n)]


def row(data, kinds):
    first = (len(kinds) + 71) // 64 * 8
    return [None if data[(8 + i) // 8] >> i % 8 & 1 else item(data, first + 8 * i, k) for i, k in enumerate(kinds)]


def files(b, fields):
    return [dict(zip(NAMES, row(b.block(), KINDS[:fields]))) for _ in range(b.num("i"))]


def index_files(b, version):
    """Those of dynamic buckets; 0: none."""
    kinds = "ssqqLsR"[:7 if version >= 11 else 6 if version >= 9 else 5]
    return [row(b.block(), kinds)[:4] for _ in range(b.num("i"))] or 0


def deletions(b, version):
    if not b.num("?"):
        return None
    one = lambda: (b.utf(), b.num("q"), b.num("q"), b.num("q") if version >= 4 else None) if b.num("?") else None
    return [one() for _ in range(b.num("i"))]


def split(data):
    b = Bytes(data)
    assert b.num("q") == MAGIC
    version = b.num("i")
    out = {"version": version, "snapshot": b.num("q"), "partition": b.block().hex(), "bucket": b.num("i"), "path": b.utf()}
    out["buckets"] = b.num("i") if version >= 6 and b.num("?") else None
    out["before"] = [files(b, FIELDS_OF_SPLIT[version]), deletions(b, version)]
    out["files"] = files(b, FIELDS_OF_SPLIT[version])
    out.update(deletions=deletions(b, version), stream=b.num("?"), raw=b.num("?"))
    b.end()
    return out


def message(data, version):
    b = Bytes(data)
    out = {"version": version, "partition": b.block().hex(), "bucket": b.num("i")}
    out["buckets"] = b.num("i") if version >= 7 and b.num("?") else None
    f = lambda: files(b, FIELDS_OF_MESSAGE[version])
    indexes = lambda: [index_files(b, version) for _ in range(2)]
    out["files"], out["other"] = f(), [f(), f()] + (indexes() if version >= 10 else []) + [f(), f(), f()] + indexes()
    b.end()
    return out


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def live_split(data):
    b = Bytes(data[:-4])
    assert struct.unpack(">I", data[-4:])[0] == crc32c(data[:-4]), "checksum"
    assert b.take(4) == b"PRTS" and b.num("H") == 1
    out = {"flags": b.num("H"), "context": b.take(16).hex(), "snapshot": b.num("q"), "schema": b.num("q")}
    out["partition"] = {b.text(): b.text() for _ in range(b.num("I"))}
    for name, form in (("bucket", "i"), ("buckets", "i"), ("mode", "B"), ("committed", "q"), ("floor", "q"), ("end", "q"), ("rows", "q")):
        out[name] = b.num(form)
    out.update(lineage=b.take(16).hex(), ticket=b.text()[:12], part=b.num("I"), parts=b.num("I"), first=b.block().hex(),
               last=b.block().hex(), store=b.text(), descriptor=b.block().hex())
    out["disk"] = [b.block().hex() for _ in range(b.num("I"))]
    b.end()
    return out


def progress(text):
    p = json.loads(text)
    assert p["version"] == 1
    return {json.dumps([e["partition"], e["bucket"]]): "lost" if e.get("lost") else e["offset"] for e in p["offsets"]}


def main(folder, write=False):
    lines = []
    for line in open(os.path.join(folder, "java.txt"), encoding="ascii"):
        if line[0] != "#":
            java, table, kind, data = line.split()
            data = bytes.fromhex(data)
            lines.append((java, table, kind, split(data) if kind == "split" else message(data, int(kind.split("-")[1]))))
    lines.append(("live", live_split(bytes.fromhex(open(os.path.join(folder, "live_split.hex"), encoding="ascii").read()))))
    lines.append(("progress", progress(open(os.path.join(folder, "progress.offsets"), encoding="utf-8").read())))
    made = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines)
    name = os.path.join(folder, "decoded.txt")
    if write:
        open(name, "w", encoding="ascii").write(made)
    for want, got in zip(open(name, encoding="ascii").read().splitlines() + [None] * len(lines), made.splitlines()):
        if want != got:
            sys.exit("expected %s\ngot      %s" % (want, got))
    print("%d golden forms read" % len(lines))


main(sys.argv[1], "--write" in sys.argv[2:])
