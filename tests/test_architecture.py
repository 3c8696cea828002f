"""The house rules: imports run downhill, files stay small, and nothing heavy is imported before it is needed."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "metrics_zoo", "protocols")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# What the Python interface imports.
FROM_PYTHON = (
    "metaeval.config",
    "metaeval.config_files",
    "metaeval.declared",
    "metaeval.corpus",
    "metaeval.scoring",
    "metaeval.experiment",
    "metaeval.labelling",
    "metaeval.report",
    "metaeval.errors",
    "metaeval.files",
    "metaeval.reading",
    "metaeval.own_tables",
)

# What each room may import of ours: a module belongs to the longest room that its name starts with.
ALLOWED = {
    "metaeval.shown": (),
    "metaeval.errors": ("metaeval.shown",),
    "metaeval.database": ("metaeval.errors",),
    "metaeval.files": ("metaeval.errors", "metaeval.shown"),
    "metaeval.reading": ("metaeval.errors", "metaeval.files"),
    "metaeval.own_tables": ("metaeval.errors", "metaeval.files", "metaeval.reading", "metaeval.shown"),
    "metaeval.declared": ("metaeval.errors",),
    "metaeval.signature": (),
    "metaeval.llm": (
        "metaeval.llm",
        "metaeval.database",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.reading",
    ),
    "metaeval.registry": ("metaeval.errors",),
    "metaeval.stats": ("metaeval.stats",),
    "protocols": ("protocols", "metaeval.stats"),
    "metaeval.corpus": (
        "metaeval.corpus",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.own_tables",
        "metaeval.reading",
        "metaeval.shown",
    ),
    "metaeval.scoring": (
        "metaeval.scoring",
        "metaeval.corpus",
        "metaeval.database",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.own_tables",
        "metaeval.reading",
    ),
    "metrics_zoo": (
        "metrics_zoo",
        "metaeval.scoring.contract",
        "metaeval.scoring.backends",
        "metaeval.corpus.sentences",
        "metaeval.llm",
        "metaeval.errors",
        "metaeval.reading",
    ),
    "metaeval.citation": (
        "metaeval.citation",
        "metaeval.scoring.contract",
        "metaeval.scoring.backends",
        "metaeval.corpus",
        "metaeval.stats",
        "metaeval.llm",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.reading",
    ),
    "metaeval.labelling": (
        "metaeval.labelling",
        "metaeval.citation",
        "metaeval.corpus",
        "metaeval.stats",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.reading",
        "metaeval.own_tables",
    ),
    "metaeval.report": ("metaeval.report", "metaeval.errors", "metaeval.files", "metaeval.reading", "metaeval.shown"),
    "metaeval.config_files": ("metaeval.registry", "metaeval.errors", "metaeval.files", "metaeval.reading"),
    "metaeval.config": (
        "metaeval.config_files",
        "metaeval.declared",
        "metaeval.corpus",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.own_tables",
        "metaeval.reading",
    ),
    "metaeval.experiment": (
        "metaeval.experiment",
        "metaeval.config",
        "metaeval.config_files",
        "metaeval.declared",
        "metaeval.registry",
        "metaeval.signature",
        "metaeval.corpus",
        "metaeval.citation",
        "metaeval.labelling",
        "metaeval.scoring",
        "metaeval.llm.batch",
        "metaeval.report",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.reading",
        "metaeval.own_tables",
        "metaeval.stats",
        "protocols.contract",
        "protocols.comparison",
        "protocols.contrasts",
        "protocols.simulation",
        "protocols.counted",
    ),
    "metaeval.api": ("metaeval.registry", *FROM_PYTHON),
    "metaeval.analyses": ("metaeval.api", *FROM_PYTHON),
    "metaeval.groups": (
        *("metaeval.registry", "metaeval.database", "metaeval.llm.replies"),
        *FROM_PYTHON,
    ),
    "metaeval.cli": (
        "metaeval",
        "metaeval.groups",
        "metaeval.cli",
        "metaeval.config",
        "metaeval.config_files",
        "metaeval.declared",
        "metaeval.corpus",
        "metaeval.scoring",
        "metaeval.experiment",
        "metaeval.labelling",
        "metaeval.report",
        "metaeval.registry",
        "metaeval.database",
        "metaeval.llm.replies",
        "metaeval.errors",
        "metaeval.files",
        "metaeval.reading",
        "metaeval.own_tables",
        "metaeval.shown",
    ),
    "metaeval.conformance": (
        "metaeval.conformance",
        "metaeval.corpus",
        "metaeval.scoring",
        "metaeval.stats",
        "metaeval.registry",
        "metaeval.config",
        "metaeval.errors",
        "metaeval.experiment.citing",
        "protocols.contract",
        "protocols.comparison",
    ),
    "metaeval.__main__": ("metaeval.cli",),
    "metaeval": (
        "metaeval.groups",
        "metaeval.analyses",
        "metaeval.api",
        "metaeval.config",
        "metaeval.report",
        "metaeval.corpus",
        "metaeval.scoring",
    ),
}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def parsed(path):
    """All nodes of a file, which is read once for all rules."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports_of(path):
    found = set()
    for node in parsed(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            # `from package import module` names a module; `from module import name` names its home.
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = (ROOT / Path(*whole.split("."))).with_suffix(".py").exists() or (
                    ROOT / Path(*whole.split("."))
                ).is_dir()
                found.add(whole if is_module else node.module)
    return {name for name in found if name.split(".")[0] in PACKAGES}


def within(name, room):
    return name == room or name.startswith(f"{room}.")


def room_of(name):
    return max((room for room in ALLOWED if within(name, room)), key=len)


def permitted(name, place):
    # "metaeval" alone is the package's face (its version), not everything under it.
    return name == place if place == "metaeval" else within(name, place)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_run_downhill(path):
    room = room_of(module_name(path))
    for name in imports_of(path):
        assert any(permitted(name, place) for place in ALLOWED[room]), (
            f"{module_name(path)} imports {name}; {room} may import {', '.join(ALLOWED[room]) or 'nothing of ours'}"
        )


def test_every_rule_is_about_a_room_that_exists():
    assert {room_of(module_name(path)) for path in FILES} == set(ALLOWED)


def test_files_hold_one_idea():
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES)
    assert lengths[-1] <= 500
    assert lengths[len(lengths) // 2] <= 220


# Where what is imported or started is not written in the source: nowhere else.
LOADERS = {
    "metaeval": {"importlib.import_module"},  # its own modules
    "metaeval.registry": {"importlib.import_module", "spec.loader.exec_module"},
    "metaeval.scoring.backends.line_process": {"subprocess.Popen"},
    "metaeval.scoring.executors.local": {"subprocess.Popen"},
    "metaeval.scoring.executors.ray": {"import_module"},  # a module of metaeval
    "metaeval.experiment.verify": {"subprocess.run"},
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


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_code_is_loaded_and_programs_are_started_in_one_place(path):
    assert set(loads(path)) == LOADERS.get(module_name(path), set())


def loaded_by(code):
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_import_metaeval_loads_nothing_heavy():
    loaded = loaded_by("import metaeval")
    assert loaded.isdisjoint({"torch", "transformers", "numpy", "scipy", "pyarrow", "pydantic", "typer", "rich"})


def test_the_command_line_starts_without_numbers_or_models():
    # Its options are fields of pydantic models, so that pydantic is loaded.
    loaded = loaded_by("import metaeval.cli")
    assert loaded.isdisjoint({"torch", "transformers", "numpy", "scipy", "pyarrow"})


def test_a_lexical_metric_does_not_load_torch(tmp_path):
    code = f"import metaeval; metaeval.run(metrics=['overlap'], interval={{'resamples': 5}}, results={str(tmp_path)!r})"
    assert loaded_by(code).isdisjoint({"torch", "transformers"})


def named_by_benchmarks():
    """(file, module of ours, name): what benchmarks import, and what they replace by `mock.patch.object`."""
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        modules = {}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                modules |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
                yield from ((path.name, node.module, one.name) for one in node.names)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "mock.patch.object":
                where, name = node.args[:2]
                if isinstance(where, ast.Name) and where.id in modules and isinstance(name, ast.Constant):
                    yield path.name, modules[where.id], name.value


@functools.cache
def names_in(module):
    """The names that a module of ours defines, imports or is a folder of; it is not imported for that."""
    place = ROOT / module.replace(".", "/")
    names = {path.stem for path in place.glob("*")}
    for node in ast.walk(
        ast.parse((place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text())
    ):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {one.asname or one.name for one in node.names}
    return names


def test_what_benchmarks_import_and_replace_is_there():
    named = list(named_by_benchmarks())
    assert len(named) > 100
    assert [one for one in named if one[2] not in names_in(one[1])] == []
