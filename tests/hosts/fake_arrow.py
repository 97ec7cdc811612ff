# SPDX-License-Identifier: Apache-2.0
"""Writes the assembler of a library that claims to be another Arrow: it has the functions and data of the given ones under the
same names, and whoever calls a function of it dies.

fake_arrow.py OUTPUT.s LIBRARY...
"""
import re
import subprocess
import sys

# Functions and data of the namespaces arrow and parquet; not what else the libraries carry, which any host may share.
OURS = re.compile(r"_Z\w*?(5arrow|7parquet)\w*")

HEAD = """    .section .rodata
message:
    .string "fake_arrow: somebody called the other Arrow\\n"
    .text
trap:
    mov $2, %edi
    lea message(%rip), %rsi
    mov $44, %edx
    and $-16, %rsp
    call write@PLT
    call abort@PLT
    .bss
    .balign 16
nothing:
    .zero 4096
"""


def main(out, *libraries):
    kinds = {}
    for library in libraries:
        lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True, stdout=subprocess.PIPE).stdout
        for _, kind, name in (line.split() for line in lines.splitlines()):
            name = name.split("@")[0]
            if OURS.fullmatch(name):
                kinds[name] = "trap" if kind in "TWi" and not name.startswith("_ZT") else "nothing"
    if len(kinds) < 1000:
        sys.exit(f"fake_arrow: only {len(kinds)} names of Arrow in {libraries}")
    with open(out, "w") as f:
        f.write(HEAD)
        for name, place in sorted(kinds.items()):
            f.write(f"    .globl {name}\n    .type {name}, {'@function' if place == 'trap' else '@object'}\n"
                    f"    .size {name}, 8\n    .set {name}, {place}\n")
        f.write('    .section .note.GNU-stack,"",@progbits\n')


main(*sys.argv[1:])
