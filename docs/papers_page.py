"""The page of what repeats the papers, made from `docs/papers/*.yaml`: `python docs/papers_page.py`.

There is one file for each paper, with a row for each of its tables, figures and named experiments.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import click
import typer.main
from metaeval import registry
from metaeval.analyses.analysis import DeclaredOptions
from metaeval.errors import UserError
from metaeval.parsing import read_yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

HERE = Path(__file__).parent
PAGE = HERE / "papers.md"
NEEDS = {
    "data": "published data, or answers of one's own",
    "model": "the weights of a model",
    "gpu": "a GPU, for hours rather than days",
    "money": "a chat model that is paid for",
    "people": "people who label",
}
_WIDEST = 76
_SHELL_ONLY = ("set", "full", "json", "quiet")
_ORDER = ("base", "aliice", "scifi", "citeeval")
_TITLE = """# The papers, table by table

Four papers are what metaeval started from. For each of their tables, figures and named experiments this page says which
commands repeat it, what these need, what was run here and what came out, and what was not run and why. Nothing is
called reproduced that was not: a number of a paper stands beside ours only where data, split and rule are the paper's.

The page is made from `docs/papers/*.yaml` by `python docs/papers_page.py`. A test gives every command to the real
command line, and compares the page with the files. A file or folder in a command stands for your own.

| need | is |
| --- | --- |
"""


class Row(BaseModel):
    """One table, figure or experiment of a paper.

    part: its name in the paper. shows: one short clause. commands: complete command lines (none for a drawing).
    needs: keys of `NEEDS`. run: what was run here and what came out. not_run: what was not, and why. checked: whether
    a text of the paper at hand supports the row.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    part: str = Field(min_length=1)
    shows: str = Field(min_length=1)
    commands: list[str]
    needs: list[Literal["data", "model", "gpu", "money", "people"]] = []
    run: str = ""
    not_run: str = ""
    checked: bool = True

    @model_validator(mode="after")
    def _is_open_about_itself(self) -> Row:
        if not self.run and not self.not_run:
            raise ValueError(
                f"{self.part} says neither what was run nor why it was not"
            )
        return self


class Paper(BaseModel):
    """A paper: its title, where it is published, and its rows in its order."""

    model_config = ConfigDict(extra="forbid", strict=True)

    paper: str
    source: str
    rows: list[Row] = Field(min_length=1)


def papers() -> dict[str, Paper]:
    """Return the papers by the name of their file; raises `ValueError` for a file that does not fit the schema."""
    files = {path.stem: path for path in (HERE / "papers").glob("*.yaml")}
    names = [name for name in _ORDER if name in files]
    names += sorted(files.keys() - {*names})
    return {
        name: Paper.model_validate(read_yaml(files[name])) for name in names
    }


def page(read: dict[str, Paper] | None = None) -> str:
    """Return the page as Markdown."""
    needs = "\n".join(f"| {key} | {text} |" for key, text in NEEDS.items())
    sections = [
        part
        for name, paper in (papers() if read is None else read).items()
        for part in _section(name, paper)
    ]
    return "\n\n".join([_TITLE + needs, *sections]) + "\n"


def _section(name: str, paper: Paper) -> Iterator[str]:
    yield f"## {paper.paper}"
    yield f"{paper.source} (`docs/papers/{name}.yaml`)"
    lines = [
        "| | what it shows | needs | here |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.part} | {row.shows} | {', '.join(row.needs) or 'nothing'} | {_state(row)} |"
        for row in paper.rows
    ]
    yield "\n".join(lines)
    for row in paper.rows:
        yield from _entry(row)


def _state(row: Row) -> str:
    if not row.checked:
        return "not checked"
    return ("in part" if row.not_run else "run") if row.run else "not run"


def _entry(row: Row) -> Iterator[str]:
    yield f"### {row.part}: {row.shows}"
    if row.commands:
        yield "\n".join(["```sh", *map(_in_lines, row.commands), "```"])
    needs = ", ".join(row.needs) or "nothing beyond the installation"
    lines = [f"- Needs: {needs}."]
    lines += [f"- Run here: {row.run}"] if row.run else []
    lines += [f"- Not run: {row.not_run}"] if row.not_run else []
    if not row.checked:
        lines.append("- Not checked: no text at hand supports this row.")
    yield "\n".join(lines)


def _in_lines(command: str) -> str:
    """Return a command broken between its words, as a shell accepts it."""
    lines = [""]
    for word in map(_quoted, shlex.split(command)):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer) > _WIDEST and lines[-1]:
            lines.append(f"  {word}")
        else:
            lines[-1] = longer
    return " \\\n".join(lines)


def _quoted(word: str) -> str:
    return (
        word
        if word and not set(word) & set(" \t'\"|&;<>()$`*?#\\")
        else shlex.quote(word)
    )


def parse(command: str) -> DeclaredOptions:
    """Return the checked options of a command line, as `metaeval` itself reads them; nothing is run.

    Raises `ValueError` with the sentence that a person would see for a line that it refuses.
    """
    from metaeval.cli.app import app

    first, *words = shlex.split(command)
    if first != "metaeval":
        raise ValueError(f"{command}: it does not start with metaeval")
    try:
        return _options(typer.main.get_command(app), words)
    except UserError as error:
        raise ValueError(f"{command}: {error}") from error
    except Exception as error:
        # typer has error classes of its own, which it does not export.
        if isinstance(sentence := vars(error).get("message"), str):
            raise ValueError(f"{command}: {sentence}") from error
        raise


def _options(command: Any, words: Sequence[str]) -> DeclaredOptions:
    context, names = None, list[str]()
    while hasattr(command, "resolve_command"):
        context = click.Context(command, parent=context, info_name="metaeval")
        if not words:
            raise UserError(
                f"it stops before a command's name: {' '.join(names)}"
            )
        name, command, words = command.resolve_command(context, list(words))
        names.append(str(name))
    typed = command.make_context(
        names[-1], list(words), parent=context
    ).params
    overrides = typed.get("set") or ()
    settings = {
        name: value
        for name, value in typed.items()
        if name not in _SHELL_ONLY
    }
    return registry.find("analysis", ".".join(names)).options_of(
        settings, overrides
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
