"""The wheel, installed in an empty environment without extras, does the main job and evaluates scores."""

import json
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import metaeval

pytestmark = pytest.mark.slow  # what the wheel holds is tested in test_packaging.py

ROOT = Path(__file__).parents[1]
QUICK = ("--set", "interval.resamples=10", "--set", "comparison.permutations=10", "--set", "controls=false")


def call(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "env")
    python = folder / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    # What is installed from a folder is the wheel that the build backend makes of it.
    code, _, errors = call(*pip, "install", "-q", "--no-deps", "-c", ROOT / "constraints.txt", ROOT, cwd=folder)
    if code and "ould not find a version" in errors:
        pytest.skip("no package index within reach: the build backend cannot be installed")
    assert code == 0, errors
    (packages,) = folder.glob("env/lib/python*/site-packages")
    (own,) = metadata.distributions(name="metaeval", path=[str(packages)])
    link_needed(own.requires, packages)
    code, said, _ = call(*pip, "check", cwd=folder)
    assert code == 0, said
    return python.with_name("metaeval"), folder


def link_needed(requirements, packages):
    """Put what is required, and what that requires, into a folder: the packages that are installed here, as links."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        found = metadata.distribution(requirement.name)
        tops = {file.parts[0] for file in found.files if file.parts[0] not in ("..", "__pycache__")}
        new = [top for top in tops if not (packages / top).exists()]
        for top in new:
            (packages / top).symlink_to(found.locate_file(top))
        if new:
            link_needed(found.requires or (), packages)


def test_it_knows_its_version(installed):
    command, folder = installed
    assert call(command, "--version", cwd=folder)[:2] == (0, f"metaeval {metaeval.__version__}\n")
    _, place, _ = call(command.with_name("python"), "-c", "import metaeval; print(metaeval.__file__)", cwd=folder)
    assert Path(place).is_relative_to(folder / "env")


def test_it_runs_the_main_job_on_the_shipped_corpus(installed):
    command, folder = installed
    code, out, errors = call(command, "run", "--full", *QUICK, cwd=folder)
    assert code == 0, errors
    assert "1,054 scored + 0 unscored + 0 excluded = 1,054" in out
    assert "Not run: minilm-cosine, minilm-bertscore. To add them, type \"pip install -e '.[models]'\"" in errors
    tables = {path.stem for path in (folder / "results" / "latest").glob("*.json")}
    assert tables >= {"classification", "correlation", "retrieval"}


def test_it_holds_the_parameters_of_support_mini(installed):
    command, folder = installed
    code, out, errors = call(command, "metrics", "verify", "support-mini", cwd=folder)
    assert code == 0, errors
    assert "As it should be." in out


def test_variants_and_suites_of_the_wheel_run(installed):
    command, folder = installed
    settings = ("-m", "rouge-1,minilm-cosine", "-p", "classification", *QUICK)
    code, _, errors = call(command, "run", "--suite", *settings, cwd=folder)
    assert code == 0, errors
    assert "Left out: minilm-cosine on mini: Metric 'minilm-cosine' needs the packages torch" in errors


def test_it_evaluates_scores_that_were_made_elsewhere(installed):
    command, folder = installed
    assert call(command, "pairs", "pairs.jsonl", cwd=folder)[0] == 0
    pairs = [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = [{"pair_id": pair["pair_id"], "score": len(pair["statement"])} for pair in pairs]
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scores))
    code, out, errors = call(command, "evaluate", "mine.jsonl", *QUICK, cwd=folder)
    assert code == 0, errors
    assert "mine" in out


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("pairs", "p.parquet"), "parquet"),
        (("score", "-m", "overlap", "--format", "parquet"), "parquet"),
        (("run", "--metrics", "minilm-cosine"), "models"),
    ],
)
def test_without_an_extra_what_needs_it_is_refused_and_the_cure_named(installed, arguments, extra):
    command, folder = installed
    code, _, errors = call(command, *arguments, cwd=folder)
    assert code == 2
    assert f"pip install -e '.[{extra}]'" in errors, "and no file that a wheel does not hold"
    assert "Traceback" not in errors
