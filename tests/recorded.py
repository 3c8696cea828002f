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
NAMED = re.compile(rf"""(?<!\w)(?:"[^"]*"|'[^']*')(?!\w)|--\w[\w-]*|{NUMBER.pattern}""")
DIGEST = re.compile(r"[0-9a-f]{32,}")
VERSION = re.compile(r"\|(?:metaeval|numpy|scipy|python|torch|transformers):[^|\n]*")  # in a signature
VERSIONS = {"parser", "splitter", "facts", "tokenizer", "options"}
"""Settings of a table that name a version."""
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
    rows = [re.split(r"\s{2,}|\s*[│|]\s*", line.strip()) for line in VERSION.sub("", text).splitlines()]
    read = [[plain(cell) for cell in row] if len(row) > 2 else NUMBER.findall(" ".join(row)) for row in rows]
    return [row for row in read if row]


def named(sentence):
    """What a sentence names: its numbers, its options, and what stands in quotes."""
    return [plain(part) for part in NAMED.findall(sentence)]


def told(use, *given, **options):
    """What a call returns; if it is refused, the error's kind and, of an error of ours, what its sentence names."""
    try:
        return use(*given, **options)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the call does
        ours = type(error).__module__.startswith("metaeval")
        return {type(error).__name__: named(str(error)) if ours else []}


def plain(value, whole=False):
    """A value as JSON has it; of a text of more than four words its numbers, unless texts are held whole."""
    match value:
        case enum.Enum():
            return value.name
        case str():
            if DIGEST.fullmatch(value):
                return "digest"
            value = VERSION.sub("", value)
            return value if whole or value.count(" ") < 4 else " ".join(NUMBER.findall(value))
        case bool() | None | int():
            return value
        case float():
            return float(f"{value:.8g}") if math.isfinite(value) else f"{value}"
        case _ if hasattr(value, "savefig"):
            return plain(drawn(value))
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


def page(text):
    """What an HTML page holds: its data, its cells, and the numbers of what else is read."""
    found = _Page(text)
    return {"data": found.data, "cells": found.cells, "numbers": found.numbers}


def table(text):
    """A table as text, as it is laid out between its rules, or as Markdown or LaTeX, cell by cell; else numbers."""
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if "──" in line]
    if rules:
        laid_out = [re.sub("─+", lambda rule: f"{len(rule[0])}─", line) for line in lines[rules[0] : rules[-1] + 1]]
        below = NUMBER.findall("\n".join(lines[rules[-1] + 1 :]))
        return [*map(plain, lines[: rules[0]]), *(line.replace(" ", "·") for line in laid_out), " ".join(below)]
    cells = ([plain(cell.strip()) for cell in re.split(r" & |(?<!\\) ?\| ?", line) if cell] for line in lines)
    return [row[0] if len(row) == 1 else row for row in cells if any(row)]


def sheet(table):
    """What a table holds: its headings and lines, the numbers of its notes, its settings and rows; no version."""
    lines = [[block.title, line.name, *map(_cell, line.cells)] for block in table.blocks for line in block.lines]
    notes = [[note.label, *map(plain, (note.text, *note.items))] for note in (*table.footnotes, *table.footer)]
    settings = {name: value for name, value in table.settings.items() if name not in VERSIONS}
    groups = [[group.title, group.columns] for group in table.groups]
    notes = [note for note in notes if note[0] != "settings"]
    return [table.stub, table.headings, groups, lines, notes, settings, *columns(table.records)]


def columns(rows):
    """The fields of rows and their values, "-" where a row lacks one; at most 60 rows. Signatures stand in results."""
    fields = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "signature"]
    return [fields, *thinned([[row.get(name, "-") for name in fields] for row in rows])]


def _cell(cell):
    """A cell of a table in one text."""
    return "|".join(filter(None, (cell.number, cell.interval, cell.rank, "".join(cell.marks), *cell.asides)))


_LOOKS = (
    "color linewidth marker markersize markeredgewidth markeredgecolor markerfacecolor facecolor edgecolor hatch fill "
    "linestyle unscaled_dash_pattern zorder clip_on label text size weight ha visible sizes frame_on ncols usetex alpha"
).split()


def _looks(artist):
    """How an artist looks, in one text, and where its data are."""
    values = {name: getattr(artist, f"get_{name}", lambda: None)() for name in _LOOKS}
    values["unscaled_dash_pattern"] = getattr(artist, "_unscaled_dash_pattern", None)
    shown = ("" if value is None or str(value).startswith("_child") else plain(value) for value in values.values())
    looks = re.sub(r"\d\.\d{4,}", lambda part: f"{float(part[0]):.3f}", ";".join(map(str, shown)))
    looks = re.sub(";+", ";", looks.replace(" ", "")).rstrip(";")
    if hasattr(artist, "get_xdata"):
        return [looks, artist.get_xdata(), artist.get_ydata()]
    if hasattr(artist, "get_patch_transform"):
        return [looks, *artist.get_patch_transform().transform(artist.get_path().vertices).T]
    return [looks, *(artist.get_offsets() if hasattr(artist, "get_offsets") else ())]


def drawn(figure):
    """What a figure shows: its lines, bars, discs and texts with their looks, and no place that its layout decides."""
    panels = []
    for plot in (one for outer in figure.axes for one in (outer, *outer.child_axes)):
        ticks = [
            [axis.get_majorticklocs(), [label.get_text() for label in axis.get_ticklabels()]]
            for axis in (plot.xaxis, plot.yaxis)
            if type(axis.get_major_locator()).__name__ == "FixedLocator"
        ]
        sizes = [axis.get_tick_params().get("labelsize") for axis in (plot.xaxis, plot.yaxis)]
        spines = [[one.get_visible(), one.get_linewidth()] for one in plot.spines.values()]
        titles = [plot.title, plot._left_title, plot.xaxis.label, plot.yaxis.label]
        parts = [*plot.lines, *plot.patches, *plot.collections, *titles]
        texts = [[*_looks(text), *text.get_position()] for text in plot.texts]
        about = [
            plot.get_visible(),
            plot.axison,
            plot.get_xlim(),
            plot.get_ylim(),
            plot.get_box_aspect(),
            ticks,
            sizes,
            spines,
        ]
        panels.append([about, *map(_looks, parts), *texts, *(image.get_array() for image in plot.images)])
    above = [_looks(text) for text in (figure._supxlabel, figure._suptitle) if text]
    for one in figure.legends:
        parts = [one.get_frame(), one.get_title(), *one.get_texts(), *one.get_lines(), *one.get_patches()]
        above.append([one.get_frame_on(), one._ncols, *(_looks(part)[0] for part in parts)])
    return [figure.get_size_inches(), above, *panels]


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
            found[name] = page(path.read_text(encoding="utf-8"))
        elif path.suffix in {".md", ".txt", ".tex"}:
            found[name] = said(path.read_text(encoding="utf-8"))
    return found


def sheets(folder):
    """What the tables that a run wrote show and are made of, and its rows of JSON."""
    kept = ("headings", "blocks", "records", "footnotes", "footer", "data")
    found = {name: own for name, own in files(folder).items() if name.endswith(".jsonl") or "blocks" in own}
    return {name: own if isinstance(own, list) else [own.get(key) for key in kept] for name, own in found.items()}


def differences(recorded, now, place="", within=1e-6):
    """The places at which two values differ, numbers by more than so large a share."""
    numbers = (int, float)
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in recorded | now:
            yield from differences(recorded.get(key, "missing"), now.get(key, "missing"), f"{place}/{key}", within)
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for number, pair in enumerate(zip(recorded, now, strict=True)):
            yield from differences(*pair, f"{place}/{number}", within)
    elif isinstance(recorded, numbers) and isinstance(now, numbers) and bool not in {type(recorded), type(now)}:
        if not math.isclose(recorded, now, rel_tol=within, abs_tol=within / 1000):
            yield f"{place}: {recorded!r}, now {now!r}"
    elif recorded != now or type(recorded) is not type(now):
        yield f"{place}: {recorded!r}, now {now!r}"


def held(name, value, whole=False, within=1e-6):
    """Hold a value against its record.

    whole: texts that are no prose, such as claims, count word by word; within: as near as numbers must be, those of a
    network of float32 say.
    """
    path, now = FOLDER / f"{name}.json", json.loads(json.dumps(plain(value, whole)))
    if os.environ.get("RECORD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        pairs = (map(partial(json.dumps, ensure_ascii=False), pair) for pair in now.items())
        lines = [f" {key}: {own}" for key, own in pairs]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", errors="backslashreplace")
    found = list(differences(json.loads(path.read_text(encoding="utf-8")), now, within=within))
    assert not found, f"{path.name}: {len(found)} places differ\n" + "\n".join(found[:10])
