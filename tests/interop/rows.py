# SPDX-License-Identifier: Apache-2.0
"""Random rows in canonical form (one JSON object a line, keys in schema order), by type and seed; random predicates on them."""
import datetime
import json
import re
import struct

WORDS = ["", "a", "alpha", "Beta", "gamma delta", "\u00e9psilon", "\u96f6\u4e00", "\U0001f642ok", "tab\there", 'quote"q', "back\\slash",
         "line\nbreak", "a rather long text that statistics cut off", "\uffff\uffffzz", "zz\U0010ffff", "=/%:{}", " "]
EPOCH = datetime.datetime(1970, 1, 1)


def quote(text):
    """Only the quote, the backslash and what lies below 0x20 are escaped."""
    return '"' + "".join("\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if c < " " else c for c in text) + '"'


def real(value, digits):
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return "%.*g" % (digits, value)


class Type:
    """A type from its text, as schemas have it: INT, DECIMAL(9,3), ARRAY<T>, MAP<K,V>, MULTISET<T>, ROW<x T, ...>."""

    def __init__(self, text):
        self.text = text.strip()
        self.nullable = not self.text.endswith("NOT NULL")
        body = self.text if self.nullable else self.text[:-len("NOT NULL")].strip()
        m = re.match(r"(\w+)<(.*)>$", body, re.S)
        self.numbers, self.children, self.names = [], [], []
        if m:
            self.root = m.group(1)
            parts = split_top(m.group(2))
            if self.root == "ROW":
                self.names, parts = zip(*[p.split(" ", 1) for p in parts])
            if self.root == "VECTOR":
                self.numbers = [int(parts.pop())]
            self.children = [Type(p) for p in parts]
            return
        m = re.match(r"([A-Z_]+)(?:\(([\d, ]+)\))?(.*)$", body)
        self.root = m.group(1) + ("_LTZ" if "LOCAL" in m.group(3) else "")
        self.numbers = [int(x) for x in m.group(2).split(",")] if m.group(2) else []

    def number(self, i, default):
        return self.numbers[i] if i < len(self.numbers) else default

    @property
    def nested(self):
        return bool(self.children)


def split_top(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def value(t, rnd, null_percent):
    """Canonical text of a random value, edge values included."""
    if t.nullable and rnd.randrange(100) < null_percent:
        return "null"
    edge = rnd.randrange(12) == 0
    if t.root == "BOOLEAN":
        return rnd.choice(("true", "false"))
    if t.root in ("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"):
        bits = {"TINYINT": 7, "SMALLINT": 15, "BIGINT": 63}.get(t.root, 31)
        return str(rnd.choice((-(1 << bits), (1 << bits) - 1, 0)) if edge else rnd.randrange(-(1 << bits), 1 << bits) >> rnd.randrange(bits))
    if t.root == "FLOAT":
        if edge:
            return rnd.choice(('"NaN"', '"Infinity"', '"-Infinity"', "-0", "0", "3.40282347e+38", "1.40129846e-45"))
        return real(struct.unpack("f", struct.pack("f", rnd.uniform(-1000000, 1000000)))[0], 9)
    if t.root == "DOUBLE":
        if edge:
            return rnd.choice(('"NaN"', '"Infinity"', '"-Infinity"', "-0", "0", "1.7976931348623157e+308", "4.9406564584124654e-324"))
        return real(rnd.uniform(-1e9, 1e9) * 10.0 ** rnd.randrange(-20, 20), 17)
    if t.root == "DECIMAL":
        precision, scale = t.number(0, 10), t.number(1, 0)
        limit = 10 ** (precision if edge else rnd.randrange(1, precision + 1))
        digits = limit - 1 if edge else rnd.randrange(limit)
        return '"' + decimal_text(-digits if rnd.randrange(2) else digits, scale) + '"'
    if t.root == "CHAR":
        n = t.number(0, 1)
        return quote((rnd.choice(WORDS[1:10]).replace("\t", "_") + "x" * n)[:n])
    if t.root in ("VARCHAR", "STRING"):
        text = rnd.choice(WORDS) + ("" if rnd.randrange(3) == 0 else f"-{rnd.randrange(1000)}")
        return quote(text[:t.number(0, 1 << 30)])
    if t.root in ("BINARY", "VARBINARY", "BYTES", "BLOB"):
        n = t.number(0, 24) if t.root == "BINARY" else rnd.randrange(t.number(0, 24) + 1)
        return '"' + bytes(rnd.choice((0, 255)) if edge else rnd.randrange(256) for _ in range(n)).hex() + '"'
    if t.root == "DATE":
        day = rnd.choice((-719162, 2932896, 0)) if edge else rnd.randrange(-10000, 30000)
        return '"' + (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat() + '"'
    if t.root == "TIME":
        # Paimon keeps milliseconds of any TIME; a precision of 0 is written with whole seconds here.
        ms = rnd.choice((0, 86399000)) if edge else rnd.randrange(86400) * 1000 + (rnd.randrange(1000) if t.number(0, 0) >= 3 else 0)
        return f'"{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"'
    if t.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        precision = t.number(0, 6)
        at = EPOCH + datetime.timedelta(seconds=rnd.choice((0, -1, 4102444800)) if edge else rnd.randrange(-1000000000, 4000000000))
        text = at.isoformat(timespec="seconds")
        if precision > 0:
            text += "." + f"{rnd.choice((0, 999999999, 1)) if edge else rnd.randrange(10 ** 9):09d}"[:precision]
        return '"' + text + ("Z" if t.root.endswith("_LTZ") else "") + '"'
    if t.root == "ARRAY":
        return "[" + ",".join(value(t.children[0], rnd, null_percent) for _ in range(rnd.randrange(5))) + "]"
    if t.root in ("MAP", "MULTISET"):
        keys = {value(t.children[0], rnd, 0) for _ in range(rnd.randrange(5))}
        pairs = [f"[{k},{value(t.children[1], rnd, null_percent) if t.root == 'MAP' else rnd.randrange(1, 9)}]" for k in sorted(keys)]
        return "[" + ",".join(sorted(pairs, key=str.encode)) + "]"
    if t.root == "ROW":
        return "{" + ",".join(f"{quote(n)}:{value(c, rnd, null_percent)}" for n, c in zip(t.names, t.children)) + "}"
    if t.root == "VECTOR":
        return "[" + ",".join(value(Type(t.children[0].text + " NOT NULL"), rnd, 0) for _ in range(t.number(0, 1))) + "]"
    if t.root == "VARIANT":
        return quote(variant_json(rnd, 0))
    raise ValueError(f"no values of type {t.text}")


def variant_json(rnd, depth):
    """JSON text, often with the same members and types, so that Java shreds it; decimals such as Java 1.4.2 can infer a type of: it takes zeros
    off the end, and then fails where there are more digits behind the point than digits, or fewer than none."""
    kind = rnd.randrange(14 if depth < 4 else 9)
    if depth == 0 and rnd.randrange(3):
        kind = 9
    if kind < 9:
        return rnd.choice((str(rnd.randrange(-(1 << 63), 1 << 63) >> rnd.randrange(64)), "true", "false", "null", "1.50", "-3.001", "1e3", "2.5E-7",
                           "12345678901234567891", f"{1 + 10 * rnd.randrange(10 ** 5)}.{rnd.randrange(100):02d}",
                           json.dumps(rnd.choice(WORDS), ensure_ascii=False), json.dumps("x" * rnd.randrange(100))))
    if kind < 12:
        keys = [k for k in ("a", "b", "c", "\u96f6", "\uffff", "\U0001f642", "q\"") if rnd.randrange(3)]
        pairs = {}
        for i, key in enumerate(keys):
            if i < 3 and depth < 2 and rnd.randrange(4):
                pairs[key] = ("7", '"text"', variant_json(rnd, depth + 1))[i]
            else:
                pairs[key] = variant_json(rnd, depth + 1)
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + v for k, v in pairs.items()) + "}"
    return "[" + ",".join(variant_json(rnd, depth + 1) for _ in range(rnd.randrange(5))) + "]"


def decimal_text(unscaled, scale):
    digits = f"{abs(unscaled):0{scale + 1}d}"
    text = digits[:-scale] + "." + digits[-scale:] if scale else digits
    return "-" + text if unscaled < 0 else text


class Columns:
    """Generator of rows of one schema. `fixed` gives the values of some columns instead: name -> function(rnd) -> text."""

    def __init__(self, schema, fixed=None, null_percent=20):
        self.names = [f["name"] for f in schema["fields"]]
        self.types = [Type(f["type"]) for f in schema["fields"]]
        self.fixed = fixed or {}
        self.null_percent = null_percent

    def row(self, rnd, first=None):
        cells = []
        for i, (name, t) in enumerate(zip(self.names, self.types)):
            if i == 0 and first is not None:
                text = str(first)
            elif name in self.fixed:
                text = self.fixed[name](rnd)
            else:
                text = value(t, rnd, self.null_percent)
            cells.append(f"{quote(name)}:{text}")
        return '{"_kind":"+I",' + ",".join(cells) + "}"

    def rows(self, rnd, n, first=0):
        """n rows whose first column counts up from `first`."""
        return [self.row(rnd, first + i) for i in range(n)]

    def project(self, lines, names):
        """The lines with these columns only, in this order."""
        return ['{"_kind":"+I",' + ",".join(f"{quote(n)}:{cells_of(line)[n]}" for n in names) + "}" for line in lines]

    def predicate(self, rnd, lines, depth=2, leave_out=()):
        """A random predicate with literals from the rows, as the JSON that both dumps take."""
        if depth > 0 and rnd.randrange(2) == 0:
            return {rnd.choice(("and", "or")): [self.predicate(rnd, lines, depth - 1, leave_out) for _ in range(2)]}
        flat = [n for n, t in zip(self.names, self.types) if not t.nested and n not in leave_out]
        name = rnd.choice(flat)
        t = self.types[self.names.index(name)]
        literals = [json.loads(c) for c in (cells_of(rnd.choice(lines))[name] for _ in range(3)) if c != "null"]
        literals = [x for x in literals if x not in ("NaN", "Infinity", "-Infinity") or t.root not in ("FLOAT", "DOUBLE")]
        if not literals or rnd.randrange(6) == 0:
            return {rnd.choice(("isnull", "notnull")): [name]}
        if rnd.randrange(5) == 0:
            return {"in": [name, literals]}
        if t.root in ("VARCHAR", "STRING") and rnd.randrange(3) == 0:
            return {"prefix": [name, literals[0][:rnd.randrange(1, 4)] or "a"]}
        if t.root == "BOOLEAN" or t.root in ("BINARY", "VARBINARY", "BYTES"):
            return {rnd.choice(("eq", "ne")): [name, literals[0]]}
        return {rnd.choice(("eq", "ne", "lt", "le", "gt", "ge")): [name, literals[0]]}


def cells_of(line):
    """Column name -> canonical text of its value. Splits the text: parsing and printing again would change numbers."""
    cells, i = {}, 1
    while line[i] != "}":
        end = string_end(line, i)
        name = json.loads(line[i:end])
        start = i = end + 1
        depth = 0
        while depth > 0 or line[i] not in ",}":
            if line[i] == '"':
                i = string_end(line, i)
                continue
            depth += (line[i] in "[{") - (line[i] in "]}")
            i += 1
        cells[name] = line[start:i]
        i += line[i] == ","
    return cells


def split_values(text):
    """The texts of the elements of an array."""
    parts, depth, start, i = [], 0, 1, 1
    while i < len(text) - 1:
        if text[i] == '"':
            i = string_end(text, i)
            continue
        depth += (text[i] in "[{") - (text[i] in "]}")
        if text[i] == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    return parts + ([text[start:-1]] if len(text) > 2 else [])


def string_end(line, i):
    i += 1
    while line[i] != '"':
        i += 2 if line[i] == "\\" else 1
    return i + 1


def in_order(lines):
    """Sorted by bytes, as both dumps print."""
    return sorted(lines, key=str.encode)


def as_bytes(lines):
    return "".join(line + "\n" for line in lines).encode()
