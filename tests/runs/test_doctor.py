"""Readiness of metrics, and the doctor's look at the machine."""

import importlib
import json
from dataclasses import asdict

import pytest

from metaeval import registry
from metaeval.errors import UserError
from metaeval.runs import doctor as ready
from metaeval.runs.doctor import ReadinessState, examine, readiness, registered_states
from metaeval.runs.loaded_metrics import load_metric
from metaeval.scoring.backends.model_loading import model_bytes
from metaeval.scoring.backends.version_traps import TRAPS, traps_here
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


def test_a_metric_without_needs_is_ready(no_network):
    assert state("overlap").state is ReadinessState.READY
    assert str(state("overlap")) == "ready"


def test_a_checkpoint_in_no_place_has_to_be_downloaded(no_network, hub):
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
        state("factcc", [f"folder={folder}"])
    folder.mkdir()
    with pytest.raises(UserError, match="lacks"):
        state("factcc", [f"folder={folder}"])
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    assert state("factcc", [f"folder={folder}"]).state is ReadinessState.READY


def test_missing_packages_are_named(monkeypatch):
    found = ready.find_spec
    monkeypatch.setattr(ready, "find_spec", lambda name: None if name == "torch" else found(name))
    assert str(state("factcc")) == "needs package: extra 'models'"


def test_a_judge_needs_its_key_and_a_server_of_ones_own_needs_none(monkeypatch):
    pytest.importorskip("aiohttp")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert str(state("llm-discrete")) == "needs key: OPENAI_API_KEY"
    assert str(state("llm-discrete", ["api_key_env=MY_KEY"])) == "needs key: MY_KEY"
    assert state("llm-discrete", ["base_url=http://127.0.0.1:8000/v1"]).state is ReadinessState.READY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert state("llm-discrete").state is ReadinessState.READY


def test_a_metric_that_is_nothing_without_its_argument():
    worker = next(one for one in registered_states() if one.name == "worker")
    assert str(worker) == "needs a name: worker:COMMAND"


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


@pytest.mark.parametrize(
    ("words", "count"),
    [("110 M", 440_000_000), ("22.7 M", 90_800_000), ("11.3 B", 45_200_000_000), ("none", None), ("", None)],
)
def test_bytes_of_a_model(words, count):
    # Four bytes a parameter in float32.
    assert model_bytes(words) == count


def test_traps_belong_to_versions():
    def packages(**versions):
        return [trap.package for trap in traps_here({name: text for name, text in versions.items() if text})]

    assert packages(transformers="5.23.0") == ["transformers 5.23.0"] * 7
    # summac's TypeError (4.52 to 4.57), AdamW, and tokenizers that do not cut.
    assert packages(transformers="4.57.6") == ["transformers 4.57.6"] * 3
    assert packages(transformers="4.51.3") == ["transformers 4.51.3"]  # AdamW was in 4.49.0, and is not in 4.51.3
    assert packages(transformers="4.49.0", torch="2.5.1", nltk="3.8.1", setuptools="69.0") == []
    assert packages(torch="2.13.0+cpu") == ["torch 2.13.0+cpu"]
    assert packages(minicheck="0.4.0") == ["minicheck 0.4.0"]
    assert packages(transformers="") == []


def test_every_trap_says_what_happens_and_why_we_are_not_in_it():
    assert all(what and ours for known in TRAPS.values() for what, ours in known)


def test_the_doctor_sees_everything_and_connects_nowhere(no_network, hub, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "not" / "there"))
    seen = examine()
    text = json.dumps(asdict(seen))
    assert "sk-very-secret" not in text
    assert seen.keys == {"OPENAI_API_KEY": True}
    assert {metric.name for metric in seen.metrics} == set(registry.names("metric"))
    assert seen.caches["metaeval"].path == str(tmp_path / "not" / "there")
    assert seen.caches["metaeval"].because == "by METAEVAL_CACHE"
    assert seen.caches["metaeval"].free > 0
    assert seen.caches["hub"].path == str(tmp_path)
    assert not (tmp_path / "not").exists()
    assert seen.devices[0].name == "cpu"
    assert 0 < seen.devices[0].free <= seen.devices[0].total
    assert seen.cores >= 1
    assert seen.packages["numpy"]
    assert seen.splitter.startswith(("nltk-", "rules-"))
    factcc = next(metric for metric in seen.metrics if metric.name == "factcc")
    assert (factcc.state, factcc.model_bytes) == ("needs download", 440_000_000)


def test_a_model_larger_than_the_memory_does_not_fit(monkeypatch):
    monkeypatch.setattr(ready, "devices", lambda: [ready.Device("cpu", "x", 10**9, 2 * 10**9)])
    fits = {metric.name: metric.fits for metric in examine().metrics}
    assert fits["factcc"] is True  # 0.44 GB
    assert fits["autoais"] is False  # 45 GB
    assert fits["overlap"] is None


@pytest.mark.parametrize(("system", "counted", "cores"), [("linux", 64, 3), ("darwin", 64, 64), ("darwin", None, 1)])
def test_cores_are_those_that_the_process_may_use(monkeypatch, system, counted, cores):
    monkeypatch.setattr(ready.os, "sched_getaffinity", lambda _: {0, 1, 5})
    monkeypatch.setattr(ready.os, "cpu_count", lambda: counted)
    monkeypatch.setattr(ready, "devices", lambda: [])
    monkeypatch.setattr(ready, "registered_states", lambda: [])
    monkeypatch.setattr(ready.sys, "platform", system)
    assert examine().cores == cores
