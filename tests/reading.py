"""The reading test: a reader who has not seen the code says what docstrings, messages, file names and help mean.

`python tests/reading.py FOLDER --seed 5` draws 30 docstrings with their signatures, 20 messages, 10 file names and the
first page of help into FOLDER/draw.md. The reader writes down what each item means, then opens FOLDER/key.md, which
says where each item stands in the source, and judges what was written: right, partly right (counted as half) or wrong.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("metaeval", "protocols", "metrics_zoo")
WORDS_OF_A_MESSAGE = 6

Item = tuple[str, str]
"""What the reader sees, and its place in the source."""


def source_files() -> list[Path]:
    """Return the Python files of the package, the protocols and the metrics, without empty `__init__.py`."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.stat().st_size > 200)


def docstrings(path: Path, tree: ast.Module) -> Iterator[Item]:
    """Yield each docstring of a file's classes and functions below its signature, as `help()` shows it."""
    place = path.relative_to(ROOT)
    for node, owner in _definitions(tree, ""):
        text = ast.get_docstring(node)
        if text:
            yield f"In {place}:\n\n```python\n{_signature(node, owner)}\n```\n\n{text}", f"{place}:{node.lineno}"


def _definitions(node: ast.AST, owner: str) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    """Yield classes, methods and functions, each with the dotted name of the class that holds it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child, owner
        if isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{owner}{child.name}.")


def _signature(node: ast.FunctionDef | ast.ClassDef, owner: str) -> str:
    """Return `def Class.name(parameters) -> type`, or a class with its annotated fields."""
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        kind = "".join(f"@{ast.unparse(decorator)}\n" for decorator in node.decorator_list)
        return f"{kind}def {owner}{node.name}({ast.unparse(node.args)}){returns}"
    bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    fields = [f"    {ast.unparse(field)}" for field in node.body if isinstance(field, ast.AnnAssign)]
    return "\n".join([f"class {owner}{node.name}{bases}", *fields])


def messages(path: Path, tree: ast.Module) -> Iterator[Item]:
    """Yield the text of each error that is raised with a sentence; values are shown as ‹expression›."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = _text(node.exc.args[0])
            if len(text.split()) >= WORDS_OF_A_MESSAGE:
                yield text, f"{path.relative_to(ROOT)}:{node.lineno}"


def _text(node: ast.expr) -> str:
    """Return a string expression as its reader sees it, or "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else part for part in node.values)
        return "".join(f"‹{part}›" if isinstance(part, str) else part.value for part in parts)
    return _text(node.left) + _text(node.right) if isinstance(node, ast.BinOp) else ""


def draw(seed: int) -> dict[str, list[Item]]:
    """Return the items drawn by a seed, by kind."""
    files = source_files()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    population = {
        "Docstrings": (30, [item for path, tree in trees.items() for item in docstrings(path, tree)]),
        "Messages": (20, [item for path, tree in trees.items() for item in messages(path, tree)]),
        "File names": (10, [(str(path.relative_to(ROOT)),) * 2 for path in files]),
    }
    generator = random.Random(seed)
    return {kind: generator.sample(items, count) for kind, (count, items) in population.items()}


def main() -> None:
    """Write the draw and its key."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    drawn, key = [], []
    for kind, items in draw(options.seed).items():
        drawn.append(f"# {kind}\n")
        key.append(f"# {kind}\n")
        for number, (shown, place) in enumerate(items, 1):
            drawn.append(f"## {kind[0]}{number}\n\n{shown}\n")
            key.append(f"{kind[0]}{number}: {place}")
    run = subprocess.run([sys.executable, "-m", "metaeval", "--help"], capture_output=True, text=True, check=True)
    drawn.append(f"# Help\n\n```\n{run.stdout}\n```\n")
    (options.folder / "draw.md").write_text("\n".join(drawn), encoding="utf-8")
    (options.folder / "key.md").write_text("\n".join(key) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
