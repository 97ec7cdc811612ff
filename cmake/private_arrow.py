# SPDX-License-Identifier: Apache-2.0
"""Copies the libraries of an Arrow that is ours alone, so that a process may have another one loaded beside it.

private_arrow.py OUTPUT_FOLDER LIBRARY.so.NNNN...

The loader takes a library that it has under the wanted name, wherever it came from: so `libarrow.so.2600` becomes
`libarrow-live.so`, in its own name and where the others need it. And of symbols bound STB_GNU_UNIQUE it keeps one in a process,
whatever the scopes say: they become weak. Both are edits in place, of the same length; nothing else of a file changes. A copy
that is newer than its original stays. Prints the paths of the copies, separated as CMake separates them.
"""
import os
import re
import struct
import sys

PT_DYNAMIC, PT_LOAD = 2, 1
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_SONAME, DT_GNU_HASH = 1, 5, 6, 14, 0x6FFFFEF5
STB_WEAK, STB_GNU_UNIQUE = 2, 10


class Elf:
    """The dynamic part of a 64-bit little-endian shared object."""

    def __init__(self, data):
        self.data = data
        if data[:6] != b"\x7fELF\x02\x01":
            sys.exit("private_arrow: not a 64-bit little-endian ELF file")
        offset, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]
        self.loads = [h for h in headers if h[0] == PT_LOAD]
        self.dynamic = []
        for header in headers:
            if header[0] == PT_DYNAMIC:
                self.dynamic = [struct.unpack_from("<qQ", data, header[2] + i) for i in range(0, header[5], 16)]
        self.strings = self.at(self.value(DT_STRTAB))

    def value(self, tag):
        return next(v for t, v in self.dynamic if t == tag)

    def at(self, address):
        """The place in the file of an address."""
        for _, _, offset, start, _, size, _, _ in self.loads:
            if start <= address < start + size:
                return address - start + offset
        sys.exit(f"private_arrow: no part of the file has the address {address:#x}")

    def rename(self, names):
        """Own and needed names that are keys of `names`; returns how many there were."""
        done = 0
        for tag, value in self.dynamic:
            if tag not in (DT_NEEDED, DT_SONAME):
                continue
            start = self.strings + value
            old = bytes(self.data[start:self.data.index(b"\0", start)]).decode()
            if old in names:
                assert len(names[old]) == len(old)
                self.data[start:start + len(old)] = names[old].encode()
                done += 1
        return done

    def symbol_count(self):
        """The last symbol of the last bucket of the hash table ends the symbols."""
        table = self.at(self.value(DT_GNU_HASH))
        buckets, first, bloom, _ = struct.unpack_from("<IIII", self.data, table)
        heads = table + 16 + 8 * bloom
        chains = heads + 4 * buckets
        index = max(struct.unpack_from(f"<{buckets}I", self.data, heads))
        while index >= first and not struct.unpack_from("<I", self.data, chains + 4 * (index - first))[0] & 1:
            index += 1
        return index + 1

    def make_weak(self):
        symbols = self.at(self.value(DT_SYMTAB))
        for place in range(symbols + 4, symbols + 24 * self.symbol_count(), 24):
            info = self.data[place]
            if info >> 4 == STB_GNU_UNIQUE:
                self.data[place] = STB_WEAK << 4 | info & 15


def main(out, *paths):
    names = {os.path.basename(path): re.sub(r"\.so\.\d{4}$", "-live.so", os.path.basename(path)) for path in paths}
    os.makedirs(out, exist_ok=True)
    targets = []
    for path in paths:
        file = os.path.basename(path)
        if names[file] == file:
            sys.exit(f"private_arrow: {file} does not end in a version of four digits")
        target = os.path.join(out, names[file])
        targets.append(target)
        if os.path.exists(target) and os.path.getmtime(target) > max(os.path.getmtime(path), os.path.getmtime(__file__)):
            continue
        with open(path, "rb") as f:
            elf = Elf(bytearray(f.read()))
        if elf.rename(names) == 0:
            sys.exit(f"private_arrow: {path} does not name itself {file}")
        elf.make_weak()
        with open(target + ".new", "wb") as f:
            f.write(elf.data)
        os.chmod(target + ".new", 0o755)
        os.replace(target + ".new", target) # programs may have the old one mapped
    print(";".join(targets), end="")


main(*sys.argv[1:])
