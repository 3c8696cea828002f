"""The scores of official code on tiny models (tests/golden/metrics), one line for each way to score."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra 'models'")

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from tests.metrics_zoo.test_summac_conv import synthetic_layers

WITHOUT_WORDS = ("p07_empty_statement", "p12_whitespace_only_statement")
WAYS = json.loads(Path(__file__).with_name("official_ways.json").read_text(encoding="utf-8"))
"""Metric, model, options, file and key of the values, of: ALCE 246c476 on T5 1.1's layout, whose head is its own, and
on T5 1.0's (transformers 4.30.2); yuh-zha/AlignScore a0936d5; neulab/BARTScore 248f511; bert-score 0.3.13; FactCC
6170a8c; summac 0.0.4 (transformers 4.30.2). By fallback an empty text has the number that official code gives it.

And models that are refused: metric, architecture, configuration, options, and what the refusal names."""


@pytest.mark.parametrize("name", dict.fromkeys(name for name, *_ in WAYS["values"]))
def test_the_official_scores(golden, punkt, tmp_path, recorded, name):
    told, kind = {}, registry.find("metric", name)
    for folder, options, file, key in (one for own, *one in WAYS["values"] if own == name):
        values, given = golden.official(file), {**options, "model": golden.models / folder}
        if name == "summac-conv":
            values = values["synthetic_conv"]
            given["conv_weights"] = synthetic_layers(tmp_path / "conv.bin")
        metric = kind(kind.Options(**given))
        answers = score_pairs(metric, golden.pairs).answers
        for pair, answer, value in zip(golden.ids, answers, values[key], strict=True):
            if pair in WITHOUT_WORDS and not options.get("fallback"):
                assert answer.status is Status.EMPTY
            else:
                assert answer.score == pytest.approx(value, abs=1e-5), (options, pair)
        spans = metric.explain(*golden.pairs[3]) if kind.explains() else []
        if name == "bertscore":  # to the tiny model all words are alike: rounding decides which is the most alike
            spans = [span for span in spans if span.side == "statement"]
        about = {"counts": [[answer.status, answer.tokens, answer.cut] for answer in answers], "spans": spans}
        about |= {"entailed": metric.entail(*zip(*golden.pairs[:4], strict=True)) if kind.card.three_way else []}
        about |= {"range": metric.range_by_options()}
        told["+".join([folder, *(f"{option}={value}" for option, value in options.items())])] = about
    recorded.held(f"zoo-official-{name}", told, within=1e-3)


@pytest.mark.parametrize(("name", "model", "config", "options", "named"), WAYS["refused"])
def test_a_model_that_would_give_wrong_numbers_is_refused(tiny, name, model, config, options, named):
    """Another architecture, vocabulary or number of layers, or labels in another order."""
    kind = registry.find("metric", name)
    with pytest.raises(UserError, match=named):
        score_pairs(kind(kind.Options(model=tiny.folder(model, **config), **options)), [("A dog.", "It ran.")])
