"""ASQA and ELI5 as ALCE publishes them (Gao et al. 2023): questions with retrieved passages and reference answers.

They hold no answers and no levels, so that nothing can be scored: `metaeval cite generate` answers their questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.core.errors import UserError, count
from metaeval.core.parsing import read_json
from metaeval.corpus.data_rows import DataRow
from metaeval.corpus.dataset import published
from metaeval.corpus.model import Corpus


def questions_in(path: Path) -> int:
    """Return the number of questions in a file of ALCE's; raises `UserError` where one lacks its text or passages."""
    listed = read_json(path)
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        raise UserError(f"{path} is not laid out as ALCE's data: give a list of objects with question and docs.")
    for number, entry in enumerate(listed, start=1):
        row = DataRow(f"{path} record {number}", entry)
        row.text("question")
        for document in row.rows("docs"):
            document.text("text")
    return len(listed)


def _load(published: int, split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    (path,) = paths.values()
    held = f"{count(questions_in(path), 'question')} ({published:,} are published)"
    cure = f"answer them with 'metaeval cite generate {path}'"
    raise UserError(f"{path} holds {held} with passages, and no answers to judge: {cure}.")


ASQA = published("asqa", partial(_load, 948))
ELI5 = published("eli5", partial(_load, 1000))
