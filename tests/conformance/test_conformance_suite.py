"""What `pytest --pyargs metaeval.conformance` says of what is broken; what is whole: `cli/test_cli_own_package.py`."""

import importlib
import io
import os
import re
import subprocess
from collections import Counter, defaultdict
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from metaeval.conformance import metric, protocol, test_conformance
from protocols.contract import Protocol

HERE = Path(__file__).parent


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


def failures(checks, subject_of, *subject):
    """(number, message, what traceback is printed) of each check that fails or is left out."""
    made = subject_of(*subject)
    for number in range(len(checks)):
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                test_conformance.test_contract(checks[: number + 1], made)
        except (pytest.fail.Exception, pytest.skip.Exception) as failure:
            frames = printed.getvalue().count('  File "')
            yield number, f"{failure}", "|traced" * bool(frames) + f"|{frames}" * (frames > 10)


def test_what_is_broken_is_told_what_to_do(recorded, monkeypatch):
    """The sentences of the checks of everything in `scratch`, by their first words and their numbers."""
    monkeypatch.syspath_prepend(str(HERE))
    scratch = importlib.import_module("scratch")
    values = {name: one for name, one in vars(scratch).items() if not name.startswith("_")}
    made = {name: one for name, one in values.items() if getattr(one, "__module__", "") in ("scratch", "abc")}
    subjects = {name: ("metric", one) for name, one in made.items() if isinstance(one, type)}
    subjects |= {name: ("protocol", one) for name, one in values.items() if isinstance(one, Protocol | str)}
    subjects |= {
        "another name": ("metric", scratch.SharedWords, {}, "words"),
        "untrained": ("metric", scratch.Backwards, {}, "", True),
        "another protocol's name": ("protocol", scratch.GAP, "gulf"),
    }
    told = {name: defaultdict(list) for name in subjects}
    for name, (kind, *subject) in subjects.items():
        for check, said, traced in failures(*KINDS[kind], *subject):
            numbers = "/".join(f"{float(number):.5g}" for number in re.findall(r"-?\d+(?:\.\d+)?", said))
            told[name][f"{' '.join(said.split()[:4])}|{numbers}{traced}"].append(check)
    recorded.held("conformance-broken", told)


def test_the_inputs_of_the_checks_are_the_recorded_ones(recorded):
    rows = {
        name: {column: _summed(getattr(one, column)) for column in ("gold", "score", "group", "pool", "system")}
        for name, one in protocol.EDGES.items()
    }
    texts = [metric.PAIRS.index(pair) for pair in (metric.HELD, metric.UNRELATED, metric.LONG)]
    lengths = [[len(source.split()), len(statement)] for source, statement in metric.PAIRS]
    kinds = Counter(protocol.EDGES["plain"].kind)
    recorded.held("conformance-inputs", {"rows": rows, "pairs": texts, "lengths": lengths, "kinds": kinds})


def _summed(values):
    """How many values there are, how many are numbers, and two sums that tell them from others in another order."""
    known = np.nan_to_num(values.astype(float))
    return [known.size, int((known == values).sum()), known.sum(), known @ np.arange(known.size)]


def test_typed_as_an_outsider_does_the_suite_fails_with_its_sentences(conformance):
    code, said = conformance("--metric=scratch:NoLicence", "--metric=scratch:SharedWords")
    assert (code, "9 failed, 13 passed" in said) == (1, True), said
    assert "The card's licence is empty: fill it" in said
    assert "test_contract[scratch:SharedWords" not in said
    assert "assert " not in said
    assert not re.search("^E  ", said, re.MULTILINE), said


def test_without_a_name_or_with_a_wrong_one_the_suite_says_what_to_give(conformance):
    wrong = {"Nothing to check: give --metric or --protocol": (), "Did you mean 'overlap'": ("--metric=overlapp",)}
    for sentence, typed in wrong.items():
        code, said = conformance(*typed)
        assert (code, sentence in said, "_generate_tests" in said) == (2, True, False)
    assert conformance("--metric=overlap", "--option=steem=true")[0] == 1
