"""What each metric needs before it can score here."""

import importlib

import pytest

from metaeval.analyses.readiness import ReadinessState, readiness, registered_states
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import able_defaults, load_metric
from metaeval.scoring import contract
from metrics_zoo.alignscore import find_backbone, published_backbone
from tests.cli.samples import with_options

PINNED = "c7b3148015d4ddc263f6e2acb2689e90ac061669"  # the revision of FactCC that is read


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty hub cache; `hub(id, revision, files)` puts a model into it."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))

    def put(hub_id, revision, files):
        snapshot = tmp_path / f"models--{hub_id.replace('/', '--')}" / "snapshots" / revision
        snapshot.mkdir(parents=True)
        for name in files:
            (snapshot / name).write_text("{}")

    return put


def state(name, settings=()):
    return readiness(name, load_metric(name, with_options(name, list(settings))))


def test_a_checkpoint_in_no_place_has_to_be_downloaded_and_what_needs_nothing_is_ready(no_network, hub):
    assert (state("overlap").state, str(state("overlap"))) == (ReadinessState.READY, "ready")
    found = state("factcc")
    assert (found.state, found.detail) == (ReadinessState.DOWNLOAD, "438 MB, BSD-3-Clause-Clear")
    assert str(found) == "needs download: 438 MB"


@pytest.mark.parametrize(
    ("revision", "weights", "expected"),
    [
        (PINNED, ["pytorch_model.bin"], ReadinessState.READY),
        (PINNED, [], ReadinessState.DOWNLOAD),
        ("0" * 40, ["pytorch_model.bin"], ReadinessState.DOWNLOAD),
    ],
)
def test_the_hubs_cache_counts_with_all_files_of_the_pinned_revision(no_network, hub, revision, weights, expected):
    hub("manueldeprada/FactCC", revision, ["config.json", "vocab.txt", *weights])
    assert state("factcc").state is expected


def test_a_folder_counts_and_a_wrong_folder_is_said(no_network, hub, tmp_path):
    folder = tmp_path / "mine"
    with pytest.raises(UserError, match="mine"):
        state("factcc", [f"model={folder}"])
    folder.mkdir()
    with pytest.raises(UserError, match="lacks"):
        state("factcc", [f"model={folder}"])
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    assert state("factcc", [f"model={folder}"]).state is ReadinessState.READY


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(contract, "version_of", lambda name: "none")
    monkeypatch.setattr(contract, "find_spec", lambda name: None if name == "torch" else name)
    assert str(state("factcc")) == "needs package: extra 'models'"


def test_a_judge_needs_its_key_and_a_server_of_ones_own_needs_none(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert str(state("llm-discrete")) == "needs key: OPENAI_API_KEY"
    assert str(state("llm-discrete", ["api_key_env=MY_KEY"])) == "needs key: MY_KEY"
    assert state("llm-discrete", ["base_url=http://127.0.0.1:8000/v1"]).state is ReadinessState.READY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert state("llm-discrete").state is ReadinessState.READY


def test_a_plug_in_that_cannot_be_imported_breaks_only_itself(tmp_path, monkeypatch):
    (tmp_path / "broken_on_import.py").write_text("raise RuntimeError('no licence server')")
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[metaeval.metrics]\nbroken-one = broken_on_import:Metric\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    registry._entries.cache_clear()
    try:
        states = {one.name: one for one in registered_states()}
    finally:
        monkeypatch.undo()
        registry._entries.cache_clear()
    assert states["broken-one"].state is ReadinessState.BROKEN
    assert "no licence server" in states["broken-one"].detail
    assert states["overlap"].state is ReadinessState.READY


def test_every_registered_metric_can_be_imported():
    assert [str(one.detail) for one in registered_states() if one.state is ReadinessState.BROKEN] == []


def test_alignscore_needs_the_pinned_files_of_its_backbone_too(no_network, hub):
    metric, wanted = load_metric("alignscore", with_options("alignscore", ["size=base"])), published_backbone("base")
    assert metric.lacking_extra.endswith("(FacebookAI/roberta-base)")
    files = ("config.json", "merges.txt", "tokenizer.json", "vocab.json")
    hub(wanted.hub_id, wanted.revision, files)
    assert (metric.lacking_extra, find_backbone("base", None).files) == ("", files)


def test_default_metrics_without_their_packages_are_left_out_and_named(monkeypatch, caplog):
    monkeypatch.setattr(contract, "version_of", lambda name: "none")
    monkeypatch.setattr(contract, "find_spec", lambda name: None)
    kept, every = able_defaults(RunConfig()).metrics, RunConfig().metrics
    assert [name not in caplog.text for name in every] == [name in kept for name in every] != [True] * len(every)
