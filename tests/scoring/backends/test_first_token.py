"""The last layer computed for the first token alone gives the head what the whole layer gives it."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.backends.classifier import first_token_only  # noqa: E402
from metaeval.scoring.backends.model_loading import pack_linears  # noqa: E402

MODEL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 90, "num_labels": 3}
KINDS = {
    "bert": {"num_hidden_layers": 3},
    "roberta": {"num_hidden_layers": 2},
    "xlm-roberta": {"num_hidden_layers": 1},
    "camembert": {"num_hidden_layers": 2},
    "electra": {"num_hidden_layers": 2, "embedding_size": 16},
}
OTHERS = {
    "albert": {"num_hidden_layers": 2, "embedding_size": 16},
    "deberta-v2": {"num_hidden_layers": 2},
    "distilbert": {"n_layers": 2, "dim": 32, "n_heads": 4, "hidden_dim": 48},
}


def build(kind, **config):
    torch.manual_seed(0)
    settings = transformers.AutoConfig.for_model(kind, **MODEL, **config)
    model = transformers.AutoModelForSequenceClassification.from_config(settings).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 or name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.4)  # a fresh model's attention is nearly even, its biases are 0
    return model


def inputs(padded):
    torch.manual_seed(1)
    ids = torch.randint(3, 90, (5, 24))
    mask = torch.ones_like(ids)
    if padded:
        for row, length in enumerate((24, 20, 9, 1, 17)):
            mask[row, length:] = 0
    return {"input_ids": torch.where(mask == 1, ids, 1), "attention_mask": mask}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_logits_are_the_same(kind, padded, attention):
    model = build(kind, **KINDS[kind], attn_implementation=attention)
    given = inputs(padded)
    with torch.inference_mode():
        whole = model(**given).logits
        lean = first_token_only(model)(**given)
        states = model.base_model(**given).last_hidden_state
    assert torch.allclose(lean.logits, whole, atol=1e-5)
    assert states.shape[1] == 1  # it did change the last layer
    assert whole.std(0).max() > 0.1  # rows differ


@pytest.mark.parametrize("kind", OTHERS)
def test_other_architectures_stay_as_they_are(kind):
    model = build(kind, **OTHERS[kind])
    with torch.inference_mode():
        whole = model(**inputs(True)).logits
        same = first_token_only(model)(**inputs(True)).logits
        states = model.base_model(**inputs(True)).last_hidden_state
    assert torch.equal(same, whole)
    assert states.shape[1] == 24


def test_what_is_no_encoder_is_left_alone():
    layer = torch.nn.Linear(2, 2)
    assert first_token_only(layer) is layer


@pytest.mark.parametrize("kind", KINDS)
def test_packed_layers_are_read_back(kind):
    model = build(kind, **KINDS[kind])
    with torch.inference_mode():
        whole = model(**inputs(True)).logits
        lean = first_token_only(pack_linears(model))(**inputs(True)).logits
    assert torch.allclose(lean, whole, atol=1e-5)
