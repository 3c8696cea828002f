"""Contract checks of a data set: of its card, and of what its loader returns."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from metaeval.conformance.check_helpers import (
    NotCheckedError,
    checks_of,
    instance_of,
    need,
    need_name,
    raises,
    refuse,
    runs,
)
from metaeval.corpus.dataset import Dataset
from metaeval.corpus.loading import load_dataset
from metaeval.corpus.model import Corpus
from metaeval.corpus.ratings import Ratings
from metaeval.errors import UserError

_KINDS: Mapping[str, type[Corpus | Ratings]] = {"corpus": Corpus, "ratings": Ratings}


@dataclass
class DatasetSubject:
    """A data set under test. value: the registered object. data: a folder with its published files, or the user's file.

    name: the name that it is registered under; "": none.
    """

    value: Any
    data: Path | None = None
    name: str = ""

    @property
    def dataset(self) -> Dataset:
        """Return the data set's card."""
        return instance_of(self.value, Dataset, "data set")

    @cached_property
    def splits(self) -> dict[str, Corpus | Ratings]:
        """The available splits, loaded, by name; `NotCheckedError` if there is none. {} for a data set of questions."""
        splits: dict[str, Corpus | Ratings] = {}
        if self.dataset.questions:
            return splits
        why = ""
        for split in self.dataset.files:
            try:
                splits[split] = self.load(split)
            except UserError as error:
                why = str(error)
        if not splits:
            raise NotCheckedError(f"no split can be loaded here; give the files with --data: {why}")
        return splits

    def load(self, split: str) -> Corpus | Ratings:
        """Return one split; raises `UserError` if its files are not available."""
        loaded: Any = runs(
            f"Loading the split {split!r}",
            lambda: load_dataset(self.dataset, split, self.data),
            UserError,
            "Raise metaeval.errors.UserError with one sentence that names the file and the line.",
        )
        kind = _KINDS[self.dataset.kind]
        if not isinstance(loaded, kind):
            refuse(
                f"The split {split!r} is a {type(loaded).__name__} and the card says kind={self.dataset.kind!r}: "
                f"return a {kind.__name__}, or change the card."
            )
        return loaded


def its_card_is_whole(subject: DatasetSubject) -> None:
    """Check that the card has the texts, files, splits and options that `data list`, `data info` and a run read."""
    dataset = subject.dataset
    need_name("The card's", dataset.name, subject.name)
    for what in ("name", "title", "origin", "licence", "schema"):
        need(getattr(dataset, what), f"The card's {what} is empty: fill it; `metaeval data info` shows it.")
    if dataset.kind not in _KINDS:
        refuse(f"The card's kind is {dataset.kind!r}: it is 'corpus' or 'ratings', after what load returns.")
    need(
        dataset.default_split in dataset.files,
        f"The default split is {dataset.default_split!r}, and files has {', '.join(dataset.files) or 'none'}: list it "
        "there.",
    )
    for name, option in dataset.options.items():
        need(option.help, f"Option {name!r} has no help: say in one sentence what it does.")
        if option.allowed and option.default not in option.allowed:
            refuse(f"Option {name!r} has the default {option.default!r}, which is not among the values allowed.")
    for file in (file for files in dataset.files.values() for file in files):
        need(file.name and file.url, f"The file {file.name or file.url!r} has no name or no URL: give both.")
        need(
            not file.sha256 or (re.fullmatch(r"[0-9a-f]{64}", file.sha256) and file.size > 0),
            f"The file {file.name!r} has the checksum {file.sha256!r} and the size {file.size}: give 64 hexadecimal "
            "digits and the size in bytes, or leave both out.",
        )


def missing_files_are_told(subject: DatasetSubject) -> None:
    """Check that loading the default split from an empty folder raises a `UserError` with a message."""
    dataset = subject.dataset
    if not dataset.files.get(dataset.default_split):
        return
    with tempfile.TemporaryDirectory() as empty:
        message = raises(
            UserError,
            lambda: load_dataset(dataset, data=Path(empty)),
            "A folder without the files has to end in metaeval.errors.UserError.",
        )
    need(message.strip(), "The error for missing files is empty: say which file is missing.")


def every_split_loads(subject: DatasetSubject) -> None:
    """Check that each available split counts what it leaves out, and that a corpus has citations, texts and groups."""
    for split, content in subject.splits.items():
        for reason, count in content.dropped.items():
            need(
                reason and isinstance(count, int) and count > 0,
                f"The split {split!r} drops {count!r} rows for the reason {reason!r}: give reasons in words, with "
                "counts above 0.",
            )
        if not isinstance(content, Corpus):
            continue
        need(content.citations, f"The split {split!r} has no citations: return at least one that was judged.")
        for statement in content.statements.values():
            need(
                statement.text.strip() and statement.group,
                f"Statement {statement.id!r} of the split {split!r} has no text or no group: drop it and count it in "
                "`dropped`.",
            )
        for where, things in (("statements", content.statements), ("documents", content.documents)):
            for key, thing in things.items():
                need(
                    key == thing.id,
                    f"{where} of the split {split!r} has {thing.id!r} under the key {key!r}: use the id as the key.",
                )


def loading_repeats(subject: DatasetSubject) -> None:
    """Check that two loads of each available split give the same content in the same order."""
    for split, content in subject.splits.items():
        need(
            subject.load(split) == content,
            f"Two loads of the split {split!r} differ: read the files in a fixed order, and draw nothing at random.",
        )


def groups_can_be_resampled(subject: DatasetSubject) -> None:
    """Check that each available split has several groups, to be resampled, and several levels."""
    for split, content in subject.splits.items():
        if isinstance(content, Corpus):
            groups = {statement.group for statement in content.statements.values()}
            gold = {float(citation.level) for citation in content.citations}
        else:
            groups, gold = {row.group for row in content.rows}, {row.gold for row in content.rows}
        need(
            len(groups) > 1,
            f"All of the split {split!r} is in one group: set `group` to the question, answer or article that a "
            "statement comes from; intervals are drawn over groups.",
        )
        need(len(gold) > 1, f"All of the split {split!r} has one level: no measure can distinguish metrics there.")


CHECKS = checks_of(globals())
