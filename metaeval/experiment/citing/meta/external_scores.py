"""Scores that were made elsewhere, as measures beside those of the pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from metaeval.citation.human.model import Valued, mean_of
from metaeval.citation.human.scores import read_given
from metaeval.citation.model import Answer
from metaeval.errors import UserError
from metaeval.experiment.citing.meta.values import Measured
from metaeval.files import sha256_file


def read_measures(files: Sequence[Path], answers: Sequence[Answer]) -> list[Measured]:
    """Scores that were made elsewhere; an answer without one of its own has the mean of its sentences'.

    Raises `UserError` as `read_given` does, and for two files that name the same measure.
    """
    by_id = {answer.id: answer for answer in answers}
    found: dict[str, Measured] = {}
    for path in files:
        for measure, scores in read_given(path, by_id).items():
            name = f"scores:{measure}"
            if name in found:
                raise UserError(f"Two files of scores name a measure {measure!r}: give it another name in one of them.")
            means = {answer: _mean_of_known([one.said for one in own]) for answer, own in scores.spans.items()}
            pinned = f"{path.name}@sha256:{sha256_file(path)[:12]}"
            fields = {"pipeline": "scores", "measure": measure, "file": pinned}
            partial = frozenset(
                answer
                for answer, own in scores.spans.items()
                if answer not in scores.wholes and {"missing", "valued"} <= {one.said.state for one in own}
            )
            found[name] = Measured(name, fields, scores.spans, {**means, **scores.wholes}, partial)
    return list(found.values())


def _mean_of_known(values: Iterable[Valued]) -> Valued:
    known = [one for one in values if one.state != "missing"]
    return mean_of(known) if known else Valued(None, "missing", "absent")
