"""Verify a metric on this machine, also with an official package in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import cache_folder, sha256_json, write_text
from metaeval.core.parsing import json_objects
from metaeval.runs.metrics import load_metrics, plug_in
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.contract import Combination, PairScore, TextPair
from metaeval.scoring.fixed_pairs import OfficialComparison, VerificationReport, compare_official, verify_metric

Say = Callable[[str], None]
"""Called with a few words about the current step."""


def verify(name: str, config: RunConfig) -> VerificationReport:
    """Score the fixed test pairs (`VERIFICATION_PAIRS`) with a metric, together and (unless it has an API key) singly.

    Raises `UserError` for a combination, a wrong option, a missing package, and a model that cannot be loaded.
    """
    metric = load_metrics([name], config)[name]
    if isinstance(metric, Combination):
        raise UserError(f"{name!r} combines other metrics: verify {', '.join(metric.members)} instead, one at a time.")
    with plug_in(name):
        return verify_metric(name, metric)


def official_command(name: str, config: RunConfig, say: Say) -> list[str]:
    """Return the command that scores with the official package of a metric; builds its environment if needed.

    Raises `UserError` for a metric without an installable official package, and for options that the package lacks.
    """
    metric = load_metrics([name], config)[name]
    with plug_in(name):
        recipe = RECIPES.get(metric.card.name)
        if recipe is None or not isinstance(metric, ModelMetric):
            raise UserError(f"{name!r} has no official package that can be installed (one of {', '.join(RECIPES)}).")
        if metric.options.dtype != "float32":
            raise UserError("The official package computes in float32: leave dtype out.")
        settings = {"folder": str(metric.model_folder.folder.resolve()), "device": "cpu", **recipe.settings(metric)}
        recipe.environment.build(say)
        script = Path(__file__).parent / "official" / "official_scores.py"
        return [str(recipe.environment.python), "-I", str(script), json.dumps(settings)]


def compare(checked: VerificationReport, command: Sequence[str]) -> OfficialComparison:
    """Score the fixed test pairs with the official package, and compare its scores with this package's (`checked`).

    command: see `official_scores`.
    """
    title = RECIPES[checked.metric.card.name].title
    pairs = [(pair.source, pair.statement) for pair in checked.test_pairs]
    return compare_official(checked, official_scores(command, pairs, title), title)


def official_scores(command: Sequence[str], pairs: Sequence[TextPair], title: str) -> list[PairScore]:
    """Return the scores that a command gives for (source, statement) pairs, in order.

    command: reads a file of pairs and writes a file of scores, whose paths are added to it. title: of the package.
    Raises `UserError` where the command fails.
    """
    with TemporaryDirectory() as folder:
        texts, scores = (Path(folder) / name for name in ("pairs.jsonl", "scores.jsonl"))
        rows = ({"source": source, "statement": statement} for source, statement in pairs)
        write_text(texts, "".join(json.dumps(row) + "\n" for row in rows))
        _step([*command, str(texts), str(scores)], f"The official package {title} did not score", _NO_SCORES)
        return [PairScore(row["score"]) for _, row in json_objects(scores, "")]


@dataclass(frozen=True)
class Environment:
    """A virtual environment of an official package, with requirements pinned exactly.

    The package is installed without its declared requirements, because summac requires a huggingface-hub (<= 0.17) that
    no recent transformers supports.
    """

    package: str
    needs: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Return the folder, named after the package, with a hash of all pins and of the Python version."""
        pins = sha256_json([self.package, self.needs, sys.version_info[:2]])[:12]
        return cache_folder() / "official" / f"{self.package.replace('==', '-')}-{pins}"

    @property
    def python(self) -> Path:
        """Return the path of the interpreter."""
        return self.folder / _PYTHON

    def build(self, say: Say) -> None:
        """Build the environment if it is missing; raises `UserError` on failure, without leaving a partial one."""
        if (self.folder / _MARK).is_file() and self.python.exists():
            return
        building = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        try:
            building.parent.mkdir(parents=True, exist_ok=True)
            say(f"Making an environment for {self.package} in {self.folder}")
            say("(once; it takes minutes, and 1 GB or more) ...")
            environment = f"The environment for {self.package} could not be installed"
            installed = f"The official package {self.package} could not be installed"
            _step([sys.executable, "-m", "venv", str(building)], environment, _NO_VENV)
            pip = [str(building / _PYTHON), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            for what in (self.needs, ("--no-deps", self.package)):
                _step([*pip, *what], installed, _NO_INSTALL)
            write_text(building / _MARK, "\n".join([self.package, *self.needs, ""]))
            shutil.rmtree(self.folder, ignore_errors=True)
            building.rename(self.folder)
        except OSError as error:
            raise UserError(f"Cannot create {self.folder}: {error.strerror or error}: set METAEVAL_CACHE.") from error
        finally:
            shutil.rmtree(building, ignore_errors=True)


_MARK = "metaeval-pins.txt"
_PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
_NO_VENV = "Python's own venv is needed (on Debian and Ubuntu: apt install python3-venv)"
_NO_SCORES = "Leave --official out to run the other checks"
_NO_INSTALL = "A network and a package index are needed, this once"


def _step(command: Sequence[str], what: str, advice: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, errors="replace", env=environment, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        reason = errors[-1][:300] if errors else f"exit code {done.returncode}"
        raise UserError(f"{what} ({reason.rstrip('.')}). {advice}.")


# The newest transformers that summac runs on, with fitting packages for Python 3.11 to 3.13.
_STACK = (
    "torch==2.13.0",
    "transformers==4.51.3",
    "tokenizers==0.21.4",
    "huggingface-hub==0.36.2",
    "safetensors==0.8.0",
    "numpy==2.4.6",
)
_SUMMAC = Environment(
    "summac==0.0.4", (*_STACK, "nltk==3.10.4", "sentencepiece==0.2.1", "protobuf==6.33.6", "requests", "tqdm")
)
_BERTSCORE = Environment(
    "bert-score==0.3.13", (*_STACK, "pandas==2.3.3", "matplotlib==3.10.9", "packaging", "requests", "tqdm")
)


class OfficialRecipe(NamedTuple):
    """An official package for a metric: its environment, and the function that makes the settings of its script."""

    environment: Environment
    settings: Callable[[ModelMetric], Mapping[str, Any]]

    @property
    def title(self) -> str:
        """Return the name of the package, and its transformers version."""
        return f"{self.environment.package} on {self.environment.needs[1]}"


def _summac(metric: ModelMetric, kind: str, names: tuple[str, ...]) -> dict[str, Any]:
    options = metric.options
    splitter = metric.splitter.name  # type: ignore[attr-defined]
    if splitter.startswith("rules"):
        raise UserError(f"The official package splits by punkt_tab, not by {splitter}: add --set splitter=nltk.")
    import nltk

    return {
        "package": "summac",
        "kind": kind,
        "model": metric.official_name,  # type: ignore[attr-defined]
        "options": {name: getattr(options, name) for name in names},
        "nltk_data": [str(Path(folder).absolute()) for folder in nltk.data.path],
    }


def _summac_conv(metric: ModelMetric) -> dict[str, Any]:
    settings = _summac(metric, "conv", ("granularity", "nli_labels", "bins", "agg"))
    sha256 = metric.convolution.sha256  # type: ignore[attr-defined]
    weights = metric.options.conv_weights or next((cache_folder() / "files" / sha256[:16]).iterdir())
    settings["options"]["start_file"] = str(weights.resolve())
    return settings


def _bertscore(metric: ModelMetric) -> dict[str, Any]:
    options = metric.options
    if options.idf or options.baseline:
        raise UserError("--official compares bertscore without idf and without a baseline of your own: leave both out.")
    return {
        "package": "bert-score",
        "layer": metric.layer,  # type: ignore[attr-defined]
        "measure": ("precision", "recall", "f1").index(options.side),
        "baseline": metric.published if options.rescale else None,  # type: ignore[attr-defined]
    }


RECIPES: dict[str, OfficialRecipe] = {
    "bertscore": OfficialRecipe(_BERTSCORE, _bertscore),
    "summac-conv": OfficialRecipe(_SUMMAC, _summac_conv),
    "summac-zs": OfficialRecipe(
        _SUMMAC, partial(_summac, kind="zs", names=("granularity", "op1", "op2", "use_ent", "use_con"))
    ),
}
"""The recipe of each metric that has an official package, by the name on the metric's card."""
