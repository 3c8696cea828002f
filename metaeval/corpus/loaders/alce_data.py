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
from metaeval.corpus.dataset import Dataset, SourceFile
from metaeval.corpus.model import Corpus

_ARCHIVE = "https://huggingface.co/datasets/princeton-nlp/ALCE-data/resolve/main/ALCE-data.tar"
"""The archive that ALCE's own `download_data.sh` fetches."""


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
    raise UserError(
        f"{path} holds {held} with passages, and no answers to judge: answer them with 'metaeval cite generate {path}'."
    )


def _declared(name: str, file: str, title: str, published: int, note: str, citation: str) -> Dataset:
    return Dataset(
        name=name,
        title=f"{title}: {count(published, 'question')} with 100 retrieved passages each, without answers",
        origin="https://huggingface.co/datasets/princeton-nlp/ALCE-data",
        licence="not named in the archive; see the origin",
        schema="ALCE: a list of {question, docs, answer ...}",
        load=partial(_load, published),
        citation=citation,
        folder="alce",
        questions=True,
        files={"all": (SourceFile(file, _ARCHIVE, member=f"ALCE-data/{file}"),)},
        note=f"{note} Generate answers from it: metaeval cite generate FILE. The archive has no published hash: that "
        "of the first download is recorded beside the file, and later copies are compared with it.",
    )


ASQA = _declared(
    "asqa",
    "asqa_eval_gtr_top100.json",
    "ASQA",
    948,
    "Its development split, with passages of Wikipedia by GTR.",
    "Stelmakh et al. 2022 (EMNLP); passages: Gao et al. 2023 (arXiv 2305.14627)",
)
ELI5 = _declared(
    "eli5",
    "eli5_eval_bm25_top100.json",
    "ELI5",
    1000,
    "A sample of its validation split, with passages of Sphere by BM25 (the ALiiCE paper names GTR and Wikipedia).",
    "Fan et al. 2019 (ACL); passages: Gao et al. 2023 (arXiv 2305.14627)",
)
