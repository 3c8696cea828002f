"""What a GPU is made to wait for, without one: models on torch's `meta` device, which has no data.

There every look at a value (`.item()`, `bool(tensor)`) is an error, and so is a tensor that was left on the CPU. For
what is copied to the CPU, the results, zeros are given.
"""

import sys

import pytest

from metaeval.runs.metrics import load_metric
from metaeval.scoring.engine import context_of
from tests.metrics_zoo.stand_ins import JOBS, chosen, job_options

torch = pytest.importorskip("torch", reason="needs the extra 'models'")

SOURCES = ["The bridge was closed in May. It opened again.", "The ferry was stopped in May. It sails again."]
PAIRS = [(source, f"The {word} opened.") for source in SOURCES for word in ("bridge", "ferry", "dam", "canal")]
MOST = 6
"""Copies of results: some for each batch, and not one for each pair."""


def in_forward():
    """The modules whose forward pass is under way."""
    frame, found = sys._getframe(), []
    while frame := frame.f_back:
        own = frame.f_locals.get("self")
        if frame.f_code.co_name == "forward" and isinstance(own, torch.nn.Module):
            found.append(type(own).__name__)
    return found


@pytest.fixture(scope="module")
def options(tiny, tmp_path_factory):
    return {"minilm-bertscore": {}, **job_options(tiny, tmp_path_factory.mktemp("stand-ins"))}


@pytest.fixture
def looked(monkeypatch):
    """How often transformers looks whether a batch is padded: before the first layer, where no work is queued."""
    from transformers import masking_utils

    seen = []
    original = masking_utils._ignore_bidirectional_mask_sdpa

    def looks(padding_mask, *args, **more):
        seen.append(padding_mask)
        return original(None if padding_mask is None else torch.zeros(padding_mask.shape), *args, **more)

    monkeypatch.setattr(masking_utils, "_ignore_bidirectional_mask_sdpa", looks)
    return seen


@pytest.fixture
def taken(monkeypatch):
    """Zeros for results that are copied from the device; in which forward passes that was asked for each time."""
    seen = []
    plain = {name: getattr(torch.Tensor, name) for name in ("cpu", "tolist")}

    def through(name):
        def take(tensor):
            if tensor.device.type == "meta":
                seen.append(in_forward())
                tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
            return plain[name](tensor)

        return take

    for name in plain:
        monkeypatch.setattr(torch.Tensor, name, through(name))
    return seen


@pytest.mark.parametrize("names", [*JOBS, ("minilm-bertscore",)], ids="+".join)
def test_a_device_is_asked_for_results_alone(names, options, looked, taken):
    config = chosen(names, {name: {**own, "device": "meta"} for name, own in options.items()}, batch_tokens=4096)
    metric = load_metric(names[0], config)
    assert metric.options.device == "meta"
    sources, statements = zip(*PAIRS, strict=True)
    context = context_of(PAIRS)
    metric.prepare(context.sources, context.statements)
    answers = metric.score(sources, statements)
    assert len(answers) == len(PAIRS)
    assert not any(taken)
    assert 0 < len(taken) <= MOST < len(PAIRS)
    assert len(looked) <= MOST
