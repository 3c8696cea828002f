"""The docs site: `make docs` builds it, runs the tutorials and fails on any warning."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval import __version__
from metaeval.analyses.metrics import card_lines, in_words
from metaeval.core import registry
from metaeval.core.declared import option_docs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx

project = "metaeval"
release = __version__
project_copyright = "the metaeval contributors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "jupyter_execute"]
html_theme = "furo"
html_title = f"metaeval {release}"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# A tutorial runs in a folder of its own; a cell that fails fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_output_stderr = "remove"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "literal"
smartquotes = False  # they would make dashes of the two hyphens of an option

HERE = Path(__file__).parent
CARDS = HERE / "reference" / "cards"


def write_cards(app: Sphinx) -> None:
    """Write a page for each registered metric and data set, from its card."""
    for kind, page in (("metric", _metric_page), ("dataset", _dataset_page)):
        for name in registry.names(kind):
            path = CARDS / kind / f"{name.replace(':', '-')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(page(name)) + "\n", encoding="utf-8")


def _metric_page(name: str) -> Iterator[str]:
    kind = registry.find("metric", name)
    yield from (
        f"# {name}",
        "",
        f"{(kind.__doc__ or kind.card.summary).strip().partition(chr(10))[0]}",
        "",
    )
    yield from _table(("field", "value"), card_lines(asdict(kind.card)))
    words = option_docs(kind.Options)
    options = [
        (key, in_words(one.default), words.get(key, ""))
        for key, one in kind.Options.model_fields.items()
    ]
    if options:
        yield from (
            "",
            "## Options",
            "",
            f"`--set metric_options.{name}.NAME=VALUE`",
            "",
        )
        yield from _table(("option", "default", "what it decides"), options)


def _dataset_page(name: str) -> Iterator[str]:
    card = registry.find("dataset", name)
    yield from (f"# {name}", "", f"{card.title}.", "")
    fields = (
        "origin",
        "commit",
        "licence",
        "citation",
        "schema",
        "kind",
        "default_split",
        "note",
    )
    rows = card_lines({key: getattr(card, key) for key in fields})
    files = [
        (split, file.name, f"{file.size:,}", file.sha256)
        for split in card.files
        for file in card.files[split]
    ]
    yield from _table(("field", "value"), [row for row in rows if row[1]])
    if files:
        yield from ("", "## Files", "")
        yield from _table(("split", "file", "bytes", "SHA-256"), files)
    if card.options:
        yield from (
            "",
            "## Options",
            "",
            f"`--set dataset_options.{name}.NAME=VALUE`",
            "",
        )
        options = (
            (key, in_words(one.default), one.help)
            for key, one in card.options.items()
        )
        yield from _table(("option", "default", "what it decides"), options)


def _table(
    head: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;').replace(chr(10), ' ') for cell in row)} |"


def copy_reference_page(app: Sphinx, error: Exception | None) -> None:
    """Put the page of the reference results into the site, and the packs that it links to."""
    if error is None and app.builder.format == "html":
        kept = HERE.parent / "results" / "reference"
        shutil.copyfile(
            kept / "index.html", Path(app.outdir) / "reference-results.html"
        )
        shutil.copytree(
            kept / "packs", Path(app.outdir) / "packs", dirs_exist_ok=True
        )


def leave_out(
    _app: Sphinx,
    _what: str,
    _name: str,
    member: object,
    skipped: bool,
    _options: object,
) -> bool | None:
    """Leave out a named tuple's fields: its own docstring explains them."""
    return (
        True
        if str(member.__doc__).startswith("Alias for field number")
        else None
    )


def repository() -> str:
    """Return the repository's address, "" where the project has none."""
    project = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
    return (
        tomllib.loads(project)["project"]
        .get("urls", {})
        .get("Repository", "")
    )


def fill_address(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the repository's address, where the project has one, into the page about installation."""
    if page == "how-to/install" and (address := repository()):
        source[0] = source[0].replace(
            "git clone ADDRESS", f"git clone {address}"
        )


def setup(app: Sphinx) -> None:
    """Have the cards' pages written before any page is read, and shell.py read by the tutorials' kernel."""
    folder = Path(tempfile.mkdtemp())
    app.connect("build-finished", lambda *_: shutil.rmtree(folder))
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    shutil.copy(HERE / "shell.py", startup)
    os.environ["IPYTHONDIR"] = str(folder)
    app.connect("build-finished", copy_reference_page)
    app.connect("builder-inited", write_cards)
    app.connect("source-read", fill_address)
    app.connect("autodoc-skip-member", leave_out)
