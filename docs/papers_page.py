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
from metaeval.analyses.analysis import DeclaredOptions
from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.core.parsing import read_yaml
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
STAND_INS = {
    "metaeval run": "metaeval run -m overlap,rouge,bm25",
    "-c aliice --nli autoais": "-c aliice",
    "--nli autoais": "--nli overlap",
    "-m autoais": "-m overlap",
    "-c base-paper": "-c base-paper -m overlap,rouge,bm25 -d gensearch",
    "-c base-paper-judges": "-c base-paper-judges -d gensearch",
    "-d gensearch": "-d jsonl --data made.jsonl",
    "--data FOLDER": "",
    "-c aliice": "-c aliice --parser small --nli overlap",
    "--profile paper": "--profile paper -s tokenizer=words",
    "-n 60": "-n 4",
}
"""What stands in place of words of a command (or of all of it) where the tests run it, one after the other."""

NOT_AT_HAND = {
    "metaeval data fetch": "the network",
    "metaeval data show gensearch": "GenSearch's annotations of whole answers",
    "--parser spacy:en_core_web_sm": "that model of spaCy",
    "-s tokenizer=google/t5_xxl_true_nli_mixture": "that tokenizer",
}
"""What the tests lack for a command with these words, which they therefore do not run."""

_WIDEST = 76
_SHELL_ONLY = ("set", "full", "json", "quiet")
_ORDER = ("base", "aliice", "scifi", "citeeval")
_TITLE = """# The papers, table by table

metaeval started from four papers. For each table, figure and named experiment this page has the commands that repeat
it, what they need, and what was run here. No number of a paper is reproduced unless the line says so. Files and
`FOLDER` are yours.

The tests run every command on small made files, with `overlap` in place of AutoAIS, a made corpus in place of
GenSearch, written replies in place of a chat model, and small models in place of large ones; but for those commands
whose line says what is not at hand.

Needs: """


class Row(BaseModel):
    """One table, figure or experiment of a paper.

    part: its name in the paper. shows: one short clause. commands: complete command lines (none for a drawing).
    needs: keys of `NEEDS`. run: what was run here and what came out. not_run: what was not, and why. tables: those that
    the commands write, as the tests check.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    part: str = Field(min_length=1)
    shows: str = Field(min_length=1)
    commands: list[str]
    needs: list[Literal["data", "model", "gpu", "money", "people"]] = []
    run: str = ""
    not_run: str = ""
    tables: list[str] = []

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
    needs = "; ".join(f"*{key}*, {text}" for key, text in NEEDS.items())
    sections = [
        part
        for paper in (papers() if read is None else read).values()
        for part in _section(paper)
    ]
    return "\n\n".join([f"{_TITLE}{needs}.", *sections]) + "\n"


def _section(paper: Paper) -> Iterator[str]:
    yield f"## {paper.paper}"
    yield paper.source
    for row in paper.rows:
        yield f"### {row.part}: {row.shows}"
        if row.commands:
            yield "\n".join(["```sh", *map(_in_lines, row.commands), "```"])
        said = {"Needs": f"{', '.join(row.needs)}." if row.needs else ""}
        said |= {"Run here": row.run, "Not run": row.not_run}
        lacking = [*filter(None, dict.fromkeys(map(lacks, row.commands)))]
        said["Not at hand"] = f"{'; '.join(lacking)}." if lacking else ""
        yield " ".join(f"{key}: {text}" for key, text in said.items() if text)


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


def lacks(command: str) -> str:
    """Return what is not at hand for a command, with its words that want it; "" where the tests run it."""
    found = (
        f"{what} (`{words}`)"
        for words, what in NOT_AT_HAND.items()
        if words in command
    )
    return next(found, "")


def at_hand(command: str) -> list[str]:
    """Return the words of a command, behind `metaeval`, with those of `STAND_INS` in place of what the tests lack."""
    command = STAND_INS.get(command, command) + " "
    for typed, here in STAND_INS.items():
        command = command.replace(f" {typed} ", f" {here} ")
    return shlex.split(command)[1:]


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
