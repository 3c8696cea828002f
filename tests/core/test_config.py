"""A run's settings: where they come from, what is refused, and the YAML files that are shipped."""

import json
from pathlib import Path

import numpy as np
import pytest

import metaeval
from metaeval.core import config_files, registry
from metaeval.core.config import IntervalConfig, RunConfig, load_run, load_settings
from metaeval.core.declared import validated
from metaeval.core.errors import UserError
from metaeval.runs.data import find_dataset
from metaeval.runs.evaluate import find_protocols
from metaeval.runs.metrics import load_metric
from metaeval.scoring.contract import Metric
from tests.analyses.suites import read_suite

SETTINGS = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
SHIPPED = Path(__file__).parents[2] / "configs"


def shipped(kind):
    return sorted((SHIPPED / kind).glob("*.yaml"))


@pytest.fixture
def yaml(tmp_path):
    """Write a YAML file and return its path."""

    def write(text, name="run.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_gives_way_to_settings_and_settings_to_overrides(yaml):
    path = yaml("unit: citation\npool: own\nsplit: dev\ninterval: {seed: 1, resamples: 10}\n")
    run = load_run(path, {"split": "test", "pool": None}, ["interval.seed=2"])
    assert (run.unit, run.split, run.pool) == ("citation", "test", "own")
    assert (run.interval.seed, run.interval.resamples, run.interval.level) == (2, 10, 0.95)
    assert load_run(path, {"split": "test"}, ["split=test", "split=dev"]).split == "dev"
    assert load_run(yaml("# nothing\n"), {}) == RunConfig() == load_run(None, {})


def held_settings(run):
    """The settings of a run that are not the default ones, and what follows from them."""
    plain = RunConfig().model_dump(mode="json")
    own = {name: value for name, value in run.model_dump(mode="json").items() if value != plain[name]}
    follows = [run.executor.alone, run.whole_pages, run.evidence.by_sentence, run.interval.drawn()]
    return own | {"follows": follows} if follows != [True, False, 0.5, RunConfig().interval.drawn()] else own


def test_settings_are_taken_or_refused(recorded, yaml, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    found = {name: [] for name in ("overrides", "files", "merged", "shown", "trusted", "repeated")}
    for overrides in SETTINGS["overrides"]:
        told = recorded.told(load_run, None, {}, overrides)
        found["overrides"].append(held_settings(told) if isinstance(told, RunConfig) else told)
    for text, typed, overrides in SETTINGS["files"]:
        path = yaml(text).relative_to(tmp_path)
        merged = recorded.told(config_files.merged_settings, path, typed, overrides, {"half_width"})
        found["merged"].append(merged)
        told = recorded.told(load_run, path, typed, overrides)
        found["files"].append(held_settings(told) if isinstance(told, RunConfig) else told)
    for settings in SETTINGS["shown"]:
        for trust, name in ((False, "shown"), (True, "trusted")):
            found[name].append(recorded.told(config_files.shown_settings, "here", settings, trust))
    for settings, overrides in (
        ({"unit": "page"}, ["unit=x"]),
        ({"unit": None}, ["unit=x", "unit=x", "unit=y", "a = 1"]),
    ):
        found["repeated"].append(recorded.told(config_files.refuse_repeated, settings, overrides, "--{}".format))
    found["said"] = [recorded.named(message) for message in caplog.messages]
    typed = {"unit": "x"}, {"interval": {"seed": -1}}, {"pool": None, "unit": "y"}
    found["typed"] = [
        recorded.told(load_settings, RunConfig, None, given, ["seed=1"], "--{}".format) for given in typed
    ]
    recorded.held("core-settings", found)


def test_an_override_reaches_any_depth_and_leaves_what_was_given():
    given = {"interval": {"seed": 1}}
    assert load_run(None, given, ["interval.resamples=7"]).interval == IntervalConfig(seed=1, resamples=7)
    assert given == {"interval": {"seed": 1}}
    with pytest.raises(UserError, match=r"--set pool\.size: 'pool' is a single value"):
        load_run(None, {"pool": "own"}, ["pool.size=1"])


@pytest.mark.parametrize("kind", ["metric", "dataset"])
def test_an_unknown_setting_of_a_variant_is_refused(yaml, kind):
    read = getattr(config_files, f"{kind}_variant")
    with pytest.raises(UserError, match=r"'optoins' in .*run\.yaml\. Did you mean 'options'\?"):
        read(yaml(f"{kind}: x\noptoins: {{}}\n"))
    with pytest.raises(UserError, match=rf"Setting '{kind}' is missing in .*run\.yaml"):
        read(yaml("options: {}\n"))


def test_a_configuration_survives_being_written_as_json():
    with pytest.raises(UserError, match="Setting 'pool' in here: pool is 'all'; allowed: own, or bm25:K"):
        validated(RunConfig, {"pool": "all"}, "here")
    run = load_run(None, {"metrics": "rouge"}, ["chunk.size=7", "metric_options.rouge.stem=true", "data=here"])
    assert RunConfig.model_validate(run.model_dump(mode="json")) == run


def test_the_users_folder_comes_before_the_shipped_one(yaml, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = yaml("metric: bm25\n", "configs/metrics/rouge-1.yaml")
    assert config_files.config_folders("metrics")[0] == tmp_path / "configs" / "metrics"
    assert config_files.variants("metrics")["rouge-1"] == own
    assert config_files.variants("metrics")["rouge-2"] == SHIPPED / "metrics" / "rouge-2.yaml"
    monkeypatch.setattr(config_files, "__file__", f"{tmp_path}/installed/core/config_files.py")
    packed = yaml("metric: bm25\n", "installed/configs/metrics/rouge-2.yaml")
    assert config_files.config_file("metrics", "rouge-2") == packed


SHIPPED_FILES = "metrics/rouge-1 datasets/wice-dev experiments/wice citation/aliice published/frank".split()


@pytest.mark.parametrize("file", SHIPPED_FILES)
def test_a_file_with_the_name_of_a_shipped_one_is_refused_with_both(file, yaml, tmp_path, monkeypatch):
    kind, name = file.split("/")
    monkeypatch.chdir(tmp_path)
    own = yaml("note: mine\n", f"configs/{kind}/{name}.yaml")
    with pytest.raises(UserError, match="rename the first, or give a path") as error:
        config_files.config_file(kind, name)
    assert f"{name!r} could be {own} or {SHIPPED / kind / name}.yaml" in str(error.value)
    own.write_bytes((SHIPPED / kind / f"{name}.yaml").read_bytes())
    assert config_files.config_file(kind, name) == own


def test_an_experiment_is_taken_by_its_path_where_its_name_is_not_one_files(yaml, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = yaml("dataset: mini\n", "configs/experiments/wice.yaml")
    (tmp_path / "offline").write_text("dataset: mini\n")
    for name in ("wice", "offline"):
        with pytest.raises(UserError, match=f"'{name}' could be {tmp_path}.* or {SHIPPED}/experiments/{name}.yaml"):
            load_run(Path(name), {})
    assert load_run(own, {}).dataset == "mini"
    assert load_run(tmp_path / "offline", {}).dataset == "mini"
    assert load_run(SHIPPED / "experiments" / "wice.yaml", {}).dataset == "wice"


def test_trust_is_for_files_with_code_and_comes_from_no_file(yaml):
    for text, read in (
        ("trust_config: true", load_run),
        ("datasets: [{dataset: mini, trust_config: true}]", read_suite),
    ):
        with pytest.raises(UserError, match="trust_config, which no file can"):
            read(yaml(f"{text}\n"), {})
    path = yaml("metrics: ['mine:Mine']\n")
    assert load_run(path, {"metrics": "overlap"}).metrics == ("overlap",)
    assert load_run(None, {"metrics": "mine:Mine"}).metrics == ("mine:Mine",)
    names = "overlap", "nli:some/model", "nli:model", "cosine:model", "ensemble:overlap+rouge", "scores:mine.jsonl"
    assert load_run(yaml(f"metrics: {[*names]}\n"), {}).metrics == names
    assert load_run(yaml("metrics: overlap, scores:mine.jsonl"), {}).metrics == ("overlap", "scores:mine.jsonl")


def test_a_folder_of_an_experiments_name_is_no_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wice").mkdir()
    assert load_run(Path("wice"), {}).dataset == "wice"


def before_files(metric):
    """A metric's identity without what only its files can tell: they would have to be downloaded."""
    return {**Metric.identity(metric), "model": getattr(metric, "wanted", None)}


@pytest.mark.parametrize("path", shipped("metrics"), ids=lambda path: path.stem)
def test_a_shipped_metric_variant_names_a_metric_with_an_identity_of_its_own(path):
    variant = config_files.metric_variant(path)
    base = load_metric(variant.metric, RunConfig())
    metric = load_metric(path.stem, RunConfig())
    assert variant.note
    assert path.stem not in registry.names("metric")
    assert type(metric) is type(base)
    assert before_files(metric) != before_files(base)
    assert set(variant.options) <= set(base.describe_options())


def test_no_two_shipped_metrics_share_an_identity_and_options_of_a_run_go_first():
    names = [*registry.names("metric"), *config_files.variants("metrics")]
    identities = [repr(before_files(load_metric(name, RunConfig()))) for name in names]
    assert len(set(identities)) == len(names)
    metric = load_metric("rouge-1", RunConfig(metric_options={"rouge-1": {"side": "recall"}}))
    assert metric.describe_options() == {"variant": "rouge1", "side": "recall", "stem": False, "language": "auto"}


@pytest.mark.parametrize("path", shipped("datasets"), ids=lambda path: path.stem)
def test_a_shipped_dataset_variant_names_a_split_and_options_that_exist(path):
    dataset, split, options = find_dataset(path.stem)
    assert path.stem not in registry.names("dataset")
    assert config_files.dataset_variant(path).note
    assert split is None or split in dataset.files
    for name, value in options.items():
        assert value in dataset.options[name].allowed
    changed = {name for name, value in options.items() if value != dataset.options[name].default}
    assert changed or split not in (None, dataset.default_split)


@pytest.mark.parametrize("path", shipped("experiments"), ids=lambda path: path.stem)
def test_a_shipped_experiment_names_things_that_exist(path):
    suite = read_suite(Path(path.stem), {})
    assert suite.runs == read_suite(path, {}).runs
    for run in suite.runs:
        assert run.data is None
        find_dataset(run.dataset)
        for name in run.metrics:
            load_metric(name, run)
        assert len(find_protocols(run)) == len(run.protocols)


def test_functions_of_python_take_what_fits_and_name_what_does_not(recorded, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    score, evaluate = metaeval.score, metaeval.evaluate_scores
    rows = [{"id": f"r{n}", "group": "ab"[n % 2], "gold": n % 3, "mine": n / 2, "theirs": -n} for n in range(6)]
    rated, quick = metaeval.load_ratings(data=rows), {"protocols": ["correlation"], "interval": {"resamples": 0}}
    values = {f"r{n}": None if n == 5 else n * 0.5 for n in range(6)}
    calls = [
        *((metaeval.load_corpus, 3), (score, "overlap", "one text", []), (score, "overlap", [1], ["a"])),
        *((score, "overlap", {"a": 1}, ["a"]), (score, "overlap", b"x", ["a"]), (score, 3, ["a"], ["a"])),
        *((score, "overlap", ["a"], ["a", "b"]), (score, "overlap", [], []), (score, "overlap", ("a",), ["a"])),
        *(
            (evaluate, {}, "mini"),
            (evaluate, {}, metaeval.Corpus("c", {}, {}, ()), rated),
            (metaeval.load_ratings, "mini", []),
        ),
        *((metaeval.load_ratings, "ratings", [{"a": 1}]), (evaluate, {"m": {"r0": float("nan")}}, None, rated)),
        *((evaluate, {"m": {"zz": 1.0}}, None, rated), (evaluate, 3)),
    ]
    found = {"told": [recorded.told(*call) for call in calls]}
    with pytest.raises(UserError, match=r"a text or a Callable\."):
        score(3, [], [])
    some = score("overlap", np.array(["walk", "rain", "a b", "x"] * 2), ["walk", "snow", "a c", "x"] * 2)
    columns = some.to_frame().to_dict("list")
    columns["status"] = [*map(str, columns["status"])]  # before pandas 3 a status stays an enum
    found["scores"] = [some, recorded.named(repr(some)), len(repr(some[:5])), columns]
    found["scores"].append(recorded.named(repr(score("overlap", ["a"] * 5, ["a"] * 5))))
    frame = [{"pair_id": name, "score": value, "note": "x"} for name, value in values.items()]
    for scores in ({"m": values, "mine": values}, frame):
        results = evaluate(scores, ratings=rated, **quick)
        found[type(scores).__name__] = [
            [row.metric, {name: [cell.value, cell.n] for name, cell in row.values.items()}]
            for row in results[0].rows
            if row.kind == "metric"
        ]
    found["names"] = [name for name in dir(metaeval) if not name.startswith("__")]
    found["gone"] = recorded.told(getattr, metaeval, "gone")
    found["said"] = [recorded.named(message) for message in caplog.messages]
    recorded.held("core-python", found)
