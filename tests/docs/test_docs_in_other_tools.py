"""The guide to other tools: its snippets run as they stand, with the tools where they are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import metaeval

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "in-other-tools.md").read_text(encoding="utf-8")
KEPT = ROOT / "tests" / "kept"


def snippet(language, word):
    (found,) = [code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in code]
    return found


def labels(path):
    sentences = ["A cat sat on a mat in the house.", "Water boils at 100 degrees.", "Birds fly south in winter."]
    rows = [f"{n},g{n % 8},{one},{one[: 9 + n % 13]},{n % 3}" for n, one in enumerate(sentences * 8)]
    path.write_text("\n".join(["id,group,source,statement,human", *rows]))


def test_the_values_of_a_run_are_logged_to_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    labels(tmp_path / "labels.csv")
    names = {}
    exec(snippet("python", "mlflow"), names)
    (logged,) = mlflow.MlflowClient().search_runs(["0"])
    (row, *_) = next(result for result in names["results"] if result.protocol == "correlation").rows
    assert logged.data.metrics["correlation/overlap/spearman"] == row.values["spearman"].value
    assert "retrieval/rouge/ndcg-5" in logged.data.metrics


def test_scores_stand_in_a_log_of_inspect(tmp_path, monkeypatch):
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import includes
    from inspect_ai.solver import solver

    monkeypatch.chdir(tmp_path)
    texts = {"a": ("A cat sat on a mat.", "The cat sat."), "b": ("Water boils at 100 degrees.", "Water boils.")}

    @solver
    def written():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("mockllm/model", texts[state.sample_id][1])
            return state

        return solve

    samples = [Sample(id=name, input="?", target="cat", metadata={"context": one}) for name, (one, _) in texts.items()]
    task = inspect_ai.Task(dataset=samples, scorer=includes(), solver=written())
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir="logs", display="none")
    Path(log.location).rename("logs/rag.eval")
    exec(snippet("python", "precomputed_scores"), {})
    scores = {one.id: one.scores["precomputed_scores"].value for one in read_eval_log("scored.eval").samples}
    sources, statements = zip(*texts.values(), strict=True)
    assert [*scores.values()] == [one.score for one in metaeval.score("support-mini", sources, statements)]


def test_the_step_of_a_workflow_checks_a_release(tmp_path):
    *_, step = yaml.safe_load(snippet("yaml", "gate check"))["jobs"]["citations"]["steps"]
    shutil.copy(KEPT / "answers.jsonl", tmp_path / "release.jsonl")
    shutil.copy(KEPT / "gate.json", tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}
    ended = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, capture_output=True)
    assert ended.returncode in (0, 1), ended.stderr
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    assert (tmp_path / "summary.md").stat().st_size > 0
