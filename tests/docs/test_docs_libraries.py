"""docs/reference/policies.md says where each library is used: held against the imports of the source."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
IMPORTED_AS = {
    "bert-score": "bert_score",
    "charset-normalizer": "charset_normalizer",
    "pytrec-eval-terrier": "pytrec_eval",
    "rouge-score": "rouge_score",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
}
OFFICIAL = "metaeval/runs/official/official_scores.py"
CALLS = ("import_module", "importorskip")


def imports(text):
    """The top packages that a source imports, also by a call that names them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in CALLS:
            yield str(getattr(node.args[0], "value", "")).partition(".")[0]


def room(path):
    """The folder that a file of the source belongs to, as the page names it."""
    parts = path.relative_to(HERE).parts
    return parts[0] if parts[0] != "metaeval" or len(parts) == 2 else "/".join(parts[:2])


@pytest.fixture(scope="module")
def users():
    """The files of the source, of the tests and of the benchmarks that import a package, by package."""
    found = {}
    asked = [IMPORTED_AS.get(library, library) for library in rows()]
    for folder in ("metaeval", "metrics_zoo", "protocols", "tests", "benchmarks"):
        for path in (HERE / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(package in text for package in asked):  # the rest need not be parsed
                for package in imports(text):
                    found.setdefault(package, set()).add(path)
    return found


def rows():
    """The table's cells, by library."""
    page = (HERE / "docs" / "reference" / "policies.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return {cells[0].strip("`"): cells[1:] for cells in lines[2:]}


@pytest.mark.parametrize("library", rows())
def test_a_library_is_used_where_the_page_says(users, library):
    engine, reference, tests, _ = rows()[library]
    files = users.get(IMPORTED_AS.get(library, library), set())
    source = {path for path in files if path.relative_to(HERE).parts[0] not in ("tests", "benchmarks")}
    official = {path for path in source if str(path.relative_to(HERE)) == OFFICIAL}
    assert set(re.findall(r"`([\w/]+)`", engine)) == {room(path) for path in source - official}
    assert (reference != "-") == bool(official)
    assert (tests != "-") == bool(files - source)
