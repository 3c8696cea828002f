"""The seam: a registered metric as judge, its cut-off, its store, its missing answers, and premises in chunks."""

import json
import re
import sys

import pytest

from metaeval.citation.data_model import Verdict
from metaeval.citation.pipelines.metric_verdicts import entailment
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import Cutoff, find_cutoff, identity_of, judge_of, load_metrics, read_thresholds
from metaeval.scoring.score_store import ScoreStore

GIVEN = "as given"
# Overlap is the share of the claim's content words that stand in the premise.
WHOLE = ("the mayor opened a bridge", "mayor opened bridge")  # 3 of 3
HALF = ("the mayor slept", "mayor opened bridge slept")  # 2 of 4
NONE = ("nothing here", "mayor opened bridge")  # 0 of 3
WORDLESS = ("the mayor slept", "...")
DISTANCE = """
from metaeval.scoring.contract import Metric, MetricCard, PairScore

class Distance(Metric):
    card = MetricCard(name="distance", family="f", summary="s", paper="p", licence="l", direction=-1)
    asked = []
    batched = False

    def score(self, sources, statements):
        self.asked += zip(sources, statements)
        return [PairScore(float(abs(len(a) - len(b)))) for a, b in zip(sources, statements)]
"""


@pytest.fixture
def distance(tmp_path, monkeypatch):
    """The name of a metric of which less is more support, in a module of its own."""
    (tmp_path / "own_distance.py").write_text(DISTANCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return "own_distance:Distance"


def loaded(name, config):
    return load_metrics([name] if not name.startswith("scores:") else [], config)


def test_a_score_at_the_threshold_is_support_and_one_below_is_not():
    judge = entailment("overlap", loaded("overlap", RunConfig()), Cutoff(0.5, GIVEN))
    half, whole, none = Verdict(True, 0.5), Verdict(True, 1.0), Verdict(False, 0.0)
    assert judge.entails([HALF, WHOLE, NONE, HALF]) == [half, whole, none, half]
    assert judge.ledger.pairs == 3
    # A pair without a score has no verdict and says why.
    assert judge.entails([WORDLESS, WHOLE])[0] == Verdict(None, None, "empty")
    assert [one.status for one in judge.answers.values() if one.score is None] == ["empty"]
    soft = entailment("overlap", loaded("overlap", RunConfig()), Cutoff(None, GIVEN))
    assert (soft.soft, soft.entails([HALF, NONE])) == (True, [Verdict(None, 0.5), Verdict(None, 0.0)])


def test_where_less_is_more_support_the_threshold_is_an_upper_one_in_the_metrics_own_scores(distance):
    judge = entailment(distance, loaded(distance, RunConfig()), Cutoff(2.0, GIVEN))
    verdicts = judge.entails([("abc", "abcd"), ("abc", "abcde"), ("abc", "abcdef")])
    assert verdicts == [Verdict(True, 1.0), Verdict(True, 2.0), Verdict(False, 3.0)]


def test_stored_pairs_are_served_and_only_new_ones_scored(distance, tmp_path):
    metrics = loaded(distance, RunConfig())
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        first = entailment(distance, metrics, Cutoff(2.0, GIVEN), store).entails([("a", "bb"), ("a", "bb")])
    asked = sys.modules["own_distance"].Distance.asked
    assert asked == [("a", "bb")]
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        again = entailment(distance, metrics, Cutoff(2.0, GIVEN), store).entails([("a", "bb"), ("a", "b")])
    assert asked == [("a", "bb"), ("a", "b")]
    assert again[0] == first[0]


def test_the_best_chunk_of_a_premise_decides():
    # Joint: both content words stand in the premise. In chunks of four words each holds one of the two.
    pair = ("Mayors sleep very long. Bridges open at night.", "mayors night")
    config = RunConfig.model_validate({"chunk": {"size": 4}})
    joint = entailment("overlap", loaded("overlap", config), Cutoff(0.6, GIVEN))
    chunks = entailment("overlap", loaded("overlap", config), Cutoff(0.6, GIVEN), premise="max over chunks")
    assert joint.entails([pair]) == [Verdict(True, 1.0)]
    # Of the five words of WHOLE, "bridge" falls into a second chunk.
    assert chunks.entails([pair, WHOLE]) == [Verdict(False, 0.5), Verdict(True, 2 / 3)]
    assert chunks.fields["premise"] == "max over chunks sentences-4"


def test_what_the_metric_did_not_read_is_counted():
    config = RunConfig(metric_options={"minilm-cosine": {"max_tokens": 8}})
    judge = entailment("minilm-cosine", loaded("minilm-cosine", config), Cutoff(0.5, GIVEN))
    long, short = ("bridge " * 40, "A bridge."), ("A bridge.", "A bridge.")
    cut, whole, _ = judge.entails([long, short, ("bridge " * 7, "A bridge.")])
    assert (cut.cut, whole.cut) == (True, False)
    # "bridge" is one piece of the vocabulary: 40 and 7 of them, of which 8 less the two special tokens are read.
    assert (judge.ledger.cut_pairs, judge.ledger.cut_tokens) == (2, 35)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bm25", "depends on the other pairs"),
        ("ensemble", "depends on the other pairs"),
        ("scores:mine.jsonl", "give a metric by its name"),
        ("overlpa", "Did you mean 'overlap'?"),
    ],
)
def test_what_cannot_judge_single_claims_is_refused(name, says):
    with pytest.raises(UserError, match=re.escape(says)):
        judge_of(name, loaded(name, RunConfig()))
    with pytest.raises(UserError, match="from 0 to 1"):
        entailment("minilm-cosine", loaded("minilm-cosine", RunConfig()), Cutoff(None, GIVEN))


def cutoff(name, given=None, calibrations=(), **options):
    config = RunConfig(metric_options={name: options} if options else {})
    return find_cutoff(name, judge_of(name, loaded(name, config)), given or {}, calibrations)


def test_the_cards_threshold_holds_for_the_default_options():
    assert cutoff("overlap") == Cutoff(0.63, "calibrated on WiCE dev, full support")
    with pytest.raises(UserError, match="none with these options"):
        cutoff("overlap", content_only=False)
    # A half of a probability holds for any: it answers 1 when it is the likelier of two, whatever else is set.
    assert cutoff("autoais", score="two_way").value == 0.5
    assert cutoff("overlap", {"overlap": 0.1}) == Cutoff(0.1, "as given")
    assert cutoff("nli", {"nli": None}) == Cutoff(None, "as given")


@pytest.mark.parametrize("name", registry.names("metric"))
def test_a_card_with_a_threshold_says_whose_it_is(name):
    card = registry.find("metric", name).card
    assert (card.threshold is None) == (not card.threshold_from)
    if card.threshold is not None:
        assert (card.low, card.high) != (None, None)
        assert card.low < card.threshold < card.high


@pytest.fixture
def calibration(tmp_path):
    """Write a sheet of thresholds, as `metaeval thresholds --learn` does."""

    def write(name="calibration"):
        record = {"metric": "overlap", "threshold": 0.25}
        record["identity"] = identity_of("overlap", judge_of("overlap", loaded("overlap", RunConfig())))
        data = {"name": "wice", "split": "dev", "fingerprint": "0", "statements": 1, "documents": 1, "citations": 1}
        sheet = {
            "schema": "metaeval-table/1",
            "name": name,
            "data": {**data, "groups": 1, "levels": {}},
            **{"settings": {"target": "partial"}, "signatures": [], "records": [{**record, "metric": "nli"}, record]},
        }
        path = tmp_path / "calibration.json"
        path.write_text(json.dumps(sheet))
        return path

    return write


def test_a_calibration_file_comes_before_the_card(calibration):
    assert cutoff("overlap", calibrations=[calibration()]) == Cutoff(0.25, "calibrated on wice/dev, partial support")
    # A file that is silent on the metric leaves the card's word.
    assert cutoff("rouge", calibrations=[calibration()]).value == 0.48
    with pytest.raises(UserError, match="other options"):
        cutoff("overlap", calibrations=[calibration()], content_only=False)
    with pytest.raises(UserError, match="'flips'"):
        cutoff("overlap", calibrations=[calibration(name="flips")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("0.5", {"overlap": 0.5, "nli:a/b": 0.5}),
        ("soft", {"overlap": None, "nli:a/b": None}),
        ("nli:a/b=-2e-1, overlap=soft", {"overlap": None, "nli:a/b": -0.2}),
    ],
)
def test_thresholds_as_they_are_typed(text, expected):
    assert read_thresholds(text, ["overlap", "nli:a/b"]) == expected
    for wrong in ("half", "nan", "overlap=", "inf", "overlpa=1"):
        with pytest.raises(UserError, match="'overlap'" if "=1" in wrong else "allowed: a number"):
            read_thresholds(wrong, ["overlap"])
