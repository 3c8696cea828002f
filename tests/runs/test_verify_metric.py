"""`verify`: the test pairs, what counts as agreement, and environments that cannot be made."""

import importlib
import json
import stat
import sys
from pathlib import Path

import pytest

from metaeval.analyses.metric_check_texts import verified_text
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs import verify_metric as environments
from metaeval.runs.verify_metric import RECIPES, Environment, compare, official_command, verify
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.fixed_pairs import PUBLISHED, VERIFICATION_PAIRS, OfficialComparison, Published, difference
from tests.cli.samples import with_options

PLUG_IN = """
from metaeval import Metric, MetricCard, PairScore
from metaeval.scoring.contract import MetricOptions, Status

class Options(MetricOptions):
    dtype: str = "float32"

class Odd(Metric):
    Options = Options
    card = MetricCard(name="odd", family="test", summary="-", paper="-", licence="-")
    calls = 0
    def score(self, sources, statements):
        type(self).calls += 1
        return [PairScore(SCORE) for source, statement in zip(sources, statements)]
"""


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A plug-in whose score is the given expression; returns the name to ask for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(expression, text=PLUG_IN):
        name = f"odd_{abs(hash((tmp_path, expression, text)))}"
        (tmp_path / f"{name}.py").write_text(text.replace("SCORE", expression), encoding="utf-8")
        importlib.invalidate_caches()
        return f"{name}:Odd"

    return make


MOVING = "len(statement) + 2e-5 * (len(sources) > 1)"
LOSING = "1.0) if len(sources) > 1 else PairScore(None, Status.EMPTY"


@pytest.mark.parametrize(
    ("score", "options", "largest", "agrees"),
    [
        ("len(statement)", [], 0, True),
        (MOVING, [], 2e-5, False),
        # Half precision may move, but not lose a score.
        (MOVING, ["dtype=bfloat16"], 2e-5, True),
        (LOSING, ["dtype=bfloat16"], float("inf"), False),
    ],
)
def test_a_score_that_moves_with_its_batch_is_found(odd, score, options, largest, agrees):
    name = odd(score)
    verified = verify(name, with_options(name, options))
    assert (verified.batch_difference, verified.agrees) == (pytest.approx(largest, rel=1e-6), agrees)


def test_a_judge_is_not_asked_twice(odd):
    name = odd("1.0", PLUG_IN.replace('dtype: str = "float32"', 'api_key_env: str = "NO_KEY"'))
    verified = verify(name, RunConfig())
    assert verified.single is None
    assert verified.agrees
    assert type(verified.metric).calls == 1


@pytest.mark.parametrize(("published", "agrees"), [(0.5, True), (0.50015, True), (0.50017, False)])
def test_published_scores(monkeypatch, published, agrees):
    # overlap: "cat" of {"cat", "dog"} stands in the source, 1/2.
    score = Published("A cat.", "cat dog", published, 4, "nowhere")
    monkeypatch.setitem(PUBLISHED, "overlap", (score,))
    verified = verify("overlap", RunConfig())
    assert verified.published == [(score, 0.5)]
    assert verified.agrees is agrees
    # With other options (other weights, another layer ...) a published score says nothing.
    assert verify("overlap", with_options("overlap", ["content_only=false"])).published == []


def test_difference_of_two_answers():
    none, other = PairScore(None, Status.EMPTY), PairScore(None, Status.NOTHING_TO_SCORE)
    assert difference(PairScore(0.5), PairScore(0.25)) == 0.25
    assert difference(none, other) == 0
    assert difference(none, PairScore(0.0)) == difference(PairScore(0.0), none) == float("inf")


OFFICIAL = """
import json, sys
rows = map(json.loads, open(sys.argv[1]))
scores = [json.dumps({"score": len(row["statement"]) / 1000 + SHIFT}) for row in rows]
open(sys.argv[2], "w").write("\\n".join(scores))
"""


@pytest.mark.parametrize(("shift", "agrees"), [("0", True), ("9e-5", True), ("2e-4", False)])
def test_the_official_package_is_held_to_the_tolerance(odd, tmp_path, monkeypatch, shift, agrees):
    # Where ours has no score, the official number is not compared.
    name = odd("None if len(source) < 5 else len(statement) / 1000, Status.EMPTY if len(source) < 5 else Status.OK")
    verified = verify(name, RunConfig())
    (tmp_path / "official.py").write_text(OFFICIAL.replace("SHIFT", shift))
    monkeypatch.setitem(RECIPES, "odd", RECIPES["bertscore"])
    compared = compare(verified, [sys.executable, "official.py"])
    assert compared.package.split("==")[::2] == ["bert-score", compared.package.rpartition("==")[2]]
    assert compared.pairs == len(VERIFICATION_PAIRS) - 1
    assert compared.largest == pytest.approx(float(shift), abs=1e-12)
    assert compared.agrees is agrees
    (tmp_path / "official.py").write_text("raise ValueError('no such model')")
    with pytest.raises(UserError, match=r"did not score \(ValueError: no such model\)\. Leave --official out"):
        compare(verified, [sys.executable, "official.py"])


def test_the_report_has_each_pair_with_what_its_scores_differ_by(odd, tmp_path, monkeypatch, recorded):
    monkeypatch.setitem(RECIPES, "odd", RECIPES["bertscore"])
    (tmp_path / "official.py").write_text(OFFICIAL.replace("SHIFT", "2e-4"))
    some = "None if len(source) < 5 else len(statement) / 1000, Status.EMPTY if len(source) < 5 else Status.OK"
    judge = PLUG_IN.replace('dtype: str = "float32"', 'api_key_env: str = "NO_KEY"')
    for name in (names := [odd(some), odd(LOSING), odd("1.0", judge)]):
        monkeypatch.setitem(PUBLISHED, name, (Published("A cat.", "cat dog", 0.0071, 4, "nowhere"),))
    found = [verify(name, RunConfig()) for name in names]
    compared = [compare(found[0], [sys.executable, "official.py"]), None, None]
    told = dict(zip(("some", "lost", "judge"), map(verified_text, found, compared), strict=True))
    recorded.held("runs-verified", {name: [said.count("\n"), *recorded.said(said)] for name, said in told.items()})


def test_only_what_can_be_installed_has_an_official_package_and_nothing_compared_is_no_agreement():
    assert not OfficialComparison("p", [], 0, 0.0).agrees
    assert OfficialComparison("p", [], 1, 1e-4).agrees
    with pytest.raises(UserError, match=r"'factcc' has no official package.*bertscore, summac-conv, summac-zs"):
        official_command("factcc", RunConfig(), print)


def test_a_command_scores_with_the_official_package_in_its_environment(fake_python, tiny, punkt_data, recorded):
    fake_python()
    kinds = {"bertscore": ["layer=1"], "summac-zs": ["splitter=nltk"], "bertscore-recall": ["layer=1"]}
    found = {}
    for name, more in kinds.items():
        labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
        folder = (
            tiny.folder("deberta", num_attention_heads=2) if "bert" in name else tiny.folder("bert", id2label=labels)
        )
        command = official_command(name, with_options(name, [f"model={folder}", *more]), str)
        settings = json.loads(command[3])
        assert settings.pop("folder") == str(Path(folder).resolve())
        assert settings.pop("nltk_data", [str(punkt_data)]) == [str(punkt_data)]
        assert Path(command[0]).exists()
        assert (command[1], Path(command[2]).is_file()) == ("-I", True)
        found[name] = settings
    for option, why in (("dtype=bfloat16", "leave dtype out"), ("idf=true", "without idf")):
        with pytest.raises(UserError, match=why):
            official_command("bertscore", with_options("bertscore", [f"model={folder}", option]), str)
    recorded.held("runs-official", found)


@pytest.mark.parametrize("options", [[], ["side=recall"]], ids=str)
def test_the_script_scores_with_the_official_package_as_this_one_does(
    fake_python, tiny, load_module, monkeypatch, tmp_path, options
):
    pytest.importorskip("bert_score", reason="needs the extra 'bertscore'")
    fake_python()
    config = with_options("bertscore", [f"model={tiny.folder('bert')}", "layer=1", *options])
    *_, script, settings = official_command("bertscore", config, str)
    ours = verify("bertscore", config).batched
    rows = [{"source": pair.source, "statement": pair.statement} for pair in VERIFICATION_PAIRS]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(sys, "argv", [script, settings, "pairs.jsonl", "scores.jsonl"])
    load_module(Path(script)).main()
    theirs = [json.loads(line)["score"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert theirs == pytest.approx([answer.score for answer in ours], abs=1e-4)


FAKE_PYTHON = """#!{python}
import os, shutil, sys
log = open({log!r}, "a"); log.write(" ".join(sys.argv[1:]) + os.getenv("PYTHONPATH", "") + "\\n")
if sys.argv[1:3] == ["-m", "venv"]:
    if {venv!r}: sys.exit({venv!r})
    os.makedirs(sys.argv[3] + "/bin"); shutil.copy(sys.argv[0], sys.argv[3] + "/bin/python")
elif {pip!r}:
    print("Collecting torch"); print({pip!r}, file=sys.stderr); print("noise at the end", file=sys.stderr); sys.exit(1)
"""


@pytest.fixture
def fake_python(tmp_path, monkeypatch):
    """An interpreter that only pretends to make environments and to install; returns what it was asked to do."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", "/somewhere")

    real = sys.executable

    def make(venv="", pip=""):
        log, path = tmp_path / "log", tmp_path / "python"
        path.write_text(FAKE_PYTHON.format(python=real, log=str(log), venv=venv, pip=pip))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(environments.sys, "executable", str(path))
        return lambda: log.read_text().splitlines()

    return make


def test_an_environment_is_made_once(fake_python, tmp_path):
    done, said = fake_python(), []
    environment = Environment("it==1.0", ("needs==2.0",))
    environment.build(said.append)
    assert len(environment.folder.name.removeprefix("it-1.0-")) == 12
    _, needs, package = done()
    assert needs.endswith("needs==2.0")
    assert package.endswith("--no-deps it==1.0")
    environment.build(said.append)
    assert (len(said), len(done())) == (2, 3)
    environment.python.unlink()
    environment.build(said.append)
    assert (len(said), environment.python.exists()) == (4, True)
    # Another pin is another environment.
    assert Environment("it==1.0", ("needs==2.1",)).folder != environment.folder


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"venv": "ensurepip is not available"}, "(ensurepip is not available). Python's own venv is needed"),
        ({"pip": "ERROR: " + "x" * 294}, f"it==1.0 could not be installed (ERROR: {'x' * 293}). A network"),
    ],
)
def test_an_environment_that_cannot_be_made_leaves_nothing(fake_python, tmp_path, faults, said):
    fake_python(**faults)
    environment = Environment("it==1.0", ("needs==2.0",))
    with pytest.raises(UserError) as raised:
        environment.build(lambda text: None)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(environment.folder.parent.iterdir()) == []
    fake_python()
    environment.build(lambda text: None)
    assert environment.python.exists()


def test_a_cache_that_cannot_hold_an_environment(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="METAEVAL_CACHE"):
        Environment("it==1.0", ()).build(lambda text: None)


def test_verification_pairs_are_scored_beside_pairs_of_their_own_length(odd):
    """Batches hold texts of about one length: without fillers each pair would be alone in its batch anyway."""
    verified = verify(odd("float(sum(len(other) == len(statement) for other in statements))"), RunConfig())
    for pair, answer in zip(VERIFICATION_PAIRS, verified.batched, strict=True):
        # Words turned round keep a text's length where nothing but single spaces stands between them.
        if len(pair.statement.split()) > 2 and pair.statement == " ".join(pair.statement.split()):
            assert answer.score >= 3
    assert {answer.score for answer in verified.single} == {1.0}
    assert len(verified.batched) == len(VERIFICATION_PAIRS)
