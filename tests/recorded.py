"""Whole outputs held against their record: what a test does not name may not change unseen either.

The records, tests/recorded/NAME.json, were read by a person when they were made. Where a change is meant,
`RECORD=1 pytest FILE` writes them anew: read the difference before it is committed. Of sentences the numbers alone
count, never the wording; of a run what differs from machine to machine is left out.
"""

import csv
import dataclasses
import enum
import json
import math
import os
import re
from collections.abc import Mapping
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

FOLDER = Path(__file__).with_name("recorded")
NUMBER = re.compile(r"(?<![\w.])[-−+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?%?(?!\w)")
DIGEST = re.compile(r"[0-9a-f]{32,}")
MOST = 60
"""Of a longer list of rows so many are recorded, in equal steps, and its length."""
PASSING = {"made", "seconds", "time", "started", "ended", "python", "packages", "platform", "processor", "machine"}
"""Keys of JSON whose values another run, or another machine, has otherwise."""


class _Page(HTMLParser):
    """The data of a page, its cells, and the numbers of what else is read."""

    def __init__(self, text):
        super().__init__()
        self.data, self.cells, self.numbers, self._in = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = {name: value for name, value in attributes if name.startswith("data-") or name in {"class", "title"}}
        if tag in {"td", "th"}:
            self.cells.append("")
        if tag in {"script", "style", "td", "th"}:
            self._in = "json" if "json" in (dict(attributes).get("type") or "") else tag
        self.numbers += [f"{name}={plain(value)}" for name, value in told.items() if NUMBER.search(value or "")]

    def handle_endtag(self, tag):
        if tag in {"script", "style", "td", "th"}:
            self._in = ""

    def handle_data(self, text):
        if self._in == "json":
            self.data.append(plain(json.loads(text)))
        elif self._in in {"td", "th"}:
            self.cells[-1] += " ".join(text.split())
        elif not self._in:
            self.numbers += NUMBER.findall(text)


def said(text):
    """What is printed: a row of a table by its cells, a sentence by its numbers, none that has neither."""
    rows = [re.split(r"\s{2,}|\s*[│|]\s*", line.strip()) for line in text.splitlines()]
    read = [[plain(cell) for cell in row] if len(row) > 2 else NUMBER.findall(" ".join(row)) for row in rows]
    return [row for row in read if row]


def plain(value, whole=False):
    """A value as JSON has it; of a text of more than four words its numbers, unless texts are held whole."""
    match value:
        case enum.Enum():
            return value.name
        case str():
            if DIGEST.fullmatch(value):
                return "digest"
            return value if whole or value.count(" ") < 4 else " ".join(NUMBER.findall(value))
        case bool() | None | int():
            return value
        case float():
            return float(f"{value:.8g}") if math.isfinite(value) else f"{value}"
        case _ if dataclasses.is_dataclass(value):
            return {field.name: plain(getattr(value, field.name), whole) for field in dataclasses.fields(value)}
        case Mapping():
            return {str(plain(key, whole)): plain(own, whole) for key, own in value.items() if key not in PASSING}
        case set() | frozenset():
            return sorted((plain(own, whole) for own in value), key=repr)
        case _ if hasattr(value, "tolist"):
            return plain(value.tolist(), whole)
        case _ if hasattr(value, "__iter__"):
            return [plain(own, whole) for own in value]
    return type(value).__name__


def thinned(rows):
    """At most 60 rows of a list, and how many there are."""
    return rows if len(rows) <= MOST else [len(rows), *rows[:: -(-len(rows) // MOST)]]


def files(folder):
    """What a folder's files hold, by their names: JSON, JSON lines, tables, pages and texts."""
    found = {}
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".sqlite"):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".json":
            found[name] = plain(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".jsonl":
            found[name] = thinned([plain(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()])
        elif path.suffix == ".csv":
            found[name] = thinned(list(csv.reader(path.read_text(encoding="utf-8").splitlines())))
        elif path.suffix == ".html":
            page = _Page(path.read_text(encoding="utf-8"))
            found[name] = {"data": page.data, "cells": page.cells, "numbers": page.numbers}
        elif path.suffix in {".md", ".txt", ".tex"}:
            found[name] = said(path.read_text(encoding="utf-8"))
    return found


def differences(recorded, now, place=""):
    """The places at which two values differ, numbers by more than a millionth."""
    numbers = (int, float)
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in recorded | now:
            yield from differences(recorded.get(key, "missing"), now.get(key, "missing"), f"{place}/{key}")
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for number, pair in enumerate(zip(recorded, now, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif isinstance(recorded, numbers) and isinstance(now, numbers) and bool not in {type(recorded), type(now)}:
        if not math.isclose(recorded, now, rel_tol=1e-6, abs_tol=1e-9):
            yield f"{place}: {recorded!r}, now {now!r}"
    elif recorded != now or type(recorded) is not type(now):
        yield f"{place}: {recorded!r}, now {now!r}"


def held(name, value, whole=False):
    """Hold a value against its record. whole: texts that are no prose, such as claims, count word by word."""
    path, now = FOLDER / f"{name}.json", json.loads(json.dumps(plain(value, whole)))
    if os.environ.get("RECORD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        pairs = (map(partial(json.dumps, ensure_ascii=False), pair) for pair in now.items())
        lines = [f" {key}: {own}" for key, own in pairs]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    found = list(differences(json.loads(path.read_text(encoding="utf-8")), now))
    assert not found, f"{path.name}: {len(found)} places differ\n" + "\n".join(found[:10])
