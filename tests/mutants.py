"""Mutants: are the tests able to fail? `make mutants` changes the source in 150 places, one at a time, and counts.

The places are drawn by a seed from every comparison, operator, number, truth value, condition, return and statement.
Each room (a folder of the package, the protocols, the metrics) has a share of them as large as its share of the lines.
Each mutant lives in a copy of the tree, never in the working tree. Against it run the tests that execute its line, the
fastest first, until one fails. Which test executes which line is recorded by test file, kept in .mutants/, and recorded
again for the test files that changed or that execute a source file that did. mutants_equivalent.txt lists mutants that
no test can kill, each with its reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import hashlib
import importlib
import importlib.util
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import CodeType, FunctionType

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "protocols", "metrics_zoo")
EXTRAS = {"metaeval/scoring/executors/ray.py": "ray", "metaeval/runs/official/official_scores.py": "summac"}
"""Files whose tests are skipped where a package is missing: no mutants of them are drawn there."""
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.txt")
CACHE = ROOT / ".mutants"

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Keywords whose value cannot be seen in a result: guards, what a model's output is formatted with, and what becomes of
# a thread or a bar of progress at the end.
UNSEEN = {"strict", "slots", "frozen", "kw_only", "stacklevel", "description", "examples", "daemon", "transient"}


@dataclass(frozen=True)
class Mutant:
    """One change: its place, the statement before and after, the file with it, and whether the line runs on import."""

    file: str
    line: int
    function: str
    before: str
    after: str
    source: str
    on_import: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it while lines move: file and function, statement before, statement after."""
        return f"{self.file}::{self.function}", self.before, self.after


def mutants_of(file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of the file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    module = ast.parse(text)
    bodies = [
        range(node.body[0].lineno, node.end_lineno + 1)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
    ]
    for function, statement, node, other in _changes(module, "<module>", None):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        new = ast.unparse(other)
        new = new if isinstance(node, ast.stmt) else f"({new})"
        source = (data[:begin] + new.encode() + data[end:]).decode()
        before, after = _header(statement), _header(_swapped(statement, node, other))
        on_import = not any(node.lineno in body for body in bodies)
        yield Mutant(file, node.lineno, function, before, after, source, on_import)


def _changes(node, function, statement):
    """(function, statement, node, its replacement) for every change below a node."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = node.name if function == "<module>" else f"{function}.{node.name}"
        inside = [child for child in node.body if not _is_docstring(child)]
        defaults = node.args.defaults + node.args.kw_defaults if isinstance(node, ast.FunctionDef) else []
        for child in [*(one for one in defaults if one is not None), *inside]:
            yield from _changes(child, name, node if child in defaults else statement)
        return
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.Raise | ast.JoinedStr) or _is_docstring(node):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    for other in _replacements(node):
        yield function, statement, node, other
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or (isinstance(node, ast.keyword) and node.arg in UNSEEN):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child, function, statement)


def _replacements(node):
    """What a node may be replaced by."""
    match node:
        case ast.Compare(ops=[operator]):
            for kind in COMPARISONS.get(type(operator), ()):
                yield ast.Compare(node.left, [kind()], node.comparators)
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)) if value:
            yield ast.Constant(value * 2)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.IfExp() | ast.While():
            return
        case ast.comprehension():
            return


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _swapped(statement, node, other):
    """The statement with the node replaced."""
    if statement is node:
        return other
    changed = copy.deepcopy(statement)
    for mine, theirs in zip(ast.walk(statement), ast.walk(changed), strict=True):
        for name, value in ast.iter_fields(mine):
            if value is node:
                setattr(theirs, name, other)
            elif isinstance(value, list) and any(one is node for one in value):
                getattr(theirs, name)[[one is node for one in value].index(True)] = other
    return changed


def _header(statement):
    """A statement on one line; of a compound one its first, decorators left out."""
    return next(line for line in ast.unparse(statement).split("\n") if not line.startswith("@"))


def room_of(file: str) -> str:
    """The folder of the package that a file lies in, the package itself for the files above these folders."""
    return "/".join(Path(file).parent.parts[:2])


def quotas(lines: dict[str, int], count: int) -> dict[str, int]:
    """How many of `count` each room gets, by its lines: whole numbers by the largest remainders."""
    exact = {room: count * own / sum(lines.values()) for room, own in lines.items()}
    left = count - sum(int(share) for share in exact.values())
    first = sorted(exact, key=lambda room: (int(exact[room]) - exact[room], room))[:left]
    return {room: int(share) + (room in first) for room, share in exact.items()}


def draw(count: int, seed: int, folders: tuple[str, ...]) -> list[Mutant]:
    """`count` mutants of folders, the same for the same seed and source, and hardly others after a change elsewhere.

    Each mutant has a random number of its own, which its seed, its key and its rank among equal keys give.
    """
    files = sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py"))
    tested = [file for file in files if file not in EXTRAS or importlib.util.find_spec(EXTRAS[file])]
    lines: Counter[str] = Counter()
    seen: Counter[tuple[str, str, str]] = Counter()
    numbered = defaultdict(list)
    for file in tested:
        lines[room_of(file)] += len((ROOT / file).read_text(encoding="utf-8").splitlines())
        for mutant in mutants_of(file):
            number = random.Random(repr((seed, mutant.key, seen[mutant.key]))).random()
            numbered[room_of(file)].append((number, mutant))
            seen[mutant.key] += 1
    quota = quotas(dict(lines), count)
    drawn = [
        pair for room, mutants in numbered.items() for pair in sorted(mutants, key=lambda pair: pair[0])[: quota[room]]
    ]
    return [mutant for _, mutant in sorted(drawn, key=lambda pair: pair[0])]


def equivalents() -> set[tuple[str, str, str]]:
    """The listed mutants: blocks of a place, the statement before and the statement after; # starts a reason."""
    lines = [line.strip() for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in lines if line and not line.startswith("#")]
    return set(zip(kept[0::3], kept[1::3], kept[2::3], strict=True))


def tree_files() -> list[str]:
    """The files of the working tree that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in sorted(set(listed.stdout.split("\0"))) if name and (ROOT / name).is_file()]


def copied(folder: Path) -> Path:
    """A copy of the tree in a folder, with the data beside it."""
    tree = folder / "tree"
    for name in tree_files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tree / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return tree


def run_tests(tree: Path, arguments: list[str], limit: float | None = None, **environment: str):
    """Run pytest in a copy of the tree: its exit code and what it printed; None if it ran too long."""
    out = tree.parent / "out.txt"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    with out.open("w", encoding="utf-8") as said:
        environment = {**os.environ, "PYTHONPATH": str(tree), **environment}
        process = subprocess.Popen(command, cwd=tree, env=environment, stdout=said, stderr=said, start_new_session=True)
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
    return process.returncode, out.read_text(encoding="utf-8", errors="replace")


class Tests:
    """A process that has collected all tests in a copy of the tree, and forks for every mutant that it is asked to try.

    A fork has the mutant in the functions that were imported; what it starts finds it in the file.
    """

    def __init__(self, folder: Path) -> None:
        self.tree = copied(folder)
        self.sound: set[str] = set()
        self.broken: set[str] = set()
        self.ready = False
        subprocess.run([sys.executable, "-m", "compileall", "-q", "."], cwd=self.tree, check=True)
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = ["-p", "no:cacheprovider", "-p", "tests.mutants", f"--basetemp={folder / 'temporary'}", "tests"]
        with (folder / "server.txt").open("w", encoding="utf-8") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments],
                cwd=self.tree,
                env={**os.environ, "PYTHONPATH": str(self.tree), "MUTANTS_SOCKET": str(theirs.fileno())},
                stdout=out,
                stderr=out,
                pass_fds=[theirs.fileno()],
            )
        theirs.close()

    def ended(self, mutant: Mutant, tests: list[str], seconds, *, anew: bool) -> str:
        """ "killed" with the test that did it, or "survived". anew: in processes that import everything themselves."""
        # Until the process answers it imports: a mutant that it finds in a file would stay in all that follow.
        self.ready = self.ready or self._asked("", [], 600) == "passed"
        path = self.tree / mutant.file
        original, was = path.read_bytes(), path.stat()
        path.write_text(mutant.source, encoding="utf-8")
        os.utime(path, (was.st_atime, was.st_mtime + 100))  # compiled files go by size and time
        # The fastest alone first: most mutants die there.
        parts = [part for part in (tests[:FIRST], tests[FIRST:]) if part]
        try:
            while parts:
                asked = [test for test in _by_file(parts[0], seconds) if test not in self.broken]
                limit = 30 + 5 * sum(seconds.get(test, 1.0) for test in asked)
                said = self._anew(asked, limit) if anew else self._asked(mutant.file, asked, limit)
                if said == "passed":
                    parts.pop(0)
                elif said in self.sound or not said.startswith("tests/"):
                    return f"killed by {said}"
                else:  # does it fail without the mutant too?
                    path.write_bytes(original)
                    alone = self._asked("", [said], limit)
                    path.write_text(mutant.source, encoding="utf-8")
                    os.utime(path, (was.st_atime, was.st_mtime + 100))
                    (self.sound if alone == "passed" else self.broken).add(said)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        return "survived" if tests else "survived: no test executes it"

    def _asked(self, file: str, tests: list[str], limit: float) -> str:
        asked = {"file": file, "tests": tests, "limit": limit}
        (self.tree.parent / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
        self._ours.send(b"?")
        said = self._ours.recv(10_000).decode()
        if not said:
            raise RuntimeError((self.tree.parent / "server.txt").read_text(encoding="utf-8")[-2000:])
        return self._anew(tests, limit) if said == "not changed" else said

    def _anew(self, tests: list[str], limit: float) -> str:
        """In a process that imports everything with the mutant."""
        listed = self.tree.parent / "tests.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        ended = run_tests(self.tree, ["-x", f"@{listed}"], limit + 60)
        if ended is None:
            return "running too long"
        code, out = ended
        # With errors of collection the mutant keeps a file of tests from being imported.
        if code == USAGE_ERROR and not re.search(r"\d errors? in", out):
            raise RuntimeError(f"the recorded tests cannot be run: {out[-500:]}")
        failed = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
        said = failed[0].split(" - ")[0].split(" ", 1)[1] if failed else f"exit code {code}"
        return "passed" if code in (0, 5) else said if "::" in said else f"error {said}"

    def close(self) -> None:
        """End the process."""
        self._ours.close()
        self._process.wait()


def _by_file(tests: list[str], seconds) -> list[str]:
    """The tests file by file, so that a file's fixtures are made once; the files that take least first."""
    files = defaultdict(list)
    for test in tests:
        files[test.split("::")[0]].append(test)
    return [
        test
        for own in sorted(files.values(), key=lambda own: sum(seconds.get(one, 0.0) for one in own))
        for test in own
    ]


class CannotChangeError(Exception):
    """The mutant of a function needs its file to be imported anew."""


class Forking:
    """The plugin of that process: in place of running the tests it waits for what is asked."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel, self.failed = channel, ""

    def pytest_runtestloop(self, session):
        """Answer until nothing more is asked."""
        items = {item.nodeid: item for item in session.items}
        for name in filter(importlib.util.find_spec, LATER):
            importlib.import_module(name)
        gc.unfreeze()
        here, functions = f"{Path.cwd()}/", defaultdict(list)
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(here):
                functions[one.__code__.co_filename.removeprefix(here)].append(one)
        originals = {file: _codes(file) for file in functions if file.startswith(PACKAGES)}
        gc.collect()
        gc.freeze()
        while self.channel.recv(1):
            asked = json.loads(Path("../asked.json").read_text(encoding="utf-8"))
            reads, writes = os.pipe()
            child = os.fork()
            if not child:
                os.setsid()
                try:
                    _change(asked["file"], functions[asked["file"]], originals.get(asked["file"], {}))
                    said = self.run([items[test] for test in asked["tests"] if test in items])
                except CannotChangeError:
                    said = "not changed"
                os.write(writes, said.encode())
                os._exit(0)
            os.close(writes)
            ready, _, _ = select.select([reads], [], [], asked["limit"])
            said = (os.read(reads, 10_000).decode() or "an end of the process") if ready else "running too long"
            os.close(reads)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self.channel.send(said.encode())
        os._exit(0)

    def run(self, chosen) -> str:
        """The first test that fails, else "passed"."""
        for item, following in zip(chosen, [*chosen[1:], None], strict=False):
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException as error:  # noqa: BLE001 - pytest's own exits are no exceptions
                return f"{type(error).__name__} in {item.nodeid}"
            if self.failed:
                return self.failed
        return "passed"

    def pytest_runtest_logreport(self, report):
        """Keep what failed."""
        if report.failed:
            self.failed = report.nodeid


def _codes(file: str):
    """The code objects of a file by qualified name, in their order."""
    found, waiting = defaultdict(list), [compile(Path(file).read_bytes(), str(Path.cwd() / file), "exec")]
    for code in waiting:
        found[code.co_qualname].append(code)
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def _change(file: str, functions, before) -> None:
    """Give the functions of a file the code that the file has now."""
    after = _codes(file) if before else {}
    for function in functions:
        name = function.__code__.co_qualname
        for own, new in zip(before.get(name, ()), after.get(name, ()), strict=False):
            if own == function.__code__ and own != new:
                try:
                    function.__code__ = new
                except ValueError as error:  # it reads other variables of the function around it
                    raise CannotChangeError from error
                break


# --- which test executes which line: this module is a pytest plugin too -----------------------------------------------


class Lines:
    """Records per test the lines of the packages that it executes, and its time. One file a process."""

    def __init__(self, folder: Path) -> None:
        """Start at once: lines that run on import belong to no test."""
        from coverage import Coverage

        self.folder, self.seconds, self.failed = folder, {}, set()
        self.coverage = Coverage(data_file=None, config_file=False, include=[f"{package}/*" for package in PACKAGES])
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid):
        """Lines belong to this test from here on."""
        self.coverage.switch_context(nodeid)
        self.began = time.perf_counter()

    def pytest_runtest_logreport(self, report):
        """A test that fails without any mutant proves nothing."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        """What fixtures do between tests belongs to none."""
        self.seconds[nodeid] = time.perf_counter() - self.began
        self.coverage.switch_context("")

    def pytest_sessionfinish(self):
        """Write what was seen."""
        self.coverage.stop()
        data, tree, lines = self.coverage.get_data(), Path.cwd(), {}
        for file in data.measured_files():
            name = Path(file).resolve().relative_to(tree.resolve()).as_posix()
            seen = data.contexts_by_lineno(file)
            lines[name] = {line: [test for test in tests if test not in self.failed] for line, tests in seen.items()}
        record = {"lines": lines, "seconds": self.seconds}
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(record), encoding="utf-8")


def pytest_configure(config):
    """Record in the processes that run tests."""
    folder = os.environ.get("MUTANTS_LINES")
    if folder and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Lines(Path(folder)))
    if asked := os.environ.pop("MUTANTS_SOCKET", None):
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        config.pluginmanager.register(Forking(socket.socket(fileno=int(asked))))


def recorded(workers: int):
    """(file -> line -> tests, test -> seconds), recorded anew for the test files whose record no longer holds."""
    contents = {name: (ROOT / name).read_bytes() for name in tree_files() if name.endswith(".py")}
    wanted = [name for name in contents if name.startswith("tests/") and Path(name).name.startswith("test_")]

    def digest(test: str, sources) -> str:
        """Of the test file, of the fixtures above it, and of the source files that it executes."""
        fixtures = [(folder / "conftest.py").as_posix() for folder in Path(test).parents]
        parts = [contents.get(name, b"") for name in (test, *fixtures, *sorted(sources))]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    path = CACHE / "lines.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    stale = [test for test in wanted if test not in kept or kept[test]["digest"] != digest(test, kept[test]["lines"])]
    if stale:
        with tempfile.TemporaryDirectory() as folder:
            tree, seen = copied(Path(folder)), Path(folder) / "seen"
            seen.mkdir()
            parallel = ["-n", str(workers), "--dist", "loadfile"] if workers > 1 and len(stale) > 1 else []
            arguments = ["-p", "tests.mutants", "-m", "not slow", *parallel, *stale]
            _, out = run_tests(tree, arguments, MUTANTS_LINES=str(seen))
            print(f"recorded: {out.strip().splitlines()[-1]}", flush=True)
            if not any(seen.iterdir()):
                raise SystemExit(out[-2000:])
            new = {test: {"lines": {}, "seconds": {}} for test in stale}
            for part in (json.loads(one.read_text(encoding="utf-8")) for one in seen.iterdir()):
                for test, seconds in part["seconds"].items():
                    new[test.split("::")[0]]["seconds"][test] = seconds
                for file, own in part["lines"].items():
                    for line, names in own.items():
                        for test in filter(None, names):
                            new[test.split("::")[0]]["lines"].setdefault(file, {}).setdefault(line, []).append(test)
        kept |= {test: {**one, "digest": digest(test, one["lines"])} for test, one in new.items()}
        CACHE.mkdir(exist_ok=True)
        path.write_text(json.dumps(kept), encoding="utf-8")
    lines, seconds = defaultdict(lambda: defaultdict(list)), {}
    for test in wanted:
        seconds |= kept[test]["seconds"]
        for file, own in kept[test]["lines"].items():
            for line, names in own.items():
                lines[file][line] += names
    return lines, seconds


def tests_for(mutant: Mutant, lines, seconds) -> list[str]:
    """Tests that execute the line, fastest first; where it runs on import or none is seen to execute it, those that
    execute anything of the file, or whose text names it for a process of its own. Then what stands beside them."""
    own = lines.get(mutant.file, {})
    seen = set() if mutant.on_import else set(own.get(str(mutant.line), ()))
    found = set(seen)
    if not seen:
        module = mutant.file.removesuffix(".py").replace("/", ".")
        naming = {name for name in {test.split("::")[0] for test in seconds} if module in (ROOT / name).read_text()}
        found = {test for tests in own.values() for test in tests}
        found |= {test for test in seconds if test.split("::")[0] in naming | DECLARATIONS}
    # A line of a fixture that a file shares is seen in the first test that uses it, and what is seen in no test may run
    # in a process that one of the same file starts: the others of such files of tests come last.
    files = Counter(test.split("::")[0] for test in found)
    most = 3 if seen else len(seconds)
    others = {test for test in seconds if 0 < files[test.split("::")[0]] <= most} - found
    return sorted(found | others, key=lambda test: (test in others, seconds.get(test, 0.0), test))


DECLARATIONS = {"tests/cli/test_cli_options.py", "tests/cli/test_cli_parity.py"}
"""Tests that compare all that is declared with the pages that list it."""
FIRST, USAGE_ERROR = 25, 4
LATER = ("torch", "transformers", "spacy", "matplotlib.pyplot")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=150, help="number of mutants")
    parser.add_argument("--seed", type=int, default=12, help="seed of the draw")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants tested at a time")
    parser.add_argument("--least", type=float, default=0.95, help="share that must be killed; exit code 1 below it")
    parser.add_argument("--folders", nargs="+", default=PACKAGES, help="folders of source")
    parser.add_argument("--only", nargs="+", type=int, help="numbers of the draw, the others are left out")
    parser.add_argument("--list", action="store_true", help="print the draw and stop")
    options = parser.parse_args()
    drawn = list(enumerate(draw(options.count, options.seed, tuple(options.folders)), 1))
    if options.only:
        drawn = [pair for pair in drawn if pair[0] in options.only]
    listed = equivalents()
    if options.list:
        for number, mutant in drawn:
            print(_shown(number, mutant, "equivalent" if mutant.key in listed else ""))
        return 0
    os.environ["OMP_NUM_THREADS"] = "1"
    lines, seconds = recorded(options.workers)
    with tempfile.TemporaryDirectory() as folder:
        waiting: SimpleQueue[Tests] = SimpleQueue()
        for number in range(options.workers):
            (Path(folder) / str(number)).mkdir()
            waiting.put(Tests(Path(folder) / str(number)))
        printing = threading.Lock()

        def decide(pair: tuple[int, Mutant]) -> str:
            number, mutant = pair
            if mutant.key in listed:
                ended = "equivalent"
            else:
                free = waiting.get()
                try:
                    anew = mutant.on_import or str(mutant.line) not in lines.get(mutant.file, {})
                    began = time.perf_counter()
                    ended = free.ended(mutant, tests_for(mutant, lines, seconds), seconds, anew=anew)
                    ended += f" [{time.perf_counter() - began:.1f} s{' anew' * anew}]"
                finally:
                    waiting.put(free)
            with printing:
                print(_shown(number, mutant, ended), flush=True)
            return ended.split(" ")[0].rstrip(":")

        with ThreadPoolExecutor(options.workers) as pool:
            found = list(pool.map(decide, drawn))
        for _ in range(options.workers):
            waiting.get().close()
    killed, equivalent = found.count("killed"), found.count("equivalent")
    share = killed / max(1, len(found) - equivalent)
    print(f"{killed} killed, {found.count('survived')} survived, {equivalent} equivalent: {share:.1%} killed")
    return int(share < options.least)


def _shown(number: int, mutant: Mutant, ended: str) -> str:
    place = f"{number:3d} {mutant.file}:{mutant.line} {mutant.function}"
    return f"{place}\n      {mutant.before}\n   -> {mutant.after}\n      {ended}"


if __name__ == "__main__":
    sys.exit(main())
