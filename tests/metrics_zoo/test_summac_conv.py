"""SummaC-Conv.

Official scores: summac 0.0.4 unmodified on transformers 4.30.2, a tiny ALBERT (tests/golden/metrics/summac_conv.json),
with the published layers (read from METAEVAL_SUMMAC_CONV where that names the file) and with synthetic ones whose
recipe the golden file gives. The rest is compared with `slow_score`, written here from the definition.
"""

import hashlib
import os
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.runs.verify_metric import RECIPES
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metrics_zoo import summac_image
from metrics_zoo.summac import SummaCConv, SummaCZS
from metrics_zoo.summac_image import find_convolution

torch = pytest.importorskip("torch", reason="SummaC needs the extra 'models'")

EDGES = [0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97]
EDGES += [0.975, 0.98, 0.985, 0.99, 0.995, 1]
AGGREGATES = {"scores": "mean", "scores_agg_min": "min", "scores_agg_max": "max", "scores_agg_all": "all"}
LABELS = {0: "SUPPORTS", 1: "REFUTES", 2: "NOT ENOUGH INFO"}
SOURCE = "The Kestrel lighthouse was built in 1871 on a basalt ridge. It was automated in 1983. A local trust runs it."


def synthetic_layers(path, bins=23, labels=1):
    """As the golden file's recipe says, for 23 bins."""
    random = np.random.RandomState(7)
    layers = {
        "mlp.weight": 0.5 * random.standard_normal((1, bins * labels)),
        "mlp.bias": 0.5 * random.standard_normal((1,)),
        "layer_final.weight": 0.7 * random.standard_normal((2, 3)),
        "layer_final.bias": 0.3 * random.standard_normal((2,)),
    }
    torch.save({name: torch.tensor(layer, dtype=torch.float32) for name, layer in layers.items()}, path)
    return path


@pytest.fixture
def layers(tmp_path):
    return synthetic_layers(tmp_path / "conv.bin")


@pytest.fixture(scope="module")
def folder(tiny):
    return tiny.folder("albert", id2label=LABELS)


@pytest.fixture
def official_conv(official_summac):
    return partial(official_summac, SummaCConv)


def scores(metric, pairs):
    return [answer.score for answer in score_pairs(metric, pairs).answers]


def slow_score(path, image, edges, labels="e", agg="mean"):
    """The paper's section 4.2 as its code has it: a histogram a statement sentence, two linear layers, a softmax."""
    state = torch.load(path, weights_only=True)
    first, last = torch.nn.Linear(state["mlp.weight"].shape[1], 1), torch.nn.Linear(3, 2)
    first.load_state_dict({"weight": state["mlp.weight"], "bias": state["mlp.bias"]})
    last.load_state_dict({"weight": state["layer_final.weight"], "bias": state["layer_final.bias"]})
    rows = []
    for claim in range(min(10, image.shape[2])):
        sides = [image["ecn".index(label), :, claim] for label in "ecn" if label in labels]
        rows.append(np.concatenate([np.histogram(side, bins=edges)[0] for side in sides]))
    with torch.no_grad():
        units = first(torch.tensor(np.array(rows), dtype=torch.float32))[:, 0]
        low, mean, high = units.min(), units.mean(), units.max()
        three = {"mean": [mean] * 3, "min": [low] * 3, "max": [high] * 3, "all": [low, mean, high]}[agg]
        return float(last(torch.stack(three)).softmax(0)[1])


@pytest.fixture
def published():
    path = Path(os.environ.get("METAEVAL_SUMMAC_CONV", "summac_conv_vitc_sent_perc_e.bin"))
    if not path.is_file():
        pytest.skip("the published layers are not here: name the file in METAEVAL_SUMMAC_CONV")
    return path


def test_the_official_scores_with_the_published_layers(golden, official_conv, published):
    assert hashlib.sha256(published.read_bytes()).hexdigest() == summac_image.SHA256
    official = golden.official("summac_conv")["scores"]
    assert scores(official_conv(conv_weights=published), golden.pairs) == pytest.approx(official, abs=1e-5)


def test_the_hash_in_the_code_is_the_golden_files_one(golden):
    assert f"sha256 {summac_image.SHA256})" in golden.official("summac_conv")["model"]


@pytest.mark.parametrize("labels", ["e", "c", "n", "ec", "en", "cn", "ecn"])
@pytest.mark.parametrize("bins", ["percentile", "even50", "even3", "even49"])
@pytest.mark.parametrize("agg", ["mean", "min", "max", "all"])
def test_scores_of_images(tmp_path, labels, bins, agg):
    edges = EDGES if bins == "percentile" else [*np.arange(0, 1, 1 / int(bins[4:])), 1.0]
    path = synthetic_layers(tmp_path / "conv.bin", len(edges) - 1, len(labels))
    convolution = find_convolution(path, bins, labels)
    random = np.random.default_rng(len(labels))
    for shape in ((1, 1), (7, 3), (100, 14)):
        logits = random.normal(0, 3, (3, *shape))
        image = (np.exp(logits) / np.exp(logits).sum(axis=0)).astype(np.float32).astype(np.float64)
        image[:, 0, 0] = (1.0, 0.0, 0.0)  # both outer edges
        expected = slow_score(path, image, edges, labels, agg)
        assert convolution.score(image[:, :, :10], agg) == pytest.approx(expected, abs=1e-6)


def test_a_bin_holds_its_lower_edge(layers):
    """Counts worked out by hand: 0.02 opens the third bin, 0.9 the ninth, and 1 belongs to the last."""
    image = np.zeros((3, 5, 1))
    image[0, :, 0] = [0.0, 0.02, 0.0199, 0.9, 1.0]
    counts = find_convolution(layers, "percentile", "e").histogram(image)
    assert counts.shape == (1, 23)
    assert {place: count for place, count in enumerate(counts[0]) if count} == {0: 1, 1: 1, 2: 1, 8: 1, 22: 1}


def test_the_first_ten_statement_sentences_count(folder, layers):
    claims = [f"The lighthouse was built in the year {year}." for year in range(1860, 1873)]
    metric = SummaCConv(SummaCConv.Options(model=folder, splitter="rules", conv_weights=layers))
    whole, head = score_pairs(metric, [(SOURCE, " ".join(claims)), (SOURCE, " ".join(claims[:10]))]).answers
    assert whole.score == pytest.approx(head.score, abs=1e-6)
    late = metric.tokens.texts.ids(claims[10:])
    assert whole.cut == sum(map(len, late.values())) > 0
    assert head.cut == 0
    reads_all = SummaCZS(SummaCZS.Options(model=folder, splitter="rules"))
    assert score_pairs(reads_all, [(SOURCE, " ".join(claims))]).answers[0].cut == 0


def test_nothing_to_score_is_a_status_or_the_score_of_one_zero(folder, layers):
    pairs = [("Yes. No.", "It was open all day long."), ("", "It was open all day long."), (SOURCE, "")]
    options = {"model": folder, "splitter": "rules", "conv_weights": layers}
    answers = score_pairs(SummaCConv(SummaCConv.Options(**options)), pairs).answers
    assert [answer.status for answer in answers] == [Status.NOTHING_TO_SCORE, Status.EMPTY, Status.EMPTY]
    assert {answer.score for answer in answers} == {None}
    constant = slow_score(layers, np.zeros((3, 1, 1)), EDGES)
    fallback = SummaCConv(SummaCConv.Options(**options, fallback=True))
    assert scores(fallback, pairs) == pytest.approx([constant] * 3, abs=1e-6)


def test_the_layers_are_in_the_identity_wherever_they_lie(folder, layers, tmp_path):
    def identity(path, **options):
        return SummaCConv(SummaCConv.Options(model=folder, splitter="rules", conv_weights=path, **options)).identity()

    digest = hashlib.sha256(layers.read_bytes()).hexdigest()
    assert identity(layers)["conv_weights"] == f"sha256:{digest}"
    (tmp_path / "elsewhere.bin").write_bytes(layers.read_bytes())
    assert identity(tmp_path / "elsewhere.bin") == identity(layers)
    assert identity(layers, agg="min") != identity(layers)
    other = tmp_path / "other.bin"
    torch.save({**torch.load(layers, weights_only=True), "mlp.bias": torch.ones(1)}, other)
    assert identity(other) != identity(layers)


class Bomb:
    """A pickle that makes a file when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_broken_layers_are_one_sentence(layers, tmp_path):
    with pytest.raises(UserError, match="There is no file"):
        find_convolution(tmp_path / "nowhere.bin", "percentile", "e")
    for bins, labels in (("even50", "e"), ("percentile", "ec")):  # the published ones are for others
        with pytest.raises(UserError, match="conv_weights"):
            find_convolution(None, bins, labels)
    other, text, saved = (tmp_path / f"{name}.bin" for name in ("other", "text", "saved"))
    torch.save({"other": torch.ones(1)}, other)
    for asked in ((layers, "even50", "e"), (layers, "percentile", "ec"), (other, "percentile", "e")):
        with pytest.raises(UserError, match=r" need \{"):
            find_convolution(*asked)
    text.write_bytes(b"no layers")
    torch.save({"layer": Bomb(tmp_path / "made")}, saved)
    for path in (text, saved):
        with pytest.raises(UserError, match="holds no layers"):
            find_convolution(path, "percentile", "e")
    assert not (tmp_path / "made").exists()


def test_layers_are_fetched_once_and_checked(folder, layers, serve_with, monkeypatch, tmp_path):
    content, asked = layers.read_bytes(), []

    class Origin(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    digest = hashlib.sha256(content).hexdigest()
    for name, value in {"URL": f"{serve_with(Origin)}/conv.bin", "SHA256": digest, "_SIZE": len(content)}.items():
        monkeypatch.setattr(summac_image, name, value)
    metric = SummaCConv(SummaCConv.Options(model=folder))
    assert "2 kB" in metric.lacking_extra
    for _ in range(2):
        assert find_convolution(None, "percentile", "e").sha256 == digest
    assert asked == ["/conv.bin"]
    (path,) = (tmp_path / "cache").rglob("conv.bin")
    assert metric.lacking_extra == ""
    vars(metric)["splitter"] = SentenceSplitter("nltk", None)  # the official package splits so
    assert RECIPES["summac-conv"].settings(metric)["options"]["start_file"] == str(path.resolve())
    path.write_bytes(b"half")
    assert find_convolution(None, "percentile", "e").sha256 == digest
    assert len(asked) == 2
    monkeypatch.setattr(summac_image, "SHA256", "0" * 64)
    with pytest.raises(UserError, match="conv_weights"):
        find_convolution(None, "percentile", "e")


@pytest.mark.parametrize("bins", ["percentile", "even2", "even50"])
def test_bins_are_part_of_the_identity_and_anything_else_is_refused(bins):
    assert SummaCConv.Options(bins=bins).bins == bins
    for wrong in ("even1", "even", "50", "even5.0", "even٣", "percentiles"):
        with pytest.raises(ValueError, match="neither percentile nor evenN"):
            SummaCConv.Options(bins=wrong)
