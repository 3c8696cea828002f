"""The data-set contract: a card (`Dataset`) that says where the files come from, and a function that loads them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from metaeval.core.errors import UserError, unknown
from metaeval.corpus.model import Corpus

if TYPE_CHECKING:
    from metaeval.corpus.ratings import Ratings


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One published file.

    Parameters
    ----------
    name : str
        Name of the local file.
    url : str
        Where it is published.
    sha256 : str
        Empty where the origin's bytes could not be pinned.
    size : int, default 0
        In bytes; 0: not known.
    member : str
        The file's path inside the tar archive at the URL; empty where the URL is the file's own.
    """

    name: str
    url: str
    sha256: str = ""
    size: int = 0
    member: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One loader option.

    Parameters
    ----------
    default : object
        Its default.
    help : str
        What it does.
    allowed : tuple
        The values allowed (empty: any).
    """

    default: Any
    help: str
    allowed: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """The card of a data set: the declaration of its files, splits, options and loader.

    The defaults are of a data set that is shipped, or is a file of the user's own.

    Parameters
    ----------
    name, title : str
        Name, as it is typed, and what the data are.
    origin, licence : str
        Where the data come from, and their licence.
    schema : str
        Format of the files.
    load : callable
        `load(split, paths, options)` gets the local path of each published file by its name, or of the user's as
        "corpus", and every option with its value, already checked against `options`.
    commit : str
        Of the origin's repository.
    citation : str
        How the data are cited.
    folder : str
        Name of the data set's folder inside a local mirror (`data=FOLDER`).
    files : mapping of str to tuple of SourceFile
        The published files that each split is read from (none: a file of the user's own, or one that is shipped).
    default_split : str, default "all"
        The split without a setting.
    kind : one of "corpus", "ratings"
        What `load` gives: a `Corpus`, whose statements any metric can score, or `Ratings`, for scores that exist
        already.
    corpus_option : str
        The option (empty: none) with which `load` of a rated set gives a corpus.
    options : mapping of str to Option
        By name.
    scores : tuple of str
        The metrics whose scores of whole citations are published with a corpus (`Corpus.scores`).
    note : str
        What a user should know.
    demo : bool, default False
        The labels are made up, to show what the program does: no result says how good a metric is.
    questions : bool, default False
        Questions without answers: nothing can be loaded to judge, and the files are there to be fetched.
    texts : bool, default False
        The ratings' fields `source` and `statement` are what a metric reads.
    """

    name: str
    title: str
    origin: str
    licence: str
    schema: str
    load: Callable[[str, Mapping[str, Path], Mapping[str, Any]], Corpus | Ratings]
    commit: str = ""
    citation: str = ""
    folder: str = ""
    files: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=lambda: {"all": ()})
    default_split: str = "all"
    kind: Literal["corpus", "ratings"] = "corpus"
    corpus_option: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    scores: tuple[str, ...] = ()
    note: str = ""
    demo: bool = False
    questions: bool = False
    texts: bool = False

    def files_of(self, split: str) -> tuple[SourceFile, ...]:
        """Return the published files of a split.

        Parameters
        ----------
        split : str
            One of those in `files`.

        Returns
        -------
        tuple of SourceFile

        Raises
        ------
        UserError
            For a split that the card does not know.
        """
        if split not in self.files:
            raise unknown(f"split of {self.name}", split, self.files)
        return self.files[split]

    def kind_with(self, options: Mapping[str, Any]) -> Literal["corpus", "ratings"]:
        """Return what `load` gives with these options.

        Parameters
        ----------
        options : mapping
            Values by name.

        Returns
        -------
        "corpus" or "ratings"
        """
        return "corpus" if options.get(self.corpus_option) else self.kind


def own_file(read: Callable[..., Corpus | Ratings], wanted: str, **card: Any) -> Dataset:
    """Return a data set that is one file of the user's own.

    Parameters
    ----------
    read : callable
        Called with the file's path and, if the data set has options, with their values.
    wanted : str
        The file that `data` has to name, for the error without one.
    **card
        Further fields of the data set.

    Returns
    -------
    Dataset
    """

    def load(split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus | Ratings:
        if "corpus" not in paths:
            raise UserError(f"dataset={card['name']} needs data=FILE (type --data FILE): {wanted}.")
        return read(paths["corpus"], *([options] if options else []))

    return Dataset(origin="data=FILE", licence="your own", load=load, **card)


@cache
def _cards() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(resources.files("metaeval.corpus.loaders").joinpath("cards.toml").read_text(encoding="utf-8"))


def published(name: str, load: Callable[..., Corpus | Ratings]) -> Dataset:
    """Return a published data set by its card in `metaeval/corpus/loaders/cards.toml`.

    Parameters
    ----------
    name : str
        Of the card.
    load : callable
        As in `Dataset`.

    Returns
    -------
    Dataset
    """
    card = dict(_cards()[name])
    card["scores"] = tuple(card.get("scores", ()))
    files = {file: SourceFile(file, **fields) for file, fields in card["files"].items()}
    splits = card.pop("splits", {"all": files})
    card["files"] = {split: tuple(files[file] for file in names) for split, names in splits.items()}
    card["options"] = {
        option: Option(fields["default"], fields["help"], tuple(fields.get("allowed", ())))
        for option, fields in card.get("options", {}).items()
    }
    return Dataset(name=name, load=load, **card)
