"""The scores of an official package: run by path, where metaeval is not installed.

Arguments: a JSON object, the file of pairs to read, and the file of scores to write. The object has package (bert-score
or summac), folder (the model's files), device, and of bert-score: layer; measure: 0 precision, 1 recall, 2 F1;
baseline: the hub id whose English baseline rescales, or null. Of summac: kind: zs or conv; model: its name in the
package's table; options: arguments of the class; nltk_data: folders to look for punkt_tab in.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Score = Callable[[list[str], list[str]], list[float]]
"""A function of sources and statements, of one length, that returns a score for each pair."""


def bert_score(settings: dict[str, Any]) -> Score:
    """Return the official BERTScore scorer for the model files in `folder`."""
    package: Any = importlib.import_module("bert_score")
    # The package infers the kind of model from its name; the name "." in the model's folder avoids this.
    os.chdir(settings["folder"])
    baseline: dict[str, Any] = {}
    if settings["baseline"]:
        folder = Path(package.__file__).parent / "rescale_baseline" / "en"
        path = str(folder / f"{settings['baseline']}.tsv")
        baseline = {"lang": "en", "rescale_with_baseline": True, "baseline_path": path}
    scorer = package.BERTScorer(model_type=".", num_layers=settings["layer"], device=settings["device"], **baseline)
    # Earlier transformers knew this limit by the model's hub id; without one, inputs would not be truncated.
    scorer._tokenizer.model_max_length = min(scorer._tokenizer.model_max_length, 512)
    return lambda sources, statements: list(scorer.score(cands=statements, refs=sources)[settings["measure"]].tolist())


def summac(settings: dict[str, Any]) -> Score:
    """Return the official SummaC scorer for the files in `folder`, which the package's table then gives for `model`."""
    nltk: Any = importlib.import_module("nltk")
    nltk.data.path[:0] = settings["nltk_data"]
    package: Any = importlib.import_module("summac.model_summac")
    name, options = settings["model"], settings["options"]
    package.model_map[name]["model_card"] = settings["folder"]
    # The package would look for its author's cache.
    shared = {**options, "device": settings["device"], "imager_load_cache": False}
    if settings["kind"] == "zs":
        scorer = package.SummaCZS(model_name=name, **shared)
    else:
        scorer = package.SummaCConv(models=[name], **shared)
    return lambda sources, statements: [float(score) for score in scorer.score(sources, statements)["scores"]]


def main() -> None:
    """Score the pairs of a file of JSON lines (source, statement), and write a line with the score of each."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    settings, pairs, scores = json.loads(sys.argv[1]), Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    score = bert_score(settings) if settings["package"] == "bert-score" else summac(settings)
    rows = [json.loads(line) for line in pairs.read_text(encoding="utf-8").splitlines()]
    sources, statements = ([row[side] for row in rows] for side in ("source", "statement"))
    scored = score(sources, statements)
    scores.write_text("".join(json.dumps({"score": value}) + "\n" for value in scored), encoding="utf-8")


if __name__ == "__main__":
    main()
