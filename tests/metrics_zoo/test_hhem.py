"""HHEM-2.1-Open: the published key layout on a tiny T5, against the definition on plain transformers."""

import json
import os
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.scoring.contract import Status  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metrics_zoo.hhem import HHEM, read_config  # noqa: E402
from tests.metrics_zoo.stand_ins import hhem  # noqa: E402

PROMPT = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
PAIRS = json.loads(Path(__file__).with_name("odd_pairs.json").read_text(encoding="utf-8"))


def metric(folder, **options):
    return HHEM(HHEM.Options(model=folder, device="cpu", **options))


@pytest.fixture(scope="module")
def published(tiny, tmp_path_factory):
    """(folder, model): a random T5ForTokenClassification, saved under the published names: `t5.`, embedding once."""
    from transformers import T5Config, T5ForTokenClassification

    source, path = tiny.folder("t5"), tmp_path_factory.mktemp("hhem")
    model = T5ForTokenClassification(T5Config.from_pretrained(source, num_labels=2)).eval()
    torch.manual_seed(3)
    for name, parameter in model.named_parameters():
        parameter.data = torch.randn_like(parameter) * 0.3 + (1 if "norm" in name else 0)
    hhem(source, path, model)
    # the published config.json names a class that only code from the hub defines: nothing may need it
    (path / "config.json").write_text('{"model_type": "HHEMv2Config", "architectures": ["HHEMv2"]}')
    return path, model


def definition(published, pairs):
    """The definition, pair by pair: the filled prompt as one string, softmax at its first token, class 1."""
    from transformers import T5Tokenizer

    path, model = published
    tokenizer = T5Tokenizer.from_pretrained(path)
    values = []
    for pair in pairs:
        with torch.inference_mode():
            logits = model(**tokenizer(PROMPT.format(*pair), return_tensors="pt")).logits[0, 0]
        values.append(float(logits.double().softmax(0)[1]))
    return values


@pytest.fixture(scope="module")
def defined(published):
    values = definition(published, PAIRS)
    assert max(values) - min(values) > 0.01
    return values


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
def test_the_score_is_its_definition_whatever_the_batch(published, defined, batch_tokens):
    found = score_pairs(metric(published[0], batch_tokens=batch_tokens), PAIRS).answers
    assert [answer.score for answer in found] == pytest.approx(defined, abs=1e-5)
    turned = score_pairs(metric(published[0], batch_tokens=batch_tokens), PAIRS[::-1]).answers
    assert [answer.score for answer in turned][::-1] == pytest.approx(defined, abs=1e-5)


def test_the_shapes_tell_the_configuration(published):
    """All that the model is built from; compared with the configuration that it was made with."""
    path, model = published
    shapes = {f"t5.{name}": tuple(value.shape) for name, value in model.state_dict().items()}
    told = read_config(shapes, path)
    names = "vocab_size d_model d_kv d_ff num_layers num_heads dense_act_fn is_gated_act layer_norm_epsilon num_labels"
    for name in (*names.split(), "relative_attention_num_buckets", "relative_attention_max_distance"):
        assert getattr(told, name) == getattr(model.config, name), name


def test_statuses_limits_and_counts(published):
    path, _ = published
    room = score_pairs(metric(path), [("x", "x")]).answers[0].tokens + 40
    found = score_pairs(
        metric(path, max_tokens=room), [("A dog.", ""), PAIRS[1], ("A dog.", "It was built. " * 60)]
    ).answers
    assert [answer.status for answer in found] == [Status.EMPTY, Status.OK, Status.TOO_LONG]
    assert found[1].tokens - found[1].cut == room
    assert score_pairs(metric(path), [PAIRS[1]]).answers[0].cut == 0


def test_the_tokenizer_is_part_of_the_identity(published, tiny, tmp_path):
    path, _ = published
    shutil.copy(path / "model.safetensors", tmp_path)
    for file in tiny.folder("bart").glob("tokenizer*.json"):
        shutil.copy(file, tmp_path)
    assert metric(tmp_path).identity() != metric(path).identity()
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="beside the model"):
        metric(tmp_path).prepare([], [])


def test_broken_weights_are_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(UserError, match="cannot be loaded"):
        metric(tmp_path).prepare([], [])


# The pairs and scores of the model's card (vectara/hallucination_evaluation_model); the seven digits are those that
# users of the published class report.
CARD = json.loads(Path(__file__).with_name("hhem_card.json").read_text(encoding="utf-8"))


def test_the_published_scores_of_the_real_model(tmp_path):
    """METAEVAL_REAL_MODELS: a folder with vectara/hallucination_evaluation_model and google/flan-t5-base in it."""
    root = Path(os.environ.get("METAEVAL_REAL_MODELS", "nowhere"))
    folder, tokenizer = root / "vectara/hallucination_evaluation_model", root / "google/flan-t5-base"
    if not folder.is_dir() or not tokenizer.is_dir():
        pytest.skip("the real weights are not on this machine (METAEVAL_REAL_MODELS)")
    for file in (folder / "model.safetensors", *tokenizer.glob("*token*.json")):
        (tmp_path / file.name).symlink_to(file)
    found = [answer.score for answer in score_pairs(metric(tmp_path), [tuple(pair[:2]) for pair in CARD]).answers]
    assert found == pytest.approx([score for *_, score in CARD], abs=1e-4)
