# ruff: noqa: T201
"""Count what makes the code base hard to live in; fail where a count is above what it may be.

    .venv/bin/python .ci/house.py             # print every count beside its ceiling or its recorded count
    .venv/bin/python .ci/house.py --check     # the same; exit code 1 where one is above
    .venv/bin/python .ci/house.py --record    # record today's counts where they have fallen
    .venv/bin/python .ci/house.py --where phrases    # the places behind a count

The size has ceilings, which whoever builds cannot raise: those of the stage that .ci/house.json names, in
.ci/ceilings.json. Stages go forward, never back. "exceptions" of .ci/house.json holds, for a stage, a count that its
ceiling could not be met by, never above the ceiling of the stage before. The other counts are recorded, and may only
fall.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
OWNERS = ROOT.parent / "shared" / "ceilings.json"
CEILINGS = OWNERS if OWNERS.is_file() else Path(__file__).with_name("ceilings.json")
PACKAGES = ("metaeval", "metrics_zoo", "protocols")

WEAK_NAMES = frozenset({"one", "found", "own", "said", "told", "asked", "given", "made"})
"""Names that say how a value came about, and not what it is."""

PHRASES = (
    *(r"told apart", r"tells? (?:\w+ ){0,4}apart", r"held against", r"judged against", r"numbers about numbers"),
    *(r"(?:made|drawn|written|computed|taken) anew", r"stands? twice", r"gives? levels away", r"see the gold"),
    *(r"jobs that are done", r"reach of (?:an|the|a share's) interval", r"shown to (?:be above|beat)", r"\bbesides\b"),
    *(r"labels there are already", r"had in hand", r"come by\b", r"\bof old\b", r"likeliest"),
    r"(?<!here )\bis no (?!longer)\w+",  # "there is no table" is English
    *(r"[Pp]reference for length", r"neither of both", r"the one of both"),
)
"""Phrases of the project's own dialect, in whose place the field's terms stand."""

TEXTS = ("*.py", "*.md", "*.js", "*.html", "*.yaml", "Makefile")


@dataclass(frozen=True)
class Count:
    """A count, and the places that it was counted at (empty where there is nothing to look at)."""

    number: int
    places: tuple[str, ...] = ()


def tracked(*patterns: str) -> list[Path]:
    """Files that git tracks or would add, by patterns of git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for line in sorted(set(listed.splitlines())) if (path := ROOT / line).is_file()]


def source_files() -> list[Path]:
    """The Python files of the product."""
    return tracked(*(f"{package}/*.py" for package in PACKAGES))


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def sizes() -> dict[str, Count]:
    """The product's size as a reader meets it.

    Code lines are lines of source that are neither blank, comment, docstring nor import. Functions and classes are all
    definitions, nested ones too. Support lines are those of benchmarks, and of the scripts and pages of the packages.
    """
    code, defined = {}, Counter[str]()
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for path in source_files():
        skipped, filled = set[int](), set[int]()
        for node in ast.walk(parsed(path)):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            defined.update(functions=is_function, classes=isinstance(node, ast.ClassDef))
            if is_function or isinstance(node, ast.ClassDef | ast.Module):
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                    skipped.update(range(first.lineno, first.end_lineno + 1))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                skipped.update(range(node.lineno, node.end_lineno + 1))
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            if token.type not in blank:
                filled.update(range(token.start[0], token.end[0] + 1))
        code[path.relative_to(ROOT).as_posix()] = len(filled - skipped)
    pages = [f"{place}/*.{kind}" for place in (*PACKAGES, "benchmarks") for kind in ("js", "html", "css")]
    largest = tuple(f"{name}: {number}" for name, number in sorted(code.items(), key=lambda item: -item[1]))
    return {
        "code lines": Count(sum(code.values()), largest),
        **{kind: Count(defined[kind]) for kind in ("functions", "classes")},
        "test lines": lines(tracked("tests/*.py")),
        "support lines": lines(tracked("benchmarks/*.py", *pages)),
    }


def lines(paths: list[Path]) -> Count:
    """Lines, as wc counts them."""
    return Count(sum(path.read_bytes().count(b"\n") for path in paths))


def weak_names() -> Count:
    """Variables and arguments with a name that says too little."""
    places = []
    for path in source_files():
        for node in ast.walk(parsed(path)):
            is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in WEAK_NAMES
            if is_stored or (isinstance(node, ast.arg) and node.arg in WEAK_NAMES):
                places.append(f"{path.relative_to(ROOT)}:{node.lineno} {getattr(node, 'id', getattr(node, 'arg', ''))}")
    return Count(len(places), tuple(places))


def phrases() -> Count:
    """Phrases of the dialect in code, docs and pages; the tests, the changelog and generated results are left out."""
    wanted = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES))
    places = []
    for path in tracked(*TEXTS):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("tests/", "results/", ".ci/")) or name == "CHANGELOG.md":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            places += [f"{name}:{number} {match[0]}" for match in wanted.finditer(line)]
    return Count(len(places), tuple(places))


def shared_types() -> Count:
    """Names of classes and type aliases that several files define at their top level."""
    defined = defaultdict(set)
    for path in source_files():
        for node in parsed(path).body:
            is_alias = isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Subscript)
            if isinstance(node, ast.ClassDef):
                defined[node.name].add(path)
            elif is_alias:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", target.id):
                        defined[target.id].add(path)
    shared = {name: paths for name, paths in defined.items() if len(paths) > 1}
    return Count(
        len(shared),
        tuple(
            f"{name}: {', '.join(sorted(str(path.relative_to(ROOT)) for path in paths))}"
            for name, paths in sorted(shared.items())
        ),
    )


def imports() -> Mapping[str, set[str]]:
    """What each module imports of ours, inside functions too; imports for type checkers alone are left out."""
    modules = {}
    for path in source_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges: dict[str, set[str]] = {}
    for module, path in modules.items():
        edges[module] = set()
        for node in running(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                edges[module] |= {name if name in modules else node.module for name in names} & modules.keys()
            elif isinstance(node, ast.Import):
                edges[module] |= {alias.name for alias in node.names} & modules.keys()
        edges[module] -= {module}
    return edges


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree but those below `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from running(child)


def import_circles() -> Count:
    """Modules that reach themselves over imports."""
    edges = imports()

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for name in edges[waiting.pop()] - seen:
                seen.add(name)
                waiting.append(name)
        return seen

    reach = {module: reached(module) for module in edges}
    circles = {
        frozenset(other for other in reach if module in reach[other] and other in reach[module])
        for module in edges
        if module in reach[module]
    }
    return Count(sum(map(len, circles)), tuple(f"{len(circle)}: {', '.join(sorted(circle))}" for circle in circles))


def commands() -> dict[str, Count]:
    """Commands, and every option that their parsers accept, hidden ones too."""
    import typer

    from metaeval.cli.app import app

    options: dict[str, int] = {}

    def walk(command: object, words: list[str], context: object) -> None:
        # typer carries its own copy of click: what a group is shows in what it can do.
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                walk(command.get_command(context, name), [*words, name], context)
        else:
            options[" ".join(words)] = [each.param_type_name for each in command.params].count("option")

    root = typer.main.get_command(app)
    walk(root, [], root.make_context("metaeval", [], resilient_parsing=True))
    places = tuple(f"{name}: {number}" for name, number in sorted(options.items(), key=lambda item: -item[1]))
    return {"commands": Count(len(options), places), "settings": Count(sum(options.values()), places)}


def counts() -> dict[str, Count]:
    """Every count, by name."""
    return {
        **sizes(),
        **commands(),
        "weak names": weak_names(),
        "phrases": phrases(),
        "shared type names": shared_types(),
        "modules in import circles": import_circles(),
    }


def limits(record: dict, stages: dict[str, dict[str, int]]) -> dict[str, int]:
    """The most that each count may be: recorded counts, ceilings of the stage, and its exceptions.

    record: .ci/house.json. stages: the ceilings by stage, in order. Raises ValueError where an exception is above the
    ceiling of the stage before.
    """
    names = list(stages)
    at = names.index(record["stage"])
    for name, most in (exceptions := record.get("exceptions", {})).items():
        if at == 0 or most > stages[names[at - 1]][name]:
            raise ValueError(f"the exception for {name}, {most}, is above the ceiling of the stage before")
    return {**record["recorded"], **stages[record["stage"]], **exceptions}


def went_back(record: dict, stages: dict[str, dict[str, int]]) -> bool:
    """Whether .ci/house.json named a later stage in any commit before."""
    names = list(stages)
    file = RECORD.relative_to(ROOT).as_posix()
    command = ["git", "log", "--format=", "-p", "-G", '"stage"', "--", file]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    earlier = re.findall(r'^[+-] *"stage": "(\w+)"', log, re.MULTILINE)
    return any(names.index(stage) > names.index(record["stage"]) for stage in earlier)


def main() -> int:
    """Print the counts; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a count is above what it may be")
    parser.add_argument("--record", action="store_true", help="record counts that have fallen")
    parser.add_argument("--where", metavar="COUNT", help="print the places behind a count")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    now = counts()
    if given.where:
        print("\n".join(now[given.where].places))
        return 0
    record, stages = json.loads(RECORD.read_text()), json.loads(CEILINGS.read_text())
    most = limits(record, stages)
    above = [name for name, count in now.items() if count.number > most[name]]
    print(f"stage {record['stage']}")
    for name, count in now.items():
        kind = "recorded" if name in record["recorded"] else "ceiling"
        print(f"{name:26} {count.number:7,}   {kind} {most[name]:7,}{'   above' if name in above else ''}")
    if given.record:
        record["recorded"] = {name: min(now[name].number, number) for name, number in record["recorded"].items()}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    if above:
        print(f"Above: {', '.join(above)}. --where COUNT shows the places that a count has.")
    back = went_back(record, stages)
    if back:
        print("An earlier commit names a later stage: stages go forward, never back.")
    return int(given.check and bool(above or back))


if __name__ == "__main__":
    sys.exit(main())
