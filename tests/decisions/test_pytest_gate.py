"""The pytest plugin of a gate, run by pytest in a folder of its own."""

from pathlib import Path

import pytest

from metaeval.core.config import RunConfig
from metaeval.core.files import csv_text
from metaeval.decisions import pytest_gate
from metaeval.decisions.gate_check import read_gate
from metaeval.decisions.gate_fit import fit
from metaeval.decisions.gate_model import write_gate

pytest_plugins = "pytester"

TESTS = """
import pytest

def test_supported(assert_supported):
    assert assert_supported("the bridge is old", "The bridge is old and grey.") == 1

def test_not_supported(assert_supported):
    assert_supported("the bridge is old", source="Cats sleep.")

@pytest.mark.citations("good.csv")
def test_good():
    pass

@pytest.mark.citations("bad.csv")
def test_bad():
    pass
"""


def rows(n, bad):
    own = [
        (f"c{k}", f"town {k} has a mill", "Cats sleep all day." if k < bad else f"Town {k} has a mill, they say.")
        for k in range(n)
    ]
    return [
        ("id", "statement", "source", "level"),
        *((*one, "none" if k < bad else "full") for k, one in enumerate(own)),
    ]


@pytest.fixture
def folder(tmp_path):
    Path(tmp_path / "fit.csv").write_text(csv_text(rows(120, 50)))
    for name, bad in (("good.csv", 2), ("bad.csv", 60)):
        Path(tmp_path / name).write_text(csv_text([line[:3] for line in rows(100, bad)]))
    found = fit(tmp_path / "fit.csv", tmp_path / "fit.csv", ["overlap"], config=RunConfig(results=tmp_path / "results"))
    write_gate(found.gate, tmp_path / "gate.json")
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


@pytest.fixture
def run(pytester, monkeypatch, folder):
    """What pytest prints in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugin = ("-p", "metaeval.decisions.pytest_gate", "-p", "no:cacheprovider")
    words = ("-q", "-rs", "--strict-markers", *plugin)
    return lambda *typed: pytester.runpytest_inprocess(*words, *typed, "test_it.py").stdout.str()


def test_citations_are_held_against_the_gate(run):
    said = run("--citation-gate", "gate.json")
    assert "2 failed, 2 passed" in said
    assert "Not supported: 'the bridge is old' (overlap: score" in said
    assert [part in said for part in ("FAILED: ", "pytest_pyfunc_call", 'source="Cats')] == [True, False, False]


def test_without_a_gate_they_are_skipped_and_a_changed_one_is_an_error(run, folder):
    said = run()
    assert "4 skipped" in said
    assert "no gate is given: run pytest --citation-gate gate.json" in said
    path = folder / "gate.json"
    path.write_text(path.read_text().replace('"alpha": 0.05', '"alpha": 0.04'))
    assert "was changed after fitting" in run("--citation-gate", "gate.json")


@pytest.fixture
def citation_gate(folder):
    """The gate that the plugin reads from --citation-gate."""
    return read_gate(folder / "gate.json").model_copy(update={"threshold": 1.0})


_gate_run, assert_supported = pytest_gate._gate_run, pytest_gate.assert_supported


@pytest.mark.parametrize(("statement", "result"), [("the bridge is old", "score 0"), (" ", "no score")])
def test_a_failure_names_the_score_or_that_there_is_none(assert_supported, statement, result):
    assert assert_supported("the bridge is old", "The bridge is old and grey.") == 1
    expected = rf"Not supported: '{statement}' \(overlap: {result}; supported from 1 on\)"
    with pytest.raises(pytest.fail.Exception, match=expected):
        assert_supported(statement, "Cats sleep.")
