# SPDX-License-Identifier: Apache-2.0
"""The C code of a page, for a program that runs it: each block that begins with ```c NAME becomes NAME.inc. The program must include
every one of them, and nothing of a page that is not there.

snippets.py PAGE.md PROGRAM.c OUTPUT_FOLDER
"""
import os
import re
import sys

page, program, out = sys.argv[1:]
with open(page) as f:
    lines = f.read().split("\n")
blocks, name = {}, None
for number, line in enumerate(lines, 1):
    opening = re.fullmatch(r"```c\b ?(\w*)", line)
    if opening:
        name = opening.group(1)
        if not name or name in blocks:
            sys.exit(f"{page}:{number}: this block of C needs a name of its own: ```c NAME")
        blocks[name] = [f'#line {number + 1} "{page}"']
    elif line.startswith("```"):
        name = None
    elif name:
        blocks[name].append(line)
with open(program) as f:
    included = re.findall(r'^\s*#include "(\w+)\.inc"', f.read(), flags=re.M)
if set(included) != set(blocks):
    sys.exit(f"{program}: includes {sorted(set(included))}, but {page} has {sorted(blocks)}: each block must be run")
os.makedirs(out, exist_ok=True)
for name, text in blocks.items():
    with open(os.path.join(out, name + ".inc"), "w") as f:
        f.write("\n".join(text) + "\n")
