"""ALCE as released: the outputs of its unmodified eval.py (commit 246c476) with a stub for the NLI model.

tests/golden/alce_eval.json holds, for 13 answers and one list answer, the sentences, claims, NLI calls and scores.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from metaeval.citation.alce.citations import RELEASED, read_alce, statements
from metaeval.citation.alce.correctness import answer_values, clean_answer, list_scores
from metaeval.citation.data_model import Answer, Passage, Verdict
from metaeval.citation.measures import citation_shares, estimate, group_codes, macro, means
from metaeval.stats.intervals import Resampling

GOLDEN = Path(__file__).parents[1] / "golden" / "alce_eval.json"
STOP_WORDS = set("the and was were with from that this have has are for its through".split())

# The questions of the stub data are not stored; these short answers give every stored str_em.
QA_PAIRS = [{"short_answers": ["Danish"]}, {"short_answers": ["four"]}]


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


class Stub:
    """The golden file's `nli_rule`: every content word of the claim occurs in the premise, and there is one."""

    def __init__(self):
        self.asked, self.calls = set(), 0

    def __call__(self, pairs):
        self.calls += 1
        self.asked.update((*pair, int(self.entails(*pair))) for pair in pairs)
        return [Verdict(self.entails(*pair)) for pair in pairs]

    def entails(self, premise, claim):
        wanted = self.words(claim)
        return bool(wanted) and wanted <= self.words(premise)

    @staticmethod
    def words(text):
        return {word for word in re.findall("[a-z0-9]+", text.lower()) if len(word) >= 3} - STOP_WORDS


def answers_of(golden):
    passages = tuple(Passage(doc["text"], doc["title"]) for doc in golden["docs"])
    return [
        Answer(case["case"], case["raw_output"], passages, reference={"qa_pairs": QA_PAIRS}) for case in golden["cases"]
    ]


def scores(answers, lines):
    """Recall and precision, the means over answers, as released."""
    group, n_groups = group_codes(answers)
    shares = citation_shares(answers, lines, undefined_is_zero=True)
    return [estimate(macro(own), group, n_groups, Resampling(0)) for own in shares]


def percent(value):
    return None if value is None else 100 * value


def test_every_case_is_exact(golden, splitter):
    for answer, case in zip(answers_of(golden), golden["cases"], strict=True):
        stub = Stub()
        found = statements(answer, RELEASED, splitter)
        assert [answer.text[one.claim.start : one.claim.end] for one in found] == case["sentences"], case["case"]
        assert [one.claim.text for one in found] == case["targets"], case["case"]
        lines = read_alce([answer], RELEASED, splitter).judge(stub)[0]
        recall, precision = scores([answer], lines)
        assert percent(recall.value) == case["citation_rec"], case["case"]
        assert percent(precision.value) == case["citation_prec"], case["case"]
        assert stub.asked == {tuple(call) for call in case["nli_calls"]}, case["case"]
        assert stub.calls <= 3


def test_the_corpus_is_exact_and_asked_in_three_calls(golden, splitter):
    answers, stub = answers_of(golden), Stub()
    lines = read_alce(answers, RELEASED, splitter).judge(stub)[0]
    recall, precision = scores(answers, lines)
    assert percent(recall.value) == golden["corpus"]["citation_rec"]
    # One unit in the last place: the official mean adds in another order.
    assert percent(precision.value) == pytest.approx(golden["corpus"]["citation_prec"], abs=1e-12)
    assert recall.n == 12  # the empty answer is skipped
    assert stub.calls == 3
    assert stub.asked == {tuple(call) for case in golden["cases"] for call in case["nli_calls"]}


def test_correctness_and_length_are_exact(golden):
    answers = answers_of(golden)
    assert [clean_answer(answer, RELEASED) for answer in answers] == [case["clean_output"] for case in golden["cases"]]
    values = answer_values(answers, RELEASED)
    for ours, official, scale in (("str_em", "str_em", 100), ("str_hit", "str_hit", 100), ("length", "length", 1)):
        assert [scale * value for value in values[ours]] == [case[official] for case in golden["cases"]]
        mean = estimate(means(values[ours]), *group_codes(answers), Resampling(0)).value
        assert scale * mean == pytest.approx(golden["corpus"][official], abs=1e-12)


def test_a_list_answer_is_exact(golden):
    item, official = golden["qampari"]["input"][0], golden["qampari"]["f1"]
    passages = tuple(Passage(doc["text"], doc["title"]) for doc in item["docs"])
    answer = Answer("1", item["output"], passages, item["question"], reference={"answers": item["answers"]})
    options = replace(RELEASED, units="list items")
    found = list_scores(clean_answer(answer, options), item["answers"])
    assert found["num_preds"] == official["num_preds"]
    for name in ("prec", "rec", "rec_top5", "f1", "f1_top5"):
        assert percent(found[f"qampari_{name}"]) == pytest.approx(official[f"qampari_{name}"], abs=1e-12)
    stub = Stub()
    recall, precision = scores([answer], read_alce([answer], options).judge(stub)[0])
    assert percent(recall.value) == golden["qampari"]["citations"]["citation_rec"]
    assert percent(precision.value) == golden["qampari"]["citations"]["citation_prec"]
    assert stub.asked == {tuple(call) for call in golden["qampari"]["nli_calls"]}
