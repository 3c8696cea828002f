"""The explorer: one HTML page of a job's pairs, texts and scores, read from disk, with no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from itertools import count
from string import Template
from typing import Any

from metaeval.core.errors import Shown
from metaeval.report.table import grouped

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_LINE = 4_000  # characters of a line of data


def explorer_page(title: str, blocks: Mapping[str, Any], start: str = "main") -> str:
    """Return the explorer as an HTML page. Its bytes follow from the data alone.

    blocks: JSON values by the name under which the page's script asks for them; each is unpacked when it is asked
    for. start: the JavaScript module that draws the page: "main" (the explorer) or "label" (citations to be labelled).
    """
    scrolling = resources.files("metaeval.report").joinpath("scrolling.css").read_text(encoding="utf-8")
    style, script, data = _file("explorer.css") + scrolling, bundle(start), []
    for name, value in blocks.items():
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Compressed and in base64, it cannot end a script element.
        packed = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()
        lines = "\n".join(packed[place : place + _LINE] for place in range(0, len(packed), _LINE))
        data.append(f'<script type="text/plain" id="{escape(Shown(name))}">\n{lines}\n</script>')
    return Template(_file("explorer.html")).substitute(
        title=escape(Shown(title)),
        policy=f"default-src 'none'; script-src '{_source(script)}'; style-src '{_source(style)}'; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        blocks="\n".join(data),
    )


def bundle(start: str) -> str:
    """Return a JavaScript module of this folder and those that it imports as one script, each in its own scope."""
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        text = _file(f"{name}.js")
        for _, needed in _IMPORT.findall(text):
            if needed not in modules:
                add(needed)
        body = _EXPORT.sub("", _IMPORT.sub(r"const {\1} = module_\2;\n", text))
        exported = ", ".join(_EXPORT.findall(text))
        modules[name] = f"const module_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(start)
    return '"use strict";\n' + "".join(modules.values())


def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """Return the hash of a script or style as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def sampled_ids(rows: Sequence[tuple[str, str, int | None]], most: int) -> list[str]:
    """Return the ids of all rows or, if these are more than `most`, of a sample; rows of one statement are adjacent.

    rows: (id, statement, level). Whole statements are sampled, at least one, in the order of their hashes; each level
    keeps its share. The level of a statement is that of its best row.
    """
    of = grouped((statement, (name, -1 if level is None else level)) for name, statement, level in rows)
    if len(rows) <= most:
        return [name for members in of.values() for name, _ in members]
    ordered = sorted(of, key=lambda name: hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest())
    strata = grouped((max(level for _, level in of[statement]), statement) for statement in ordered)
    kept: set[str] = set()
    for statements in strata.values():
        left = most * sum(len(of[name]) for name in statements) / len(rows)
        for statement in statements:
            left -= len(of[statement])
            if left < 0 and kept:
                break
            kept.add(statement)
    return [name for statement, members in of.items() if statement in kept for name, _ in members]


def numbering() -> defaultdict[str, int]:
    """Return a mapping that numbers distinct texts in the order in which they are first asked for."""
    return defaultdict(count().__next__)
