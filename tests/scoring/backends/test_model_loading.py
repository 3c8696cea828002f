"""Loading models: every weight accounted for, and each fault in a sentence."""

import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'models'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'models'")

from metaeval.core.errors import UserError  # noqa: E402
from metaeval.scoring.backends import model_loading  # noqa: E402
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model  # noqa: E402

WANTED = Checkpoint("someone/some-model", "1 MB, MIT")


@pytest.fixture
def folder(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(tiny.folder("bert"), tmp_path / "model"))


def load(folder, kind=None, dtype="float32", device="cpu", **given):
    kind = kind or transformers.AutoModelForSequenceClassification
    return model_loading.load_model(kind, find_model(WANTED, folder), dtype, device, **given)


def test_a_model_is_in_eval_mode_without_gradients_and_in_the_number_type_asked_for(folder):
    model = load(folder)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert {parameter.dtype for parameter in load(folder, dtype="bfloat16").parameters()} == {torch.bfloat16}


def test_a_half_precision_file_is_computed_in_fp32_unless_asked_otherwise(folder):
    # transformers 5 loads in the file's own type when it is not told
    transformers.AutoModelForSequenceClassification.from_pretrained(folder).half().save_pretrained(folder)
    assert {parameter.dtype for parameter in load(folder).parameters()} == {torch.float32}


def test_a_checkpoint_without_the_head_is_refused_and_not_filled_with_noise(folder):
    transformers.BertModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(UserError, match=r"\(classifier\.bias, classifier\."):
        load(folder)


def test_weights_that_no_score_depends_on_may_be_missing(folder):
    base = transformers.BertModel(transformers.BertConfig.from_pretrained(folder), add_pooling_layer=False)
    base.save_pretrained(folder)
    load(folder, transformers.BertModel, unused=("pooler.dense.weight", "pooler.dense.bias"))
    with pytest.raises(UserError, match=r"\(bert\.pooler\.dense\.bias, bert\.pooler\.dense\.weight, [\w.]+ \.\.\.\)"):
        load(folder, transformers.BertForPreTraining)


def test_weights_of_another_shape_are_refused(folder):
    transformers.BertConfig.from_pretrained(folder, num_labels=7).save_pretrained(folder)
    with pytest.raises(UserError, match=r"(lacks weights|cannot be loaded)"):
        load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_broken_file_is_one_sentence(folder, name):
    (folder / name).write_bytes(b"\x00not a model")
    with pytest.raises(UserError, match=r"cannot be loaded \(.*fetch its files again where they are broken") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_model_larger_than_memory_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (1000, 10**12))  # free, and of all
    with pytest.raises(UserError, match=r"0\.0 GB are free on 'cuda': .*dtype=bfloat16"):
        load(folder, device="cuda")


@pytest.mark.parametrize("device", ["cuda:77", "tpu", "nonsense"])
def test_a_device_that_is_not_there(device):
    with pytest.raises(UserError, match="is not available here"):
        model_loading.pick_device(device)
