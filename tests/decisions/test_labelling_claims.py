"""Recall and precision of ALCE and ALiiCE with people as the judge: the pipelines' own values, and samples of them."""

import json
import random

import numpy as np
import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.estimate import estimate
from metaeval.decisions.label_sampling import draw

WORDS = "harbour mill storm bridge tower river market school garden canal museum theatre".split()


def write_answers(path, n, seed=0):
    """Answers whose sentences have no, one, two or three marks, within and at their end; some point nowhere."""
    chance = random.Random(seed)
    lines = []
    for number in range(n):
        one, other, third, *_ = chance.sample(WORDS, 5)
        sentences = [
            f"The {one} opened in {number} [1], and the {other} closed after a storm [2][3].",
            f"The {third} is old [3].",
            f"Nobody knows the {other}.",
            f"The {one} is new [2][7].",
            f"A {third} was seen there [9].",
        ]
        passages = [
            {"text": f"The {one} opened in {number if chance.random() < 0.7 else 'spring'}."},
            {"text": f"The {other} closed." if chance.random() < 0.7 else "Cats sleep."},
            {"text": f"A storm came, and the {third if chance.random() < 0.5 else one} is old."},
        ]
        text = " ".join(chance.sample(sentences, chance.randint(1, 5)))
        lines.append({"id": f"a{number}", "text": text, "passages": passages, "group": f"q{number // 2}"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def labels_by_overlap(items, threshold):
    """Full where the pipeline's judge would say so: the share of the claim's words that its passages hold."""
    scores = metaeval.score("overlap", [row.source for row in items.rows], [row.statement for row in items.rows])
    return {row.id: "full" if one.score >= threshold else "none" for row, one in zip(items.rows, scores, strict=True)}


@pytest.mark.parametrize("pipeline", ["alce", "aliice"])
@pytest.mark.parametrize("threshold", [0.45, 0.75])
def test_with_every_question_answered_the_values_are_the_pipelines_own(tmp_path, recorded, pipeline, threshold):
    answers = write_answers(tmp_path / "answers.jsonl", 40)
    cited = metaeval.cite(pipeline, answers, nli="overlap", threshold=threshold, results=tmp_path)
    row = {one["measure"]: one["value"] for one in cited["citation-scores"]}
    items = items_of(answers, pipeline=pipeline)
    found = metaeval.estimate(
        answers, labels_by_overlap(items, threshold), pipeline=pipeline, results=tmp_path / "results"
    )
    for measure in ("recall", "precision"):
        one = found[f"{pipeline}-{measure}"]
        assert one.value == pytest.approx(row[measure], abs=1e-12)
        assert (one.low, one.high) == (one.value, one.value)
        assert 0.1 < one.value < 0.9
    labels, score, told = labels_by_overlap(items, threshold), np.arange(len(items.rows)) % 11 / 10, []
    says = [None if number % 9 == 8 else labels[row.id] == "full" for number, row in enumerate(items.rows)]
    for measure in ("recall", "precision"):
        values = [claim.value(measure, says.__getitem__, items.claims.untitled) for claim in items.claims.claims]
        degrees = [claim.degree(measure, score, items.claims.untitled) for claim in items.claims.claims if claim.items]
        told.append([values[:40], degrees[:40]])
    some = [row.id for row in items.rows if row.group in ("q1", "q3", "q4", "q11", "q12")]
    few = [{"id": one, "level": level, "annotator": n} for one in some for n, level in enumerate((labels[one], "full"))]
    process = metaeval.estimate(answers, few, pipeline=pipeline, results=tmp_path / "few", estimand="process")
    told.append([[*record.values()][2:] for record in process.records])
    told.append([text for label, text in process.notes if label not in ("read", "estimand")])
    recorded.held(f"decisions-claims-{pipeline}-{threshold}", {"claims": told})


def test_a_claim_of_several_citations_asks_for_all_and_for_each(tmp_path):
    path = tmp_path / "answers.jsonl"
    passages = [{"text": "Rain fell."}, {"text": "Sun shone."}, {"text": "Snow lay."}]
    path.write_text(
        json.dumps({"id": "a", "text": "It rained [1]. Weather [1][2]. All [1][2][3].", "passages": passages})
    )
    ids = [row.id for row in items_of(path, pipeline="alce").rows]
    assert ids[:4] == ["a/1[1]", "a/2[1][2]", "a/2[1]", "a/2[2]"]
    assert ids[4:] == ["a/3[1][2][3]", "a/3[1]", "a/3[2]", "a/3[3]", "a/3[2][3]", "a/3[1][3]", "a/3[1][2]"]
    path.write_text(json.dumps({"id": "a", "text": "Weather [1][2].", "passages": passages[:2]}))
    items = items_of(path, pipeline="alce")
    (claim,) = items.claims.claims
    scores = np.array([0.9, 0.2, 0.6])
    assert claim.degree("recall", scores, items.claims.untitled) == 0.9
    assert claim.degree("precision", scores, items.claims.untitled) == pytest.approx((0.2 + 0.6) / 2)


@pytest.mark.parametrize("unit", ["item", "answer"])
@pytest.mark.parametrize("estimand", ["set", "process"])
def test_samples_of_claims_and_of_answers_hold_the_value(tmp_path, unit, estimand):
    items = items_of(write_answers(tmp_path / "answers.jsonl", 80), pipeline="alce")
    truth = labels_by_overlap(items, 0.6)
    config = metaeval.RunConfig(results=tmp_path)
    every = estimate(items, truth, "overlap", config=config)
    held = {one.measure: [] for one in every.estimates}
    for seed in range(5):
        drawn = draw(items, 140, unit=unit, seed=seed)
        records = [record | {"level": truth[record["id"]]} for record in drawn.records]
        for one in estimate(items, records, "overlap", estimand=estimand, config=config).estimates:
            held[one.measure].append(one.low <= every[one.measure].value <= one.high)
            assert one.value == pytest.approx(every[one.measure].value, abs=0.35)
    assert {measure: sum(one) >= 4 for measure, one in held.items()} == dict.fromkeys(held, True)


def test_precision_is_told_only_where_all_that_decides_it_is_labelled(tmp_path):
    items = items_of(write_answers(tmp_path / "answers.jsonl", 60), pipeline="alce")
    truth = labels_by_overlap(items, 0.45)
    together = {row.statement_id: row.id for row in reversed(items.rows)}
    labels, config = {one: truth[one] for one in together.values()}, metaeval.RunConfig(results=tmp_path)
    found = estimate(items, labels, "overlap", config=config)
    other = items_of(write_answers(tmp_path / "other.jsonl", 60), pipeline="alce")
    both = {f"answers/{one}": label for one, label in labels.items()} | {f"other/{one}": truth[one] for one in truth}
    two = estimate(items, both, "overlap", other, config=config)
    assert [one.measure for one in (*found.estimates, *two.differences)] == ["alce-recall"] * 2
    assert any(label == "precision" and "not estimated" in text for label, text in found.notes)
    assert any(label == "recall" and text.startswith(f"{len(items.uncited)} claims") for label, text in found.notes)
    alone = {row.id: "full" for row in items.rows if row.id.count("[") == 1 and row.id not in together.values()}
    with pytest.raises(UserError, match=r"no label of a claim with all its passages.*\[2\]\[3\]|\[1\]\[2\]\[3\]"):
        estimate(items, alone, "overlap", assume_sample=True, config=config)
    half = dict([*labels.items()][::2])  # of the other claims no label decides the recall
    ends = [estimate(items, of, assume_sample=True, config=config).estimates[0].low for of in (half, half | alone)]
    assert ends[0] == pytest.approx(ends[1])


def test_a_pipeline_takes_answers_and_a_random_draw(tmp_path):
    items = items_of(items_of(write_answers(tmp_path / "answers.jsonl", 9), pipeline="alce"), pipeline="alce")
    with pytest.raises(UserError, match="Claims can only be drawn at random"):
        draw(items, 5, "stratified")
