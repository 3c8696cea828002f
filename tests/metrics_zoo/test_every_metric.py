"""What every registered metric keeps to, whatever it computes."""

import importlib.util
import json
from pathlib import Path

import pytest

from metaeval.conformance.check_helpers import NotCheckedError
from metaeval.conformance.metric import CHECKS, HELD, MetricSubject, declares_itself
from metaeval.core import registry

WITHOUT_TEXTS = {
    "ensemble": "combines other metrics' scores",
    **{name: "is a framework's judge" for name in registry.names("metric") if ":" in name},
}
HERE = Path(__file__).parent
ODD = [tuple(pair) for pair in json.loads((HERE / "odd_pairs.json").read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def options(request, load_module, tmp_path_factory):
    """Options by metric: tiny models for the published ones, a judge on loopback that counts shared words."""
    found = {}
    if importlib.util.find_spec("torch"):
        tiny = request.getfixturevalue("tiny")
        found |= load_module(HERE / "stand_ins.py").stand_ins(tiny, tmp_path_factory.mktemp("stand-ins"))
    fake = load_module(HERE.parent / "llm" / "server.py")
    with fake.ChatServer(answer=fake.counting_judge) as server:
        yield {**found, "llm-discrete": {"base_url": server.url}, "llm-continuous": {"base_url": server.url}}


@pytest.fixture(scope="module", params=registry.names("metric"))
def subject(request, options):
    name = request.param
    own = options.get(name, {})
    return MetricSubject(registry.find("metric", name), own, name, untrained="model" in own and name != "cosine")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_metric_keeps_the_contract(subject, check):
    if subject.name in WITHOUT_TEXTS and check is not declares_itself:
        pytest.skip(f"{subject.name} {WITHOUT_TEXTS[subject.name]}: it has tests of its own")
    try:
        check(subject)
    except NotCheckedError as why:
        pytest.skip(str(why))


def _told(identity):
    """An identity without what is of the tiny models, of this machine, or the hash of a wording."""
    own = {"weights", "tokenizer", "backbone", "conv_weights", "splitter", "base_url", "prompt"}
    return {name: _told(part) if name == "options" else part for name, part in identity.items() if name not in own}


def test_every_metric_is_what_its_record_says(subject, recorded):
    kind = subject.kind
    fields = kind.Options.model_json_schema()["properties"]
    told = {"card": kind.card, "runtime": kind.Options.runtime}
    told |= {"options": {name: {**about, "description": "", "title": ""} for name, about in fields.items()}}
    if subject.name not in WITHOUT_TEXTS:
        metric = subject.metric
        told |= {"answers": [[*answer] for answer in subject.direct], "identity": _told(metric.identity())}
        told |= {"by options": metric.range_by_options(), "needs": getattr(metric, "lacking_extra", "")}
        told |= {"spans": [metric.explain(*pair) for pair in (HELD, ODD[4])] if kind.explains() else []}
        told |= {"entailed": metric.entail(*zip(*ODD, strict=True)) if kind.card.three_way else []}
    recorded.held(f"zoo-{subject.name.replace(':', '-')}", told, within=1e-3)


TEXTS = [
    ("The tower was built in 1873. It is old and made of granite.", "The tower is old."),
    ("Barges carry coal on the river Oder all the year. " * 40, "Barges sing about coal."),
    ("It rains.", "The tower was built in 1873 by a man of the island."),
]


def _loads_weights(name):
    return "dtype" in registry.find("metric", name).Options.model_fields


@pytest.mark.parametrize("name", [name for name in registry.names("metric") if _loads_weights(name)])
def test_every_family_runs_in_half_precision_and_our_kernels_take_softmax_in_float32(name, options, monkeypatch):
    import torch

    taken = set()

    def watched(softmax):
        def record(*given, **named):
            found = softmax(*given, **named)
            taken.add(found.dtype)
            return found

        return record

    monkeypatch.setattr(torch.Tensor, "softmax", watched(torch.Tensor.softmax))
    monkeypatch.setattr(torch.nn.functional, "softmax", watched(torch.nn.functional.softmax))
    kind = registry.find("metric", name)
    sources, statements = zip(*TEXTS, strict=True)

    def scored(**own):
        metric = kind(kind.Options(**options[name], **own))
        metric.prepare(sources, statements)
        return metric.score(sources, statements)

    full = scored()
    # A bfloat16 keeps 8 bits of a number: 0.4 per cent, a few times over in a row of layers.
    exact = [one.score for one in full if one.score is not None]
    for dtype in ("bfloat16", "float16"):
        half = scored(dtype=dtype)
        assert [one.status for one in half] == [one.status for one in full]
        assert [one.score for one in half if one.score is not None] == pytest.approx(exact, rel=0.1, abs=0.02), dtype
    if name not in ("factcg", "nli"):  # DeBERTa-v2 is transformers' own, and takes it in the type of its states
        assert taken <= {torch.float32, torch.float64}
