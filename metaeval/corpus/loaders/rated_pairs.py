"""Attributed QA and AggreFact: rated pairs of a text and its source, one a row of a CSV file, with published scores.

Both were written to what their repositories document, and not run on the published files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from metaeval.core.parsing import csv_records
from metaeval.corpus.data_rows import FETCH, CorpusDraft, DataRow, content_id, finite_or_none
from metaeval.corpus.dataset import published
from metaeval.corpus.model import SupportLevel
from metaeval.corpus.ratings import Rating, Ratings

# A rating, with its scores by metric. Its id is to be numbered: rows may share it.
_RatedPair = tuple[Rating, Mapping[str, float | None]]
# A function of the split, the options and a row that returns its pair, or why it is left out.
_RowReader = Callable[[str, Mapping[str, Any], DataRow], _RatedPair | str]

UNRATED, REPEATED = "rows without a human rating", "rows that repeat an earlier one"
_FULL, _NONE = SupportLevel.FULL, SupportLevel.NONE
_YES_NO: Mapping[str, SupportLevel | None] = {"Y": _FULL, "N": _NONE, "-": None, "": None}
_LABELS: Mapping[str, SupportLevel | None] = {"1": _FULL, "0": _NONE, "1.0": _FULL, "0.0": _NONE, "": None}

_AGGREFACT = ("DAE", "QuestEval", "SummaC-ZS", "SummaC-Conv", "QAFactEval")
# The summarizers of each group of the paper, as in its repository's utils.py.
_CATEGORIES = {
    "SOTA": "BART PegasusDynamic T5 Pegasus",
    "XFORMER": "BertSum BertExtAbs BertExt GPT2 BERTS2S TranS2S",
    "OLD": "FastAbsRl TConvS2S PtGen PtGenCoverage Summa BottomUp Seq2Seq TextRank missing ImproveAbs NEUSUM "
    "ClosedBookDecoder RNES BanditSum ROUGESal MultiTask UnifiedExtAbs",
}


def _answer(split: str, options: Mapping[str, Any], row: DataRow) -> _RatedPair | str:
    """Read a row of Attributed QA."""
    gold = row.choice("human_rating", _YES_NO)
    if gold is None:
        return UNRATED
    system, question, answer = row.identifier("system_name"), row.identifier("question"), row.text("answer")
    text = f"The answer to the question '{question}' is '{answer}'"
    fields = {"statement": text, "source": row.text("passage"), "question": question, "answer": answer}
    fields["attribution"] = row.text("attribution")
    rating = Rating(f"{system}:{question}", question, gold, system, text=text, fields=fields)
    verdict = row.choice("auto_ais", _YES_NO)
    return rating, {"AutoAIS": finite_or_none(row, "nli_score"), "AutoAIS verdict": verdict}


def _summary(split: str, options: Mapping[str, Any], row: DataRow) -> _RatedPair | str:
    """Read a row of AggreFact."""
    cut = row.choice("cut", {"val": "val", "test": "test"})
    if split not in ("all", cut):
        return f"rows of the other cut (split={split})"
    gold = row.choice("label", _LABELS)
    if gold is None:
        return UNRATED
    origin, source = row.choice("origin", {"cnndm": "cnndm", "xsum": "xsum"}), row.text("doc")
    article, system = row.text("id") or content_id(source), row.text("model_name") or "missing"
    category = next((name for name, systems in _CATEGORIES.items() if system in systems.split()), "other")
    fields = {"dataset": row.identifier("dataset"), "origin": origin, "category": category, "cut": cut}
    fields |= {"statement": row.text("summary"), "source": source}
    rating_id = f"{fields['dataset']}:{article}:{system}"
    rating = Rating(rating_id, f"{origin}:{article}", gold, system, text=fields["statement"], fields=fields)
    if options["values"] == "label":
        return rating, {metric: row.choice(f"{metric}_label", _LABELS) for metric in _AGGREFACT}
    return rating, {metric: finite_or_none(row, f"{metric}_score") for metric in _AGGREFACT}


def _load(name: str, read: _RowReader, split: str, paths: Mapping[str, Path], options: Mapping[str, Any]) -> Ratings:
    """Return the ratings of a file, with their texts as fields. read: called for each row."""
    draft, seen, rows = CorpusDraft(f"{name}/{split}"), set[str](), list[Rating]()
    scores: dict[str, dict[str, float | None]] = {}
    (path,) = paths.values()
    for cells in starmap(DataRow, csv_records(path, FETCH)):
        pair = read(split, options, cells)
        if not isinstance(pair, str) and (content := content_id(*cells.fields.values())) in seen:
            pair = REPEATED
        if isinstance(pair, str):
            draft.drop(pair)
            continue
        seen.add(content)
        rows.append(rating := replace(pair[0], id=draft.next_id(pair[0].id)))
        for metric, score in pair[1].items():
            scores.setdefault(metric, {})[rating.id] = score
    return Ratings(draft.name, rows, scores, dict(draft.dropped), levels=True)


ATTRIBUTED_QA = published("attributed_qa", partial(_load, "attributed_qa", _answer))
AGGREFACT = published("aggrefact", partial(_load, "aggrefact", _summary))
