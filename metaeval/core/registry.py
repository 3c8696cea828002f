"""The registry: metrics, data sets, protocols and analyses are entry points, imported when first used."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Container, Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, distributions, entry_points
from importlib.util import module_from_spec
from pathlib import Path
from types import FunctionType
from typing import Any, Literal

from metaeval.core.errors import UserError, unknown
from metaeval.core.files import job_memory, local_path

Kind = Literal["metric", "dataset", "protocol", "analysis"]
_GROUPS: dict[Kind, str] = {
    "metric": "metaeval.metrics",
    "dataset": "metaeval.datasets",
    "protocol": "metaeval.protocols",
    "analysis": "metaeval.analyses",
}
LIST_COMMAND: dict[Kind, str] = {
    "metric": "Type 'metaeval metrics list'.",
    "dataset": "Type 'metaeval data list'.",
    "protocol": "Or 'all'.",
    "analysis": "",
}
"""By kind: the end of the message about an unknown name."""
_GIVEN: dict[tuple[Kind, str], Any] = {}
"""By (kind, name): functions and classes that a Python caller gave in place of a name."""
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def names(kind: Kind) -> list[str]:
    """Return the registered names of a kind, sorted, without importing the objects."""
    return sorted(_entries(kind))


def is_code(kind: Kind, name: str) -> bool:
    """Return whether a name, or a member of an ensemble, is unregistered code (module:Class)."""
    base, colon, argument = name.strip().partition(":")
    if kind != "metric" or not colon:
        return bool(colon)
    if base == "ensemble":
        return any(is_code(kind, member) for member in argument.split("+"))
    # A name whose first part takes no argument is a module's, even where something registered has the module's name.
    takes = base in names(kind) and find(kind, base).card.argument
    return not (takes or name in names(kind))  # ragas:faithfulness is registered as a whole


def with_places(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings in which a metric on a model that lies here, METRIC:PATH, has a short name.

    The name is METRIC:FOLDER, by the folder's own name, and behind those of its parents where two models have the same;
    the path is the metric's option `model`. settings: with `metrics` and, optionally, `metric_options`.
    """
    joint = "ensemble:"
    members = {
        name: name.removeprefix(joint).split("+") if name.startswith(joint) else [name] for name in settings["metrics"]
    }
    single = dict.fromkeys(member for of_name in members.values() for member in of_name)
    places: dict[str, tuple[str, str]] = {}
    for name in single:
        base, _, place = name.partition(":")
        takes_model = place and base in names("metric") and find("metric", base).card.argument == "model"
        if takes_model and (path := local_path(place)):
            places[name] = base, os.path.abspath(path)
    if not places:
        return settings

    def shortened(name: str, count: int) -> str:
        base, path = places[name]
        return f"{base}:" + re.sub(r"[^\w.-]+", "-", "-".join(Path(path).parts[1:][-count:]))

    short = {name: name for name in single}
    options = dict(settings.get("metric_options", {}))
    for name, place in places.items():
        others = [other for other in places if places[other] != place]
        depths = range(1, len(Path(place[1]).parts))
        taken = single.keys() - places.keys()
        unlike = (n for n in depths if shortened(name, n) not in taken.union(shortened(other, n) for other in others))
        short[name] = known_as = shortened(name, next(unlike, depths.stop))
        if known_as != name:
            typed = {**options.pop(name, {}), **options.get(known_as, {})}
            options[known_as] = {"model": name.partition(":")[2], **typed}
    parts_of = {name: "+".join(short[part] for part in parts) for name, parts in members.items()}
    named = dict.fromkeys(joint * name.startswith(joint) + parts for name, parts in parts_of.items())
    return {**settings, "metrics": tuple(named), "metric_options": options}


def retyped(name: str, options: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a metric's short name as `with_places` was given it, METRIC:PATH. options: those of metrics, by name."""
    model = options.get(name, {}).get("model") if ":" in name and name not in names("metric") else None
    return f"{name.partition(':')[0]}:{model}" if model else name


def find(kind: Kind, name: str, asked_in: Path | None = None, code: bool = False) -> Any:
    """Return the object registered under `name`, whatever its type.

    asked_in: the file that holds the name, if any; messages begin with it. code: whether 'module:attribute' may be
    imported, because the user typed the name or trusts its source; otherwise only registered code is loaded. Raises
    `UserError` with the nearest name when nothing is registered under it, when two distributions claim the name, or
    when it cannot be imported.
    """
    if is_given(kind, name):
        return _GIVEN[kind, name]
    try:
        return _imported(kind, name, code)
    except UserError as error:
        raise UserError(f"{asked_in}: {error}" if asked_in else str(error)) from error


def name_of(kind: Kind, value: Any) -> Any:
    """Return the name by which `find` returns a function or class that a caller gives: 'module:name', or its own name.

    An object that no module holds (it was defined in a notebook, at a prompt or inside a function) gets its own name,
    under which only this process finds it. Anything that cannot be called is returned unchanged. Raises `UserError` for
    what has no name of its own, and for what has the name of something registered or given in the same job.
    """
    objects = job_memory().setdefault("objects", {})
    if not callable(value):
        if isinstance(value, str) and (kind, value) not in objects:
            _GIVEN.pop((kind, value), None)  # of an earlier job, which gave the object itself
        return value
    name, module = getattr(value, "__name__", ""), getattr(value, "__module__", "")
    if not isinstance(value, FunctionType | type) or not name.isidentifier():
        raise UserError(f"A {kind} needs a name, and {value!r:.60} has none: define it by 'def NAME'.")
    if module != "__main__" and getattr(sys.modules.get(module), name, None) is value:
        name = f"{module}:{name}"
    elif name in names(kind):
        raise UserError(f"A registered {kind} has the name {name!r}: give your own another name.")
    if objects.setdefault((kind, name), value) is not value:
        refuse_given(kind, [name], value)
    _GIVEN[kind, name] = value
    return name


def refuse_given(kind: Kind, taken: Container[str], other: Any) -> None:
    """Raise `UserError` if an object that this job was given has one of the names `taken`.

    other: what has the name too, as an object or in words.
    """
    for (registered, name), value in job_memory().get("objects", {}).items():
        if registered == kind and name in taken:
            codes = [(getattr(each, "__code__", None), each) for each in (value, other)]
            places = [f"line {code.co_firstlineno} of {code.co_filename}" if code else f"{at}" for code, at in codes]
            raise UserError(f"Two {kind}s have the name {name!r} ({', and '.join(places)}): give one another name.")


def is_given(kind: Kind, name: str) -> bool:
    """Return whether a name stands for an object that a Python caller gave, which may differ from any file."""
    return (kind, name) in _GIVEN


def check_typed(kind: Kind, name: str) -> None:
    """Raise `UserError` for a name of unregistered code, which runs only where the user types it."""
    if is_code(kind, name):
        raise UserError(f"The {kind} {name!r} is a Python file, which runs only to score: give a registered name.")


def _imported(kind: Kind, name: str, code: bool) -> Any:
    entry = _entries(kind).get(name)
    if entry is None and _OBJECT.fullmatch(name):
        if not code:
            check_typed(kind, name)
        entry = EntryPoint(name, name, _GROUPS[kind])
    if entry is None:
        raise unknown(kind, name, names(kind), _advice(kind, name))
    try:
        if entry.value == name:
            _load_here(entry.module.partition(".")[0])
        return getattr(importlib.import_module(entry.module), entry.attr)
    except Exception as error:  # importing runs someone else's code: anything can come out of it
        where = "" if entry.value == name else f" ({entry.value})"
        kind_of_error = "" if isinstance(error, ModuleNotFoundError | AttributeError) else f"{type(error).__name__}: "
        hint = " It is looked for in the current folder and among installed packages." if entry.value == name else ""
        if entry.value == name and ".py:" in name:
            hint = f" Leave .py out: {name.replace('.py:', ':')}."
        raise UserError(f"The {kind} {name!r}{where} cannot be imported: {kind_of_error}{error}.{hint}") from error


def next_for(kind: Kind, name: str) -> str:
    """Return advice for a name that is not registered: how to give a file of that name, else `LIST_COMMAND`."""
    module = name.removesuffix(".py").partition(".")[0]
    if kind == "dataset" and Path(name).is_file():
        return f"A file of your own: -d ratings --data {name} (ratings), or -d jsonl --data {name} (a corpus)."
    if kind == "metric" and (":" in name or Path(name).is_dir()):
        return "With a model of yours, in a folder or on the hub, it is METRIC:FOLDER or METRIC:NAME (nli:./my-model)."
    if kind == "metric" and module.isidentifier() and Path(f"{module}.py").is_file():
        return f"A function or class of your own in {module}.py: {module}:NAME."
    return LIST_COMMAND[kind]


def _advice(kind: Kind, name: str) -> str:
    """Return advice for an unknown name: to install again where an editable package registers it, else `next_for`."""
    import json  # only where a name is wrong
    import tomllib
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    for package in distributions():
        try:
            origin = json.loads(package.read_text("direct_url.json") or "{}")
            folder = Path(url2pathname(urlsplit(origin["url"]).path))
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            declared = name in project["entry-points"][_GROUPS[kind]]
        except (OSError, ValueError, LookupError, TypeError):  # not installed from a folder, or it registers nothing
            continue
        if declared:
            return f"{folder} registers it since it was installed: type 'pip install -e {folder}' again."
    return next_for(kind, name)


def _load_here(name: str) -> None:
    """Import the current folder's module of this name, if there is one and no module of the name is loaded.

    The folder comes last in the path, so that no other file of it takes the place of an installed package.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    spec = None if name in sys.modules else PathFinder.find_spec(name, [here])
    if spec is None or spec.loader is None:  # an installed module, or a folder without __init__.py
        return
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


@cache
def _entries(kind: Kind) -> dict[str, EntryPoint]:
    """Return the entry points of a kind by name; raises `UserError` if two claim a name, or if there is none."""
    entries: dict[str, EntryPoint] = {}
    for entry in entry_points(group=_GROUPS[kind]):
        other = entries.setdefault(entry.name, entry)
        # One distribution can be listed twice (an editable install beside its source); only a different target clashes.
        if other.value != entry.value:
            raise UserError(f"The {kind} {entry.name!r} is {other.value} and {entry.value}: uninstall one.")
    if not entries:
        raise UserError("metaeval is not installed in this environment: type 'pip install -e .' in its folder.")
    return entries
