"""Our DeBERTa attention against transformers' own: the model unchanged, and the model quickened."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.scoring.backends.model_loading import pack_linears  # noqa: E402


@pytest.fixture(scope="module")
def deberta():
    """The module under test, which imports torch."""
    from metaeval.scoring.backends import deberta

    return deberta


def made(**config):
    """A DeBERTa of random weights, biases included (transformers starts those at 0, which would hide a mistake)."""
    from transformers import DebertaConfig, DebertaModel

    shape = {
        "vocab_size": 100, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64,
        "max_position_embeddings": 128, "type_vocab_size": 0, "relative_attention": True,
        "position_biased_input": False, "pos_att_type": ["c2p", "p2c"],
    }  # fmt: skip
    torch.manual_seed(5)
    model = DebertaModel(DebertaConfig(**{**shape, **config})).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(0.2 * torch.randn(parameter.shape))
    return model


def batch(texts, tokens):
    ids = torch.randint(1, 100, (texts, tokens), generator=torch.Generator().manual_seed(tokens))
    mask = torch.ones_like(ids)
    for row in range(1, texts):
        mask[row, tokens - 2 * row :] = 0
    return ids, mask


def states(model, ids, mask):
    with torch.inference_mode():
        return model(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()]


CONFIGS = {
    "as the checkpoint": {},
    "content to position alone": {"pos_att_type": ["c2p"]},
    "position to content alone": {"pos_att_type": ["p2c"]},
    "content alone": {"pos_att_type": []},
    "shorter span than the text": {"max_relative_positions": 8},
    "absolute positions too": {"position_biased_input": True, "type_vocab_size": 2},
    "talking heads": {"talking_head": True},
    "no relative positions": {"relative_attention": False, "position_biased_input": True},
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_states_as_transformers(name, packed, deberta):
    own = made(**CONFIGS[name])
    other = copy.deepcopy(own)
    other = deberta.quicken(pack_linears(other) if packed else other)
    for texts, tokens in ((1, 1), (1, 7), (3, 40), (4, 128)):
        ids, mask = batch(texts, tokens)
        assert torch.allclose(states(own, ids, mask), states(other, ids, mask), atol=1e-5), (texts, tokens)


def test_parts_of_the_work_are_put_together_again(monkeypatch, deberta):
    """One text at a time, and all texts at once."""
    own = made()
    other = deberta.quicken(copy.deepcopy(own))
    ids, mask = batch(4, 40)
    expected = states(own, ids, mask)
    for size in (1, 10**9):
        monkeypatch.setattr(deberta, "_CACHED", size)
        assert torch.allclose(states(other, ids, mask), expected, atol=1e-5)
    # As on an accelerator: the position terms of all heads in one product are those of each head by itself.
    content, table = torch.randn(2, 2, 9, 12), torch.randn(2, 17, 12)
    each = torch.cat([deberta._shifted(content[head : head + 1], table[head : head + 1]) for head in range(2)])
    assert torch.allclose(deberta._shifted(content, table), each, atol=1e-5)


def test_only_the_last_states_are_kept(deberta):
    own = made()
    ids, mask = batch(2, 20)
    with torch.inference_mode():
        assert len(own(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states) == 4
        out = deberta.quicken(own)(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    assert len(out.hidden_states) == 1
