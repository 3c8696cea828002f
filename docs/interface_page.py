"""The public interface as text: the type stub of the package, and the page of the stable interface.

python docs/interface_page.py            # writes metaeval/__init__.pyi and docs/reference/interface.md
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import metaeval
from metaeval.analyses import USUAL, names_in
from metaeval.analyses.analysis import Analysis
from metaeval.analyses.function_of_analysis import signature_of
from metaeval.core import registry
from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
STUB = ROOT / "metaeval" / "__init__.pyi"
PAGE = ROOT / "docs" / "reference" / "interface.md"

_HEAD = '''"""Types of the public interface, made by `python docs/interface_page.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

'''

_RULES = """# What stays stable

Within a minor version the names below keep their meaning, and their parameters their names, defaults and order: those
of analyses are in the type stub `metaeval/__init__.pyi`, which editors and `help(metaeval.compare)` show. Everything
else may change without notice. `python docs/interface_page.py` makes this page and the stub, and a test fails when a
public signature changes and they do not.

Pairs (`metaeval-pairs`), corpora (`metaeval-corpus`), gates, label sheets and stores of scores and replies that a
version has written are read by every later one. Results (`metaeval-result`) of another schema are refused: the same
command makes them anew.
"""


def stub() -> str:
    """Return the type stub of the package: imports of classes, and functions with their parameters."""
    lines = [
        f"from {home} import {name} as {name}\n" for home, name in _imported()
    ]
    constants = "__version__: str\nANALYSES: Mapping[str, str]\nHOMES: Mapping[str, str]\n"
    return "\n".join(
        [f"{_HEAD}{''.join(lines)}", constants, *_functions(), ""]
    )


def page() -> str:
    """Return the page of the stable interface as Markdown."""
    homes = groupby(_imported(), key=lambda one: one[0])
    names = [
        f"- {home}: {', '.join(f'`{name}`' for _, name in found)}"
        for home, found in homes
    ]
    analyses = [f"- `{name}`: {one.summary}" for name, one in _analyses()]
    parts = [_RULES.strip(), "## Classes and functions", "\n".join(names)]
    return "\n\n".join([*parts, "## Analyses", "\n".join(analyses)]) + "\n"


def _analyses() -> Iterator[tuple[str, Analysis]]:
    for name, registered in sorted(metaeval.ANALYSES.items()):
        if registered in registry.names("analysis"):
            yield name, registry.find("analysis", registered)
        else:
            for inner in names_in(registered):
                yield (
                    f"{name}.{inner.replace('-', '_')}",
                    registry.find("analysis", f"{registered}.{inner}"),
                )


def _imported() -> list[tuple[str, str]]:
    return sorted((home, name) for name, home in metaeval.HOMES.items())


def _functions() -> Iterator[str]:
    for name, registered in sorted(metaeval.ANALYSES.items()):
        if registered in registry.names("analysis"):
            yield definition(name, registry.find("analysis", registered))
            continue
        yield f"class {name}:"
        if registered in USUAL:
            yield "    def __new__(cls, name: Any, /, *args: Any, **settings: Any) -> Any: ..."
        for inner in names_in(registered):
            text = definition(
                inner.replace("-", "_"),
                registry.find("analysis", f"{registered}.{inner}"),
            )
            yield "\n".join(
                f"    {line}"
                for line in ["@staticmethod", *text.splitlines()]
            )


def definition(name: str, analysis: Analysis) -> str:
    """Return a function's definition for a stub, one parameter a line."""
    lines: list[str] = []
    keyword_only = False
    for parameter in signature_of(analysis.options).parameters.values():
        if (
            parameter.kind is inspect.Parameter.KEYWORD_ONLY
            and not keyword_only
        ):
            keyword_only = True
            if not any(line.lstrip().startswith("*") for line in lines):
                lines.append("    *,")
        star = _STARS.get(parameter.kind, "")
        keyword_only = keyword_only or bool(star)
        default = (
            ""
            if parameter.default is inspect.Parameter.empty
            else f" = {literal(parameter.default)}"
        )
        lines.append(
            _narrow(
                f"    {star}{parameter.name}: {type_text(parameter.annotation)}{default},"
            )
        )
    return "\n".join([f"def {name}(", *lines, ") -> Any: ..."])


def _narrow(line: str) -> str:
    """Return a parameter's line; if it is too wide, the words of its Literal are on a line of their own."""
    if len(line) <= _WIDEST or "Literal[" not in line:
        return line
    start, _, rest = line.partition("Literal[")
    words, _, end = rest.partition("]")
    return f"{start}Literal[\n        {words}\n    ]{end}"


_WIDEST = 74
_STARS: Mapping[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def literal(value: Any) -> str:
    """Return a default value as a stub shows it; values without a short literal become three dots."""
    return (
        repr(value)
        if isinstance(value, str | int | float | bool | None)
        else "..."
    )


def type_text(kind: Any) -> str:
    """Return a type as a stub shows it; a model is Mapping[str, Any], and a class that is not built in is Any."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(type_text, parts)))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin in (Sequence, Mapping, Callable):
        return f"{origin.__name__}[{', '.join(map(type_text, parts))}]"
    if kind in (None, types.NoneType):
        return "None"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "Mapping[str, Any]"
    plain = isinstance(kind, type) and (
        kind is Path or kind.__module__ == "builtins"
    )
    return kind.__name__ if plain else "Any"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
