"""What `pytest --pyargs metaeval.conformance` says of what is broken; what is whole: `cli/test_cli_own_package.py`."""

import importlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from metaeval.conformance import metric, protocol, test_conformance

HERE = Path(__file__).parent

BROKEN = {
    "metric": {
        "NoMetric": "is not a metric: give a subclass of metaeval.scoring.contract.Metric",
        "NoCard": "NoCard has no card: set `card = MetricCard(",
        "NoLicence": "The card's licence is empty: fill it",
        "Two": "score returned 2 results for 38 pairs: return one PairScore for each",
        "Numbers": "score returned 0.5, not a PairScore: return PairScore(score).",
        "NotFinite": "score=nan, status",
        "Percent": "outside the card's range 0.0 to 1.0",
        "ZeroForEmpty": "has no words and got 0.0",
        "Uncounted": "tokens=0 with input_limit=512",
        "Cumulative": "mask the padding, keep no state",
        "Inverted": "the first has to be lower",
        "Raising": "score raised KeyError: 'lost'. See the traceback.",
        "Pathed": "Two instances with the same options have different identities",
        "OpenRange": "The card's range is 1.0 to 1.0: low has to be below high.",
        "OneLimit": "truncation='none' and input_limit=512",
        "SameForAll": "pairs get only 1 different scores: return one that depends on the texts.",
        "Doubtful": "a number goes with Status.OK",
        "CutMore": "cut at most tokens",
        "CutUnseen": "has cut=0 with input_limit=512",
        "Heavy": "explain returned the weight 1.5: it lies from -1 to 1.",
        "Beyond": "a span begins and ends within its text",
    },
    "protocol": {
        "CHANGING": "evaluate changed its input on 'plain': work on copies",
        "ZERO": "gap is 0.0 on the input 'all unscored': return Estimate(None, note='no scored pairs').",
        "UNCOUNTED": "of 300 rows",
        "UNSEEDED": "Two runs with one seed differ",
        "UNCHECKED": "score=inf has to raise a ValueError",
        "TWO_WAYS": "replicate gives gap = 0.33578774167009473",
        "OLD_OPTIONS": "Option 'form' is not whole",
        "HEADLESS": "headline has a key that no measure has",
        "TWICE": "two have one key",
        "SHOWS_NONE": "shown gives nothing",
        "TABLED": "table_measures has a key that no measure has",
        "HALF_OPEN": "gap has one end of an interval only: give both, or none.",
        "TURNED": "gap has ends 1.0 and 0.0: the lower one first.",
        "INFINITE": "gap holds inf: ",
        "WHOLE_NUMBER": "gap holds 1: ",
        "SILENT": "gap is undefined without a note",
        "EMPTY_REASON": "excluded holds a reason without rows: leave it out.",
        "MORE_KEYS": "estimates has gulf, which are not measures: declare them.",
        "FEWER_KEYS": "estimates lacks gap, which `shown` names: return Estimates.",
        "EMPTY_TIES": "tie_orders is set and no estimate has `ties`",
        "LISTS": "evaluate returned list: return a protocols.contract.Outcome.",
    },
}


@pytest.fixture(scope="module")
def conformance(start):
    """Exit code and output of the suite, run as an outsider does: beside the package, away from the project."""

    def ran(*arguments):
        words = ("-p", "no:cacheprovider", "--pyargs", "metaeval.conformance", *arguments)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        suite = start(*words, module="pytest", cwd=HERE, env={**os.environ, "COLUMNS": "300"}, **streams)
        said = suite.communicate(timeout=600)
        return suite.returncode, "".join(said)

    return ran


KINDS = {"metric": (metric.CHECKS, metric.MetricSubject), "protocol": (protocol.CHECKS, protocol.ProtocolSubject)}


@pytest.fixture(scope="module")
def told():
    """The failures of the suite's checks of everything that is broken, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        scratch = importlib.import_module("scratch")
        names = [(kind, name) for kind in BROKEN for name in BROKEN[kind]] + [("metric", "SharedWords")]
        return {name: "\n".join(failures(*KINDS[kind], getattr(scratch, name))) for kind, name in names}


def failures(checks, subject_of, value):
    """The message of each check that fails; a check may take for granted what those before it say."""
    subject = subject_of(value)
    for number in range(len(checks)):
        try:
            test_conformance.test_contract(checks[: number + 1], subject)
        except pytest.fail.Exception as failure:
            yield str(failure)
        except pytest.skip.Exception:
            continue


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, sentence) for names in BROKEN.values() for name, sentence in names.items()]
)
def test_what_is_broken_is_told_what_to_do(told, name, sentence):
    assert sentence in told[name]


def test_what_is_whole_is_not_complained_of(told):
    assert told["SharedWords"] == ""


def test_typed_as_an_outsider_does_the_suite_fails_with_its_sentences(conformance):
    code, said = conformance("--metric=scratch:NoLicence", "--metric=scratch:SharedWords")
    assert code == 1, said
    assert BROKEN["metric"]["NoLicence"] in said
    assert "test_contract[scratch:SharedWords" not in said
    assert "assert " not in said
    assert not re.search("^E  ", said, re.MULTILINE), said


def test_without_a_name_or_with_a_wrong_one_the_suite_says_what_to_give(conformance):
    assert "Nothing to check: give --metric or --protocol" in conformance()[1]
    code, said = conformance("--metric=overlapp")
    assert code != 0
    assert "Did you mean 'overlap'" in said
