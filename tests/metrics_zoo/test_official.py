"""`verify --official` for real: official packages from the package index, beside ours, on the tiny golden models."""

import re
import sys

import pytest

from metaeval.cli.app import main
from metaeval.core.errors import UserError
from metaeval.runs.verify_metric import RECIPES, official_command, official_scores
from tests.cli.samples import with_options
from tests.metrics_zoo.test_summac_conv import synthetic_layers


@pytest.fixture(scope="session")
def environments(tmp_path_factory):
    """A cache that the official environments are made in, once for all these tests: minutes, and a package index."""
    return tmp_path_factory.mktemp("official")


@pytest.fixture
def verify(environments, monkeypatch, capsys):
    """Run `metaeval metrics verify ARGS... --official`: its exit code and what it printed."""
    monkeypatch.setenv("METAEVAL_CACHE", str(environments))

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["metaeval", "metrics", "verify", *map(str, args), "--official"])
        with pytest.raises(SystemExit) as end:
            main()
        ended = capsys.readouterr()
        if "could not be installed" in ended.err:
            pytest.skip(f"the official package cannot be installed here: {ended.err.strip()}")
        return int(end.value.code or 0), ended.out

    return run


@pytest.fixture
def vitc(golden):
    return f"model={golden.models / 'tals' / 'albert-xlarge-vitaminc-mnli'}"


@pytest.fixture
def deberta(golden):
    return f"model={golden.models / 'microsoft' / 'deberta-xlarge-mnli'}"


@pytest.fixture
def conv(tmp_path):
    """The synthetic layers of the golden file."""
    pytest.importorskip("torch")
    return f"conv_weights={synthetic_layers(tmp_path / 'conv.bin')}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("summac-zs", []),
        ("summac-zs", ["granularity=paragraph-sentence", "op1=mean", "op2=min"]),
        ("summac-zs", ["use_con=false"]),
        ("summac-zs", ["use_ent=false", "op2=max"]),
        ("summac-conv", []),
        ("summac-conv", ["agg=all", "granularity=2sents"]),
        ("bertscore", []),
        ("bertscore", ["rescale=true"]),
    ],
)
def test_it_is_the_official_one(verify, vitc, deberta, conv, punkt, name, options):
    given = {"summac-zs": [vitc], "summac-conv": [vitc, conv], "bertscore": [deberta]}[name]
    code, out = verify(name, *[word for option in (*given, *options) for word in ("--set", option)])
    assert code == 0, out
    assert ("bert-score==0.3.13" if name == "bertscore" else "summac==0.0.4") + " on transformers==4.51.3" in out


@pytest.mark.slow
def test_another_computation_is_found_out(verify, vitc, punkt, monkeypatch):
    """The negative control: the official package is told to gather by the mean, ours gathers by the maximum."""
    settings = RECIPES["summac-zs"].settings

    def other(metric):
        given = settings(metric)
        return {**given, "options": {**given["options"], "op1": "mean"}}

    monkeypatch.setitem(RECIPES, "summac-zs", RECIPES["summac-zs"]._replace(settings=other))
    code, out = verify("summac-zs", "--set", vitc)
    assert code == 1
    assert "NOT as it should be" in out


@pytest.mark.slow
def test_the_official_package_in_its_environment_gives_the_golden_scores(golden, verify, vitc, punkt):
    """The stored scores are of summac 0.0.4 on transformers 4.30.2: another environment, the same numbers."""
    verify("summac-zs", "--set", vitc)  # makes the environment
    config = with_options("summac-zs", [vitc])
    command = official_command("summac-zs", config, lambda text: None)
    expected = golden.official("summac_zs")["scores"]
    rows = [(pair, score) for pair, score in zip(golden.pairs, expected, strict=True) if pair[1].strip()]
    answers = official_scores(command, [pair for pair, _ in rows], "summac")
    assert len(answers) == 11  # two of the thirteen statements have no words
    assert [answer.score for answer in answers] == pytest.approx([score for _, score in rows], abs=1e-5)


def test_what_the_official_package_cannot_be_asked(vitc, punkt):
    for option, said in (("splitter=rules", "splits by punkt_tab"), ("dtype=bfloat16", "computes in float32")):
        with pytest.raises(UserError, match=re.escape(said)):
            official_command("summac-zs", with_options("summac-zs", [vitc, option]), lambda text: None)
