"""Model folders of somebody else's: nothing in them is run, whatever it is called, and however often it asks."""

import builtins
import contextlib
import json
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.scoring.backends.checkpoint import Checkpoint, find_model

pytest.importorskip("transformers", reason="models need the extra 'models'")

CODE = """import pathlib
pathlib.Path({marker!r}).touch()
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
class EvilConfig(PretrainedConfig): model_type = "evil"
class EvilModel(PreTrainedModel): config_class = EvilConfig
class EvilTokenizer(PreTrainedTokenizerFast): pass
"""
AUTO = ("Model", "ModelForSequenceClassification", "ModelForSeq2SeqLM", "ModelForTokenClassification")
MAP = {"AutoConfig": "evil.EvilConfig", **{f"Auto{kind}": "evil.EvilModel" for kind in AUTO}}
METRICS = (
    *("nli", "cosine", "bertscore", "bartscore", "alignscore", "factcc", "factcg", "summac-zs", "summac-conv"),
    *("minicheck", "autoais", "attrscore", "hhem"),
)
LOADERS = ("nli", "cosine", "bertscore", "bartscore", "alignscore", "summac-zs", "minicheck", "hhem")
"""A metric of each way to load a model."""
WEIGHTS = ("pytorch_model.bin", "model.safetensors")


class Payload:
    """What a pickle does when it is read by a reader that runs it."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def edit(path, **fields):
    """Add fields to a JSON file."""
    held = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**held, **fields}))


FAMILY = {"config.json": {"auto_map": MAP, "model_type": "evil", "architectures": ["EvilModel"]}}
TOKENIZER = {"auto_map": {"AutoTokenizer": ["evil.EvilTokenizer", None]}}
KERNEL = {"attn_implementation": "evil/kernel", "_attn_implementation": "evil/kernel"}
ADAPTER = {"base_model_name_or_path": ".", "peft_type": "LORA", "auto_mapping": MAP}
CONFIGURED = {
    "code beside a known family": {"config.json": {"auto_map": MAP}, "tokenizer_config.json": TOKENIZER},
    "a family of its own": FAMILY,
    "a tokenizer of its own": {"tokenizer_config.json": {"tokenizer_class": "EvilTokenizer", **TOKENIZER}},
    "code of another repository": {"config.json": {"auto_map": {name: f"evil/repo--{at}" for name, at in MAP.items()}}},
    "a kernel, an adapter, generation": {"config.json": KERNEL, "adapter_config.json": ADAPTER},
}


def configured(folder, fields):
    """Add fields to the JSON files of a folder, and code that generates."""
    for name, added in fields.items():
        edit(folder / name, **added)
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text((folder / "evil.py").read_text())


def pickled(folder, marker, name="pytorch_model.bin", torch_form=True):
    """Weights that are a pickle with a payload, in the place of the folder's own."""
    import torch

    for path in [*folder.glob("*.safetensors"), *folder.glob("*.ckpt")]:
        path.unlink()
    held = {"state_dict": Payload(marker), "layer": Payload(marker)}
    if torch_form:
        torch.save(held, folder / name)
    else:
        (folder / name).write_bytes(pickle.dumps(held))


@pytest.fixture(scope="module")
def options(tiny, load_module, tmp_path_factory):
    """Options by metric, of models that score."""
    return load_module(Path(__file__).parent / "stand_ins.py").stand_ins(tiny, tmp_path_factory.mktemp("stand-ins"))


@pytest.fixture
def hostile(options, tmp_path, monkeypatch):
    """Copy a metric's model, make it hostile, and score with it: the answers, or the refusal; nothing may have run."""
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(builtins, "input", lambda *said: "y")  # whoever is asked whether to run it says yes
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "pwned"

    def score(metric, change):
        own = dict(options[metric])
        folder = tmp_path / "model"
        shutil.copytree(own["model"], folder)
        for inner in [folder, *(path for path in folder.iterdir() if path.is_dir())]:
            (inner / "evil.py").write_text(CODE.format(marker=str(marker)))
        change(folder, marker)
        kind = registry.find("metric", metric)
        try:
            made = kind(kind.Options(**{**own, "model": folder}))
            return made.score(["The Oder is a river."], ["The Oder is long."])
        except UserError as error:
            return str(error)
        finally:
            assert not marker.exists(), "code of the folder ran"

    return score


@pytest.mark.parametrize(
    ("metric", "change"),
    [
        *((metric, change) for metric in METRICS for change in [*CONFIGURED][:2]),
        *((metric, change) for metric in LOADERS for change in [*CONFIGURED][2:]),
    ],
)
def test_no_code_of_a_model_folder_runs(hostile, metric, change):
    def changed(folder, marker):
        inner = folder / "roberta-large"
        configured(inner if inner.is_dir() else folder, CONFIGURED[change])

    ended = hostile(metric, changed)

    assert isinstance(ended, str) or len(ended) == 1


@pytest.mark.parametrize(
    ("metric", "name", "torch_form"),
    [
        *(("alignscore", "AlignScore-large.ckpt", torch_form) for torch_form in (True, False)),
        *((metric, name, False) for metric in ("nli", "hhem") for name in WEIGHTS),
        *((metric, name, True) for metric in METRICS if metric != "alignscore" for name in WEIGHTS),
    ],
)
def test_pickled_weights_are_refused(hostile, metric, name, torch_form):
    said = hostile(metric, lambda folder, marker: pickled(folder, marker, name, torch_form))

    assert isinstance(said, str)
    assert "\n" not in said


@pytest.mark.parametrize("shard", ["../outside.safetensors", "{outside}", "sub/../../outside.safetensors", 7])
def test_an_index_names_shards_of_its_own_folder_alone(tmp_path, shard):
    outside = tmp_path / "outside.safetensors"
    outside.write_bytes(b"")
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "config.json").write_text("{}")
    named = shard.format(outside=outside) if isinstance(shard, str) else shard
    edit(folder / "model.safetensors.index.json", weight_map={"a": named})

    with pytest.raises(UserError, match="lacks"):
        find_model(Checkpoint("somebody/model", "1 MB"), folder)


@pytest.mark.parametrize("content", ["[]", '{"weight_map": []}', "{}", "no json"])
def test_an_index_that_is_none_is_said_in_a_sentence(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(content)

    with pytest.raises(UserError, match=r"index\.json"):
        find_model(Checkpoint("somebody/model", "1 MB"), tmp_path)


def test_a_tokenizer_that_counts_words_of_windows_runs_no_code(tmp_path, monkeypatch):
    from metaeval.citation.scifi.fact_entailment import counter

    monkeypatch.setattr(builtins, "input", lambda *said: "y")
    (tmp_path / "evil.py").write_text(CODE.format(marker=str(tmp_path / "pwned")))
    configured(tmp_path, {**FAMILY, **CONFIGURED["a tokenizer of its own"]})

    with pytest.raises(UserError, match="cannot be loaded"):
        counter(str(tmp_path))
    assert not (tmp_path / "pwned").exists()


def test_the_same_code_runs_where_it_is_trusted(tmp_path, options, monkeypatch):
    """The traps are no blanks: with `trust_remote_code`, which somebody types, the folder's code is run."""
    folder = tmp_path / "model"
    shutil.copytree(options["nli"]["model"], folder)
    (folder / "evil.py").write_text(CODE.format(marker=str(tmp_path / "pwned")))
    configured(folder, FAMILY)
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    kind = registry.find("metric", "nli")
    trusting = kind(kind.Options(model=folder, trust_remote_code=True))
    with contextlib.suppress(Exception):  # it is run, and makes no model
        trusting.score(["The Oder is a river."], ["The Oder is long."])
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        del sys.modules[name]

    assert (tmp_path / "pwned").exists()
