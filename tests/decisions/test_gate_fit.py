"""What a fit of a gate promises: alpha is divided among metrics, and citations of an answer are not independent."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.decisions.gate_check import check, check_sheet, verdict
from metaeval.decisions.gate_fit import fit, fit_sentences, fit_sheet
from metaeval.decisions.gate_model import Terms


def citations(unsupported, supported=32, size=1):
    """Rows with two metrics without an error, and `size` citations of one level in each answer; and their levels."""
    rows, levels = [], {}
    for number in range(unsupported + supported):
        bad = number < unsupported
        answer = f"{'bad' if bad else 'good'} {(number if bad else number - unsupported) // size}"
        text = {"id": f"c{number}", "answer_id": answer, "statement": f"word{number} is so", "passage": "They say so"}
        score = (0.1 if bad else 0.8) + number % size / 100 + number / 1e5
        rows.append({**text, "first": score, "second": score})
        levels[text["id"]] = "none" if bad else "full"
    return rows, levels


def test_metrics_share_alpha():
    # .9 ** 32 is .034: below .05, and above .05 / 2. .9 ** 36 is .0225.
    for unsupported, metrics, keeps in ((32, ["first"], True), (32, ["first", "second"], False)):
        found = fit(*citations(unsupported), metrics)
        assert (found.gate is not None) is keeps
        assert [one.passes for one in found.candidates] == [keeps] * len(metrics)
    assert found.needed == 36
    assert "shared by 2 metrics" in fit_sentences(found)[0]
    assert fit(*citations(36), ["first", "second"]).gate.metric == "first"
    # What half of the annotators call unsupported is supported.
    rows, levels = citations(36)
    votes = [{"id": name, "level": level, "annotator": who} for name, level in levels.items() for who in "ab"]
    assert fit(rows, [*votes[:-1], {**votes[-1], "level": "none"}], ["first"]).there == 36
    # A metric named twice is tested once.
    assert fit(*citations(32), ["first", "first"]).gate is not None
    assert fit(*citations(32), ["first", "second"], Terms(alpha=0.1)).gate is not None


@pytest.mark.parametrize(
    ("named", "scored"),
    [(("first", "second", "third"), 1), (("overlap", "first", "second"), 2), (("third", "fourth", "first"), 3)],
)
def test_metrics_behind_the_gate_need_no_scores(named, scored):
    rows, levels = citations(44)  # .9 ** 44 is .0097: below .05 / 3
    rows = [{**row, "third": 0.5 - row["first"], "fourth": 0.5 - row["first"]} for row in rows]
    config = RunConfig(metric_options={"overlap": {"content_only": False}})
    every, needed = (fit(rows, levels, named, config=config, score_all=whole) for whole in (True, False))

    assert every.gate == needed.gate
    assert every.gate.metric == "first"
    assert needed.candidates == every.candidates[:scored]
    assert (len(every.candidates), needed.unscored) == (3, named[scored:])
    assert fit_sentences(needed) == fit_sentences(every)
    notes = [note.text for note in fit_sheet(needed).footer if note.label == "not scored"]
    note = f"{', '.join(named[scored:])}: first keeps the promise; -m {','.join(named)} scores all"
    assert notes == ([note] if named[scored:] else [])


def test_answers_count_where_no_citation_is_missed_and_fewer_of_unequal_size():
    # 20 answers of 5 unsupported citations: if a tenth of answers fails, none of 20 does with chance .12.
    found = fit(*citations(100, size=5), ["first"])
    assert found.gate is None
    assert found.effective == pytest.approx(20)
    assert "100 unsupported labels, which count as 20 independent ones" in fit_sentences(found)[0]
    assert "19" not in fit_sentences(replace(found, effective=19.0, there=20))[0]
    # 29 answers and more would tell: 9 answers more of 5, half as many labels of the others.
    assert found.wanted[0] >= (29 * 5 - 100) * 132 / 100
    assert fit(*citations(150, size=5), ["first"]).gate is not None
    # 40 unsupported answers of 1 citation and 2 of 20: the two large ones hold half the unsupported citations.
    rows, levels = citations(80)
    for number in range(40, 80):
        rows[number]["answer_id"] = f"large {number % 2}"
    fitted = fit(rows, levels, ["first"])
    assert fitted.gate is None
    # A tenth of 80 citations is .4 of the first large answer: .4 of 42.
    assert fitted.effective == pytest.approx(42 * np.log(1 - 0.4 / 42) / np.log(0.9))


def test_supported_labels_of_a_gate_count_by_how_flags_go_together():
    rows, levels = citations(150, 60, size=5)
    alone = fit(rows, levels, ["first"]).gate
    assert alone.supported_labels == pytest.approx(12)
    # One of 12 answers is flagged whole: 12 answers still; one citation of each answer: nearly all 60.
    for flagged, labels in ((range(150, 155), 12), (range(150, 210, 5), 60)):
        changed = [{**row, "first": 0.0 if n in flagged else row["first"]} for n, row in enumerate(rows)]
        gate = fit(changed, levels, ["first"]).gate
        assert gate.flagged == pytest.approx(len(flagged) / 60)
        assert gate.supported_labels == pytest.approx(labels)


def test_a_metric_without_a_usable_threshold_has_a_line_without_numbers():
    # No supported citation has a score, so that each threshold flags them all.
    rows, levels = citations(3, 40)
    fitted = fit([{**row, "first": None if row["first"] > 0.5 else row["first"]} for row in rows], levels, ["first"])
    (record,) = fit_sheet(fitted).records
    numbers = ("threshold", "missed", "bound", "supported_flagged", "effective_labels")
    assert [record[name] for name in numbers] == [None] * 5
    assert record["promise"] == "no"
    assert "every threshold flags more than" in fit_sentences(fitted)[-1]


def one_population(n):
    """Rows of answers with four citations, of which three tenths are unsupported; the metric's ROC-AUC is .95."""
    random = np.random.default_rng(0)
    bad = random.random(n) < 0.3
    score = random.normal(size=n) + 2.326 * ~bad
    levels = np.where(bad, "none", "full").tolist()
    text = {"statement": "It is so", "passage": "They say so"}
    rows = [{**text, "id": f"c{one}", "answer_id": f"a{one // 4}", "m": float(score[one])} for one in range(n)]
    return rows, {row["id"]: level for row, level in zip(rows, levels, strict=True)}


def test_advice_on_further_labels_is_a_range_within_the_file(recorded):
    rows, levels = one_population(360)
    said = []
    for seed in range(8):
        fitted = fit(rows, {name: levels[name] for name in Random(seed).sample([*levels], 60)}, ["m"])
        least, most = fitted.wanted
        assert 1 <= least <= most
        assert fitted.left == 300
        numbers = re.findall(r"([\d,]+) (?:more|to)", fit_sentences(fitted)[-1])
        assert all(int(number.replace(",", "")) <= 300 for number in numbers)
        said.append(least)
    # Of one population "213" in one draw and "5,618" in another was the advice before.
    assert max(said) / min(said) < 5
    more = fit(rows, {name: levels[name] for name in Random(0).sample([*levels], 345)}, ["m"], Terms(max_missed=0.02))
    assert more.wanted[0] > more.left == 15
    assert "(15) would not do" in fit_sentences(more)[-1]
    wanted = [(14, 14), (14, 15), (15, 15), (15, 16), (14, np.inf), (16, 16), None]
    said = {str(each): fit_sentences(replace(more, wanted=each))[-1] for each in wanted}
    kinds = "would not do", "would do", "cannot be told"
    recorded.held("gate-advice", {of: [text, [kind in text for kind in kinds]] for of, text in said.items()})
    rows, levels = one_population(720)
    few = fit(rows, {name: levels[name] for name in Random(0).sample([*levels], 60)}, ["m"], Terms(max_missed=0.2))
    assert re.findall(r"\d+", fit_sentences(few)[-1]) == [f"{number:.0f}" for number in few.wanted]


def test_a_metric_is_hopeless_only_where_its_labels_show_it():
    rows, levels = citations(60)
    # Half of the unsupported score like the supported: with 60 labels that is shown, with 4 it is not.
    rows = [{**row, "first": 0.9 if number < 60 and number % 2 else row["first"]} for number, row in enumerate(rows)]
    terms = Terms(max_flagged=0.1)
    assert fit(rows, levels, ["first"], terms).wanted is None
    few = {f"c{number}": levels[f"c{number}"] for number in (0, 1, 20, 41, *range(60, 80, 3))}
    assert fit(rows, few, ["first"], terms, assume_sample=True).wanted[1] == np.inf


@pytest.mark.parametrize("rows", [range(200), range(80, 280), range(30, 60)])
def test_a_part_of_the_file_is_no_random_sample_for_a_gate_either(rows):
    items, levels = one_population(360)
    part = {f"c{number}": levels[f"c{number}"] for number in rows}
    with pytest.raises(UserError, match="are not a random sample of the 360"):
        fit(items, part, ["m"])
    assert fit(items, part, ["m"], assume_sample=True).candidates


def test_the_check_of_a_gate_prints_in_a_few_lines_and_knows_its_own_citations():
    rows, levels = citations(60)
    gate = fit(rows, levels, ["first"]).gate
    own, other = check(rows, gate), check(citations(61)[0], gate)
    assert len(repr(own)) < 1500 > len(repr(gate))
    assert "fitted on" in verdict(own)
    assert "fitted on" not in verdict(other)
    edge = [{**rows[0], "first": None}, {**rows[1], "first": gate.threshold}, *rows[2:]]
    notes = {note.label: note.text for note in check_sheet(check(edge, gate)).footer}
    assert (notes["unscored"].split()[:2], "58 of 92" in notes["flagged"]) == (["1", "citation"], True)


@pytest.mark.parametrize(("named", "counted"), [(0, "of answers"), (30, "of 30 answers and"), (92, "of 92 answers;")])
def test_a_citation_of_an_answer_that_is_not_named_is_no_answer(named, counted):
    rows, levels = citations(60)
    rows = [{**row, "answer_id": row["answer_id"] * (number < named)} for number, row in enumerate(rows)]
    found = fit(rows, levels, ["first"])
    assert f"92 citations {counted}" in dict(found.notes)["items"]
    (assumed,) = (note.text for note in fit_sheet(found).footer if note.label == "assumed")
    assert ("not named" in assumed) == (named < len(rows))
