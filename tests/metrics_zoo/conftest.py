"""The tiny golden models, rebuilt byte for byte, and the sentences that their scores are of."""

import functools
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from metaeval.scoring.backends import minilm

GOLDEN = Path(__file__).parents[1] / "golden" / "metrics"


_load_minilm = functools.cache(minilm._load)


@pytest.fixture(autouse=True, scope="module")
def one_minilm():
    """The weights of MiniLM are read and checked once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "_load", _load_minilm)
        yield


@dataclass(frozen=True)
class Golden:
    """Official scores: `models` is the folder of the rebuilt tiny models, `pairs` the 13 (source, statement) pairs."""

    models: Path
    ids: list
    pairs: list

    def official(self, name):
        """The official outputs of one metric, as stored."""
        return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def golden(load_module, tmp_path_factory):
    for module in ("torch", "transformers", "sentencepiece"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the tiny golden models need {module} (extra 'models')")
    load_module(Path(__file__).with_name("tiny_models.py")).t5_by_distance()
    maker = load_module(GOLDEN / "make_tiny.py")
    folder = tmp_path_factory.mktemp("golden")
    made = maker.build(str(folder))
    assert made == maker.spec()["digests"], "the rebuilt tiny models are not the ones that the official scores are of"
    rows = json.loads((GOLDEN / "pairs.json").read_text(encoding="utf-8"))
    return Golden(folder, [row["id"] for row in rows], [(row["source"], row["statement"]) for row in rows])


class Passed:
    """What passes a model from here on, by the attention masks that it is given."""

    def __init__(self, model):
        self._batches = []
        model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, model, args, given):
        mask = given["attention_mask"]
        self._batches.append((len(mask), int(mask.sum()), mask.numel()))

    @property
    def texts(self):
        """How many texts, or pairs."""
        return sum(texts for texts, _, _ in self._batches)

    @property
    def padding(self):
        """Tokens with padding, out of those without."""
        return sum(padded for *_, padded in self._batches) / sum(tokens for _, tokens, _ in self._batches)


@pytest.fixture
def watch():
    return Passed


@pytest.fixture
def punkt(punkt_data):
    """NLTK's punkt_tab, which the official scores were cut with."""


@pytest.fixture
def official_summac(golden, punkt):
    """Make a SummaC metric as the official scores were made: on the tiny ALBERT, cut by punkt, with the fallback."""

    def make(metric, **options):
        folder = golden.models / "tals/albert-xlarge-vitaminc-mnli"
        return metric(metric.Options(model=folder, splitter="nltk", **{"fallback": True, **options}))

    return make
