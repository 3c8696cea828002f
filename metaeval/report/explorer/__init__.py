"""The explorer: one HTML page of a job's pairs, texts and scores, read from disk, with no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

from metaeval.report.html_report import escape
from metaeval.shown import Shown

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_LINE = 4_000  # characters of a line of data


def explorer_page(title: str, blocks: Mapping[str, Any], start: str = "main") -> str:
    """The page's text. Its bytes follow from the data alone.

    blocks: JSON values by the name under which the page's script asks for them; each is unpacked when it is asked for.
    start: the module that draws the page: main, the explorer; label, citations that were drawn to be labelled.
    """
    style, script = _file("explorer.css"), bundle(start)
    return Template(_file("explorer.html")).substitute(
        title=escape(Shown(title)),
        policy=f"default-src 'none'; script-src '{_source(script)}'; style-src '{_source(style)}'; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        blocks="\n".join(_block(name, value) for name, value in blocks.items()),
    )


def bundle(start: str) -> str:
    """A module of this folder and all that it imports, as one script: each in a scope of its own."""
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
    """A text as a content security policy names it: by its hash."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _block(name: str, value: Any) -> str:
    """A JSON value as a block of data: compressed, in base64, which holds nothing that ends a script element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()
    lines = "\n".join(packed[start : start + _LINE] for start in range(0, len(packed), _LINE))
    return f'<script type="text/plain" id="{escape(Shown(name))}">\n{lines}\n</script>'
