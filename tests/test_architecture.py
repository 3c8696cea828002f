"""The house rules: imports run downhill, files stay small, and nothing heavy is imported before it is needed."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "metrics_zoo", "protocols")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

READS = "core.errors core.files core.parsing"
TABLES = "core.tables core.cells core.headings"
SETTINGS = f"core.registry core.declared core.config core.config_files {READS} {TABLES}"
PROTOCOL = "protocols.contract protocols.comparison protocols.contrasts protocols.simulation"

# What each room may import of ours; "metaeval." is left out. A module belongs to the longest room that it starts with.
ROOMS = {
    "core": "",
    "core.errors": "",
    "core.store": "core.errors core.files",
    "core.files": "core.errors",
    "core.parsing": "core.errors core.files",
    "core.headings": "core.errors",
    "core.cells": READS,
    "core.tables": f"core.cells core.headings {READS}",
    "core.registry": "core.errors core.files",
    "core.declared": "core.registry core.errors core.files",
    "core.config_files": f"core.registry core.declared {READS}",
    "core.config": f"core.config_files core.declared core.registry corpus {READS} {TABLES}",
    "llm": f"llm core.store {READS}",
    "stats": "stats",
    "protocols": "protocols stats",
    "corpus": f"corpus {READS} {TABLES}",
    "scoring": f"scoring corpus core.store {READS} {TABLES}",
    "metrics_zoo": "metrics_zoo scoring.contract scoring.functions scoring.backends corpus.sentences corpus.languages "
    "llm core.errors core.parsing",
    "report": f"report stats.ranking stats.arrays stats.estimate {READS}",
    "runs": f"runs report scoring corpus stats {PROTOCOL} {SETTINGS}",
    "api": f"core.registry runs report scoring corpus core.config core.declared {READS} {TABLES}",
    "analyses": (
        "metaeval analyses api core.store runs report scoring corpus stats llm.reply_store llm.messages "
        f"llm.batch_files {PROTOCOL} {SETTINGS}"
    ),
    "citation": f"citation scoring.contract scoring.backends corpus stats llm {READS} {TABLES}",
    "citation.pipelines": f"citation analyses runs report scoring corpus stats llm {SETTINGS}",
    "explorer": f"explorer citation analyses runs report scoring corpus {SETTINGS}",
    "decisions": f"decisions explorer citation analyses runs report scoring corpus stats {SETTINGS}",
    "cli": f"metaeval analyses cli runs.score report {SETTINGS}",
    "conformance": "conformance scoring stats core.registry core.errors protocols.contract protocols.comparison",
    "__main__": "cli",
    "metaeval": "analyses api core.config report corpus scoring",
}

CORE = ("corpus", "scoring", "stats", "protocols", "runs", "analyses", "report", "metrics_zoo", "api", "cli")
"""Whoever reads the main job reads these alone; what is named below registers itself, as another package would."""
REGISTERED = ("metaeval.citation", "metaeval.decisions", "metaeval.explorer")


def whole(name):
    """The name of a module of ours that is written without the package's."""
    return name if name.split(".")[0] in PACKAGES else f"metaeval.{name}"


ALLOWED = {whole(room): tuple(map(whole, names.split())) for room, names in ROOMS.items()}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def parsed(path):
    """All nodes of a file, which is read once for all rules."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@functools.cache
def is_module(name):
    place = ROOT / Path(*name.split("."))
    return place.with_suffix(".py").exists() or place.is_dir()


@functools.cache
def imports_of(path):
    """The modules of ours that a file imports."""
    found = set()
    for node in parsed(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            # `from package import module` names a module; `from module import name` names its home.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name.startswith(PACKAGES) and is_module(name) else node.module for name in names)
    return {name for name in found if name.split(".")[0] in PACKAGES}


def within(name, room):
    return name == room or name.startswith(f"{room}.")


def room_of(name):
    return max((room for room in ALLOWED if within(name, room)), key=len)


def permitted(name, place):
    # "metaeval" alone is the package's face (its version), not everything under it.
    return name == place if place == "metaeval" else within(name, place)


def offending(forbidden):
    """Each import of a module that its room may not make: "module imports name"."""
    return [
        f"{module} imports {name}"
        for module, path in zip(map(module_name, FILES), FILES, strict=True)
        for name in imports_of(path)
        if forbidden(module, name)
    ]


def test_imports_run_downhill():
    assert not offending(lambda module, name: not any(permitted(name, one) for one in ALLOWED[room_of(module)]))


def test_the_core_imports_nothing_that_registers_itself():
    core = tuple(map(whole, CORE))
    assert not offending(lambda module, name: module.startswith(core) and name.startswith(REGISTERED))


def test_what_pipelines_compute_does_not_know_the_pipelines():
    inner = "metaeval.citation"
    assert not offending(lambda module, name: room_of(module) == inner and within(name, f"{inner}.pipelines"))


def test_every_rule_is_about_a_room_that_exists():
    assert {room_of(module_name(path)) for path in FILES} == set(ALLOWED)


def test_files_hold_one_idea():
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES)
    assert lengths[-1] <= 500
    assert lengths[len(lengths) // 2] <= 220


# Where what is imported or started is not written in the source: nowhere else.
LOADERS = {
    "metaeval": {"importlib.import_module"},  # its own modules
    "metaeval.core.registry": {"importlib.import_module", "spec.loader.exec_module"},
    "metaeval.scoring.executors.local": {"subprocess.Popen"},
    "metaeval.scoring.executors.ray": {"import_module"},  # a module of metaeval
    "metaeval.runs.verify_metric": {"subprocess.run"},
}
_BARE = {"__import__", "exec", "eval"}
_LOADS = {"import_module", "exec_module", "run_path", "run_module", "spec_from_file_location"}
_MODULES = ("subprocess", "importlib", "runpy", "pty", "ctypes", "multiprocessing", "pickle", "marshal", "shelve")


def loads(path):
    """The calls of a file that import or start something, by name; not those of a name written in the call."""
    for node in parsed(path):
        if not isinstance(node, ast.Call) or (node.args and isinstance(node.args[0], ast.Constant)):
            continue
        called = ast.unparse(node.func)
        starts = called.startswith(tuple(f"{name}." for name in _MODULES)) and called != "importlib.util.find_spec"
        if starts or called in _BARE or called.rpartition(".")[2] in _LOADS:
            yield called


def test_code_is_loaded_and_programs_are_started_in_one_place():
    found = {module_name(path): set(loads(path)) for path in FILES}
    assert {module: calls for module, calls in found.items() if calls} == LOADERS


HEAVY = {"torch", "transformers", "scipy", "pyarrow"}
TYPED = "from metaeval.cli.app import app; app({}, standalone_mode=False)"
RUN = "import metaeval; metaeval.run(metrics=['overlap'], interval={'resamples': 5}, results='results')"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import metaeval; dir(metaeval)", {*HEAVY, "numpy", "pydantic", "typer", "rich"}),
        ("import metaeval.cli", {*HEAVY, "numpy"}),
        # Cards of rated data sets import NumPy, which holds their columns.
        (TYPED.format(["data", "list"]), HEAVY),
        (TYPED.format(["--help"]), {*HEAVY, "numpy", "pydantic", "metaeval.core.config"}),
        (
            TYPED.format(["cite", "aliice", "answers.jsonl", "-m", "overlap", "-q"]),
            {"torch", "transformers", "rouge_score"},
        ),
        (RUN, {"torch", "transformers", "pyarrow", "spacy", "asyncio"}),
    ],
)
def test_what_is_imported_and_typed_loads_nothing_heavy(tmp_path, code, absent):
    if "aliice" in code:
        pytest.importorskip("spacy", reason="needs spaCy")
        answer = {"id": "1", "text": "A firm built it [1].", "passages": [{"id": "1", "text": "A firm built it."}]}
        (tmp_path / "answers.jsonl").write_text(json.dumps(answer))
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    loaded = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert absent.isdisjoint(loaded)
    assert "metaeval.analyses.data_sets" in loaded or "data" not in code


def test_what_benchmarks_import_and_replace_is_there():
    """Nothing else runs most of them. What they replace is the second argument of `mock.patch.object`."""
    missing, seen = [], 0
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        objects = {}
        for node in parsed(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (*PACKAGES, "tests"):
                for one in node.names:
                    exec(f"from {node.module} import {one.name} as _", found := {})
                    objects[one.asname or one.name] = found["_"]
        for node in parsed(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "mock.patch.object":
                where, name = ast.unparse(node.args[0]), node.args[1].value
                missing += [f"{path.name}: {where}.{name}"] * (where in objects and not hasattr(objects[where], name))
        seen += len(objects)
    assert (missing, seen > 100) == ([], True)
