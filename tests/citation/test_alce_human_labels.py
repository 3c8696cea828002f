"""Human labels in ALCE's layout: read, aligned with the verdicts of a backend, and held against them on paper."""

import copy
import json

import pytest

from metaeval.citation.alce.human_labels import MISSING, PUBLISHED, agreement, fleiss, gather_labels, read_labels
from metaeval.citation.data_model import Verdict
from metaeval.corpus.sentences import RULES
from metaeval.errors import UserError
from metaeval.stats.intervals import Resampling

DOCS = [{"title": "One", "text": "first"}, {"title": "Two", "text": "second"}]


def cited(*scores):
    return [{"citation_precision_score": score} for score in scores]


def item(output, recall, precision, automatic, automatic_precision):
    sentences = [
        {"sentence_recall_score": supported, "sentence_precision_score": 0, "citations": cited(*own)}
        for supported, own in zip(recall, precision, strict=True)
    ]
    made = {"automatic_recall_scores": automatic, "automatic_citation_precision_scores": automatic_precision}
    return {"question": "Q?", "output": output, "docs": DOCS, "sentences": sentences, **made}


# The layout of princeton-nlp/ALCE, human_eval/analyze.py at f0e8719; made up, as the published file is not at hand.
FILE = {
    "asqa": {
        "model_a": {
            "7": item("Cats sleep [1][2]. Dogs bark [2].", [1, 0], [[2, 1], [2]], [1, 1], [[1, 0], [1]]),
            "8": item("Fish swim.", [0], [[]], [0], [[]]),
            "overall_results": {"overall_recall_score": 50.0},
        },
        "model_b": {"7": item("Birds sing [1]. They fly [2].", [1, 1], [[1], [0]], [0, 1], [[1], [1]])},
    }
}


def backend(supported):
    return {"mine": lambda pairs: [Verdict(claim in supported) for _, claim in pairs]}


@pytest.fixture
def write(tmp_path):
    def made(value=FILE):
        path = tmp_path / "human_eval_citations_completed.json"
        path.write_text(json.dumps(value))
        return path

    return made


def test_labels_are_read_and_gated_by_recall(write):
    one, other, third = read_labels(write())
    assert [each.answer.id for each in (one, other, third)] == ["asqa/model_a/7", "asqa/model_a/8", "asqa/model_b/7"]
    assert (one.answer.system, one.answer.group, third.answer.group) == ("model_a", "asqa/7", "asqa/7")
    # Partial support (1) is support; a citation of an unsupported sentence is none, whatever its own score.
    assert (one.recall, one.precision) == ((1, 0), ((1, 1), (0,)))
    # The automatic recall of model_b's first sentence is 0, and gates its precision of 1.
    assert (third.automatic_recall, third.automatic_precision) == ((0, 1), ((0,), (1,)))


def test_kappa_of_the_published_verdicts_on_paper(write):
    labels = gather_labels(read_labels(write()), {}, RULES)
    assert labels["sentence"].human.tolist() == [1, 0, 0, 1, 1]
    assert labels["sentence"].raters[PUBLISHED].tolist() == [1, 1, 0, 0, 1]
    (found,) = agreement(labels["sentence"], 2, Resampling(20, method="percentile"))
    # 3 of 5 agree; by chance 3/5 * 3/5 + 2/5 * 2/5 = 13/25. (15/25 - 13/25) / (12/25) = 1/6.
    assert found.accuracy.value == pytest.approx(0.6, abs=1e-15)
    assert found.kappa.value == pytest.approx(1 / 6, abs=1e-15)
    assert (found.units, found.missing, found.supported) == (5, 0, (0.6, 0.6))
    assert labels["citation"].human.tolist() == [1, 1, 0, 1, 0]
    assert labels["citation"].raters[PUBLISHED].tolist() == [1, 0, 1, 0, 1]


def test_a_backend_is_aligned_sentence_by_sentence(write):
    labels = gather_labels(read_labels(write()), backend({"Cats sleep.", "They fly."}), RULES)
    assert labels["sentence"].raters["mine"].tolist() == [1, 0, 0, 0, 1]
    assert labels["citation"].raters["mine"].tolist() == [1, 1, 0, 0, 1]
    # Three raters (people, published, mine): sentences 111, 010, 000, 100, 111 of support. Per unit agreement
    # 1, 1/3, 1, 1/3, 1: mean 11/15. Support 8/15: by chance (64 + 49) / 225. (165/225 - 113/225) / (112/225).
    assert fleiss(labels["sentence"]) == pytest.approx(52 / 112, abs=1e-14)


@pytest.mark.parametrize(
    "output", ["Cats sleep [1][2] and dogs bark [2].", "Cats sleep [1][2]. Dogs bark [2]. They fly [1]."]
)
def test_an_answer_with_another_number_of_sentences_is_not_aligned(write, output):
    changed = copy.deepcopy(FILE)
    changed["asqa"]["model_a"]["7"]["output"] = output
    labels = gather_labels(read_labels(write(changed)), backend({"They fly."}), RULES)
    assert labels["sentence"].raters["mine"].tolist() == [MISSING, MISSING, 0, 0, 1]
    mine = next(one for one in agreement(labels["sentence"], 2, Resampling(0)) if one.rater == "mine")
    assert (mine.units, mine.missing) == (3, 2)


def _without(field):
    changed = copy.deepcopy(FILE)
    del changed["asqa"]["model_a"]["7"][field]
    return changed


def _with(field, value):
    changed = copy.deepcopy(FILE)
    changed["asqa"]["model_a"]["7"][field] = value
    return changed


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (_without("output"), r"asqa, model_a, 7: field 'output' is missing"),
        (_without("sentences"), r"asqa, model_a, 7: field 'sentences' is missing"),
        (_with("automatic_recall_scores", [1]), r"field 'automatic_recall_scores' is \[1\]; allowed: a list of 2"),
        (_with("sentences", [{"sentence_recall_score": 3, "citations": []}]), "'sentence_recall_score' is 3; allowed"),
        ([1, 2], "of objects nested as data set, model, question.s id, labelled answer"),
        (
            {"id": "a", "text": "It rained [1]."},
            "does not have the layout of ALCE's human labels: give a file such as ALCE's human_eval_citations",
        ),
        (
            {"asqa": {"model_a": 1}},
            "does not have the layout of ALCE's human labels: give a file such as ALCE's human_eval_citations",
        ),
        ({"asqa": {"model_a": {"overall_results": {}}}}, "holds no labelled answer"),
    ],
)
def test_another_layout_is_one_sentence(write, value, says):
    with pytest.raises(UserError, match=says):
        read_labels(write(value))
