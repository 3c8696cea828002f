"""What is measured of an answer's text beside its citations, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from metaeval.citation.model import Answer, Entails
from metaeval.experiment.citing.model_measures import READ
from metaeval.report.result import Column

TEXT_MEASURES: Mapping[str, Column] = {
    "str_em": Column(key="str_em", label="EM recall", scale=100, digits=1),
    "str_hit": Column(key="str_hit", label="hit", scale=100, digits=1),
    "rougeLsum": Column(key="rougeLsum", label="ROUGE-Lsum", scale=100, digits=1),
    "claims_nli": Column(key="claims_nli", label="claim recall", scale=100, digits=1),
    "num_preds": Column(key="num_preds", label="items", digits=1),
    "qampari_prec": Column(key="qampari_prec", label="list precision", scale=100, digits=1),
    "qampari_rec": Column(key="qampari_rec", label="list recall", scale=100, digits=1),
    "qampari_rec_top5": Column(key="qampari_rec_top5", label="list recall-5", scale=100, digits=1),
    "qampari_f1": Column(key="qampari_f1", label="list F1", scale=100, digits=1),
    "qampari_f1_top5": Column(key="qampari_f1_top5", label="list F1-5", scale=100, digits=1),
    "length": Column(key="length", label="words", digits=1),
    **READ,
}
"""The measures of an answer's text, under the released ALCE code's names; those of a reader only when asked for."""

CLAIM_RECALL = TEXT_MEASURES["claims_nli"]


def wanted(values: Mapping[str, Sequence[float | None]], measures: Sequence[str]) -> dict[str, Sequence[float | None]]:
    """The values of the measures asked for (all if none), in the order of the tables."""
    return {key: values[key] for key in TEXT_MEASURES if key in values and (not measures or key in measures)}


def claim_recaller(
    answers: Sequence[Answer],
    measures: Sequence[str],
    values: Callable[[Entails], Mapping[str, Sequence[float | None]]],
) -> Callable[[Entails], Sequence[float | None]] | None:
    """What gives each answer's recall of its reference's claims; None where it is not asked for, or none has claims."""
    asked = not measures or CLAIM_RECALL.key in measures
    if not asked or not any(answer.reference.get("claims") for answer in answers):
        return None
    return lambda entails: values(entails).get(CLAIM_RECALL.key, [None] * len(answers))
