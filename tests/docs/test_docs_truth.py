"""The docs name commands, options, settings, files, pages and numbers that exist; code in them fits a narrow screen."""

import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.config_files import variants
from tests.cli.samples import every_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "cards", "jupyter_execute"} & {*path.parts})
TEXTS = [*PAGES, *ROOT.glob("*.md"), ROOT / "results" / "README.md"]
FENCE = re.compile(r"^```(\{code-cell\} ipython3|sh|python|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
WIDEST = 78
COMMANDS = every_command()


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(path):
    """The code that a page shows: its language (sh or python), and its text."""
    for language, text in FENCE.findall(path.read_text(encoding="utf-8")):
        if text.startswith(":tags: [remove-input]"):
            continue
        code = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(":tags:"))
        shell = language in ("sh", "bash", "console") or code.startswith("%%bash")
        yield "sh" if shell else "python", code


def shell_lines(path):
    """Commands of a page's shell blocks, each whole, without comments."""
    for language, code in blocks(path):
        if language == "sh":
            yield from (line.split(" # ")[0].strip() for line in code.replace("\\\n", " ").splitlines() if line.strip())


def anchors(path):
    """The anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#{1,3} (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_every_link_leads_to_a_file_and_a_heading():
    links = [(path, *link) for path in TEXTS for link in LINK.findall(path.read_text(encoding="utf-8"))]
    for path, target, anchor in links:
        if "://" in target or target.startswith("mailto:"):
            continue
        place = path if not target else (path.parent / target).resolve()
        assert place.exists(), (path, target)
        assert not anchor or anchor in anchors(place), (path, target, anchor)


def test_every_page_that_source_and_texts_name_exists():
    named = re.compile(r"docs/[\w/.-]+\.md")
    source = (path for room in ("metaeval", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py"))
    files = [*TEXTS, ROOT / "Makefile", *source]
    missing = {
        f"{name_of(path)}: {page}"
        for path in files
        for page in named.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / page).exists()
    }
    assert missing == set()


def typed(line):
    """The commands of a line that call metaeval or make, each as its words."""
    for part in re.split(r"&&|\|\|?|;", line.removeprefix("$ ")):
        words = shlex.split(part.split(" > ")[0])
        while words and re.fullmatch(r"\w+=.*|time|command|do", words[0]):
            words = words[1:]
        if words and Path(words[0]).name in ("metaeval", "make"):
            yield words


def test_every_command_and_option_exists():
    lines = [line for path in (ROOT / "README.md", *PAGES) for line in shell_lines(path)]
    commands = [words for line in lines if re.search(r"(^|[ /])(metaeval|make) ", line) for words in typed(line)]
    assert len(commands) > 100
    for name, *words in commands:
        (make_is_known if name == "make" else command_is_known)(words)


def command_is_known(words):
    """Check a command's name, its options, and the registered names behind -m, -d and -p."""
    name = next((" ".join(words[:length]) for length in (2, 1) if " ".join(words[:length]) in COMMANDS), None)
    if name is None:
        first = words[0] if words else ""
        assert first == "cite" or first.startswith("-"), words
        return
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts} | {"--help"}
    given = {word.split("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    assert given <= known, f"{name}: {given - known}"
    kinds = {"-m": "metric", "--nli": "metric", "-d": "dataset", "-p": "protocol", "--protocol": "protocol"}
    for option, value in pairwise(words):
        if option in kinds and ":" not in value:
            names = {*registry.names(kinds[option]), *variants(f"{kinds[option]}s"), "all", "published"}
            assert {*value.split(",")} <= names, f"{name} {option} {value}"
        if option in ("-s", "--set") and value.split("=")[0].split(".")[0] in RunConfig.model_fields:
            first, *rest = value.split("=")[0].split(".")
            inner = getattr(RunConfig.model_fields[first].annotation, "model_fields", None)
            assert not rest or inner is None or rest[0] in inner, value


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def make_is_known(words):
    """Check that the Makefile has the targets and the settings."""
    for word in words:
        setting = word.partition("=")[0]
        known = re.search(rf"\$\((?:if )?{setting}\b|^{setting}\b", MAKEFILE, re.MULTILINE)
        assert known, f"make {word}"


def test_code_fits_a_narrow_screen():
    lines = [line for path in PAGES for _, code in blocks(path) for line in code.splitlines()]
    assert [line for line in lines if len(line) > WIDEST and " " in line.strip()] == []


def test_tutorials_use_metrics_that_need_no_model():
    # `nli=` is also the name of a parameter.
    offline = {"overlap", "rouge", "bm25", "support-mini", "ensemble", "nli"}
    tutorials = (DOCS / "tutorials").glob("*.md")
    words = {word for path in tutorials for _, code in blocks(path) for word in re.findall(r"[\w-]+", code)}
    assert words & {*registry.names("metric")} <= offline


def test_no_page_reads_a_folder_that_nobody_has():
    assert [name_of(path) for path in TEXTS[: len(PAGES)] if "shared/data" in path.read_text(encoding="utf-8")] == []
    assert "shared/data" not in MAKEFILE.partition("\nhelp:")[2].partition("\nclean:")[0]


@pytest.mark.parametrize(
    ("kind", "page"), [("metric", "metrics.md"), ("dataset", "datasets.md"), ("protocol", "options/settings.md")]
)
def test_every_registered_name_is_on_its_page(kind, page):
    text = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert [name for name in registry.names(kind) if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_the_page_about_installation_names_the_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (DOCS / "how-to" / "install.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == extras.keys()


def test_numbers_of_the_page_about_measures_are_the_defaults():
    page = (DOCS / "reference" / "measures.md").read_text(encoding="utf-8")
    defaults = RunConfig()
    assert f"at most {defaults.chunk.size} words" in page
    assert f"`evidence.threshold` = {defaults.evidence.threshold}" in page
    assert f"`evidence.rule` = {defaults.evidence.rule}" in page
