"""Missing facts and missing scores in a meta-evaluation: missing or in part, never "no value", never full marks."""

import json

import numpy as np
import pytest

from metaeval.citation.data_model import Verdict
from metaeval.citation.human.rated_statements import rated_levels
from metaeval.citation.pipelines.meta.run import META, MetaEvaluation
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.scifi.facts import read_with_model
from metaeval.llm.endpoint import Cause
from metaeval.llm.messages import Failure, read_reply
from metaeval.runs.metrics import Cutoff

# Of each answer the first two statements cite. Sentences with "Lost" are not decomposed.
TEXTS = {
    "whole": "Dams store water [1]. Coal is black [1]. They are old.",
    "part": "Dams store water [1]. Lost coal is black [1]. They are old.",
    "none": "Lost dams store water [1]. Lost coal is black [1]. They are old.",
    "uncited": "Lost dams store water. Coal is black. They are old.",
}


def ask(requests):
    replies = []
    for request in requests:
        text = json.loads(request.body["messages"][0]["content"].splitlines()[-1].removeprefix("Sentence: "))
        if text.startswith("Lost"):
            replies.append(Failure(Cause.REFUSED, "not this one"))
        else:
            choice = {"message": {"content": json.dumps({"facts": [text]})}, "finish_reason": "stop"}
            replies.append(read_reply(json.dumps({"model": "tiny", "choices": [choice]})))
    return replies


BACKEND = Backend(
    "half", Cutoff(None, "as it is"), {"backend": "half"}, lambda pairs: [Verdict(None, 0.5) for _ in pairs], {}
)


@pytest.fixture
def prepare(tmp_path, rated_row):
    """A run on rated answers, before anything is asked."""

    def made(*overrides, texts=TEXTS, **asked):
        passages = [{"text": "A dam. Of coal."}]
        rows = [
            rated_row(text, [(1,), (0.5,), (number / 4,)], id=name, passages=passages)
            for number, (name, text) in enumerate(texts.items())
        ]
        path = tmp_path / "rated.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = {"files": (path,), "pipelines": ("scifi",), "nli": ("overlap",), "results": tmp_path / "results"}
        quick = ("interval.resamples=20", "comparison.permutations=0", "controls=false", "splitter=rules")
        return MetaEvaluation(META.options_of(given | asked, [*quick, *overrides]))

    return made


@pytest.fixture
def lost(prepare):
    """Levels of SCiFi by a model that does not decompose everything, by how gaps are filled."""
    prepared = prepare("facts=model", model="tiny")
    facts = read_with_model(prepared.answers, prepared.facts, ask, prepared.chat, prepared.splitter)
    (measure,) = prepared.entailment(facts, {}, BACKEND)

    def made(gaps):
        _, levels, _ = rated_levels("d", prepared.human, {measure.name: measure.values}, gaps)
        return measure, {level.unit: level for level in levels}

    return made


def said(level):
    """Value of each row, and whether a verdict is missing."""
    (own,) = level.values.values()
    values = own["value"].astype(object).where(own["value"].notna(), None)
    return {
        row.id: (value, reason)
        for row, value, reason in zip(level.ratings.rows, values, own["reason"].notna(), strict=True)
    }


@pytest.mark.parametrize("gaps", ["left out", "full marks"])
def test_an_answer_whose_facts_are_lost_is_missing_and_not_without_a_value(lost, recorded, gaps):
    measure, levels = lost(gaps)
    found = {unit: [*map(json.loads, level.lines().splitlines())] for unit, level in levels.items()}
    ends = {unit: level.mean_ends(measure.name) for unit, level in levels.items()}
    sentences, answers = (each.to_json(orient="split") for each in measure.values)
    values = {"sentences": json.loads(sentences), "answers": json.loads(answers)}
    recorded.held(f"meta-lost-{gaps.replace(' ', '-')}", found | values | {"ends": ends})
    assert said(levels["responses"]) == {
        "whole": (0.5, False),
        "part": (0.5, True),
        "none": (None, True),
        # Its lost sentence does not cite: no fact of it would count.
        "uncited": (1.0, False) if gaps == "full marks" else (None, False),
    }
    # With one fact in each lost sentence: 0.5 and one more of two, both of two.
    assert measure.values.answers.loc[["part", "none"], ["worst", "best"]].to_numpy().tolist() == [[0.25, 0.75], [0, 1]]
    statements = said(levels["statements"])
    assert statements["part#2"] == statements["none#1"] == (None, True)
    if gaps == "full marks":
        # Of what is known; part's is counted as in part.
        expected = {"whole": (0.5, False), "part": (0.5, True), "none": (None, True), "uncited": (1.0, False)}
        assert {name: statements[f"{name}#3"] for name in expected} == expected
    else:
        assert not any(value is not None and missing for value, missing in statements.values())


def test_scores_made_elsewhere_that_leave_out_sentences_are_values_in_part(prepare, tmp_path):
    path = tmp_path / "theirs.jsonl"
    given = [("whole", 0, 21, 0.4), ("whole", 22, 40, 0.8), ("part", 0, 21, 0.4), ("part", 22, 45, None)]
    rows = [{"answer": name, "start": start, "end": end, "value": value} for name, start, end, value in given]
    # An answer with a score of its own needs none of its sentences'.
    rows += [{"answer": "none", "start": 0, "end": 26, "value": None}, {"answer": "none", "start": 27, "end": 50}]
    rows[-1]["value"] = 0.5
    rows.append({"answer": "none", "value": 0.9})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = prepare(pipelines=(), nli=(), scores=(path,)).compare()
    level = next(one for one in found.levels if one.unit == "responses")
    assert {name for name, (value, missing) in said(level).items() if missing and value is not None} == {"part"}
    # Scores may be anything.
    assert level.mean_ends("scores:theirs") == pytest.approx(((0.6 + 0.4 + 0.9) / 3, np.nan, np.nan), nan_ok=True)
