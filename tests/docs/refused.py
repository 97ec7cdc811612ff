# SPDX-License-Identifier: Apache-2.0
"""Every feature that the sources refuse by name is in the table of docs/realtime.md, and nothing is there that is not refused.

refused.py SOURCE_ROOT
"""
import fnmatch
import glob
import os
import re
import sys

root = sys.argv[1]
TEXT = r'"(?:[^"\\]|\\.)*"'


def in_sources():
    """{feature: file}; a part that depends on the table is '*'."""
    found = {}
    for path in glob.glob(os.path.join(root, "src", "**", "*.c"), recursive=True):
        with open(path) as f:
            text = f.read()
        name = os.path.relpath(path, root)
        if name == os.path.join("src", "meta", "options_table.c"):
            rows = re.findall(rf"^    (?:FIXED_)?REFUSED(?:_WRITE)?\({TEXT},\s*\w+,\s*(?:NULL|{TEXT}),\s*{TEXT},\s*\"([^\"]*)\"", text, flags=re.M)
            assert len(rows) == len(re.findall(r"^    (?:FIXED_)?REFUSED", text, flags=re.M)), "a row of the option table reads otherwise"
            features = rows + re.findall(rf'PML_OPTION_REFUSED(?:_WRITE)?, {TEXT}, "([^"]*)"', text)
        else:
            features = re.findall(r'"needs (distinct partition texts|[a-z][\w.=-]*(?::[\w%]+)?)', text)
            features += re.findall(r'merge-engine:', text) and ["merge-engine:%s"]
        for feature in features:
            found[re.sub(r"%\w*", "*", feature)] = name
    return found


def in_manual():
    with open(os.path.join(root, "docs", "realtime.md")) as f:
        section = f.read().split("## What is refused\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


sources, manual = in_sources(), in_manual()
messages = [f"{file}: refuses '{feature}', which docs/realtime.md does not name" for feature, file in sorted(sources.items())
            if not any(fnmatch.fnmatch(feature, word) for word in manual) and
            # one name of a family stands for it: format:orc for format:*
            not any(fnmatch.fnmatch(word, feature) for word in manual)]
messages += [f"docs/realtime.md: names '{word}', which nothing refuses" for word in manual
             if not any(fnmatch.fnmatch(feature, word) or fnmatch.fnmatch(word, feature) for feature in sources)]
print("".join(m + "\n" for m in messages), end="")
print(f"refused: {len(sources)} features in the sources, {len(manual)} words in the manual, {len(messages)} findings")
sys.exit(1 if messages or len(sources) < 20 else 0)
