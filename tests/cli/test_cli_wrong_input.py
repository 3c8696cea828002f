"""Wrong input ends in one sentence: what happened, what is allowed, what to type next; code 2."""

from pathlib import Path

import pytest

RUN = ("run", "--metrics", "overlap", "--quiet")
NAMES = {
    "metric": (("run", "-m", "overlp"), ["'overlp'", "Did you mean 'overlap'?", "rouge-1", "metaeval metrics list"]),
    "metric to show": (("metrics", "show", "ruge"), ["'ruge'", "Did you mean 'rouge'?", "metaeval metrics list"]),
    "protocol": ((*RUN, "-p", "corelation"), ["'corelation'", "Did you mean 'correlation'?", "retrieval", "'all'"]),
    "dataset": ((*RUN, "-d", "wcie"), ["'wcie'", "Did you mean 'wice'?", "wice-dev", "metaeval data list"]),
    "split": ((*RUN, "--split", "tst"), ["split of mini 'tst'", "Known: all"]),
    "split to show": (("data", "show", "wice", "--split", "tset"), ["Did you mean 'test'?", "all, dev, test"]),
    "folder to show": (("data", "show", "wice", "--data", "nowhere"), ["data=nowhere does not exist", "test.jsonl"]),
    "unit": ((*RUN, "-u", "chnk"), ["--unit is 'chnk'", "'chunk', 'citation', 'page', 'evidence' or 'statement'"]),
    "aggregation": ((*RUN, "--set", "aggregate=union"), ["--set aggregate", "'union'", "mean:K, or union:K"]),
    "no chunk at all": ((*RUN, "--set", "aggregate=mean:0"), ["'mean:0'", "K of 1 or more"]),
    "over the limit": ((*RUN, "--set", "over_limit=split"), ["--set over_limit is 'split'", "'chunks' or 'cut'"]),
    "place": ((*RUN, "--set", "evidence.place=chunk"), ["evidence.place=chunk needs evidence.threshold"]),
    "place of pages": (
        (*RUN, "-u", "page", "--set", "evidence.place=chunk", "--set", "evidence.threshold=0.1"),
        ["evidence.place=chunk is for chunks, and with unit=page"],
    ),
    "pool of a page": ((*RUN, "--pool", "bm25:3", "-u", "page"), ["needs unit=chunk (unit is 'page')"]),
    "pool": ((*RUN, "--pool", "bm25"), ["--pool", "'bm25'", "own, or bm25:K", "bm25:20"]),
    "format": (("score", "--format", "csv"), ["--format is 'csv'", "'jsonl' or 'parquet'"]),
    "format of a table": (("results", "show", "x.json", "-f", "latx"), ["--format", "'latx'", "'latex'"]),
    "format of pairs": (("pairs", "x.csv"), ["x.csv", ".jsonl or .parquet"]),
    "result to print": (("results", "show", "x.json"), ["Cannot read x.json", "No such file"]),
    "experiment": ((*RUN, "-c", "wicee"), ["experiment 'wicee'", "Did you mean 'wice'?", "path of a YAML file"]),
    "configuration file": ((*RUN, "-c", "no.yaml"), ["'no.yaml'", "mini-citation, offline, wice", "that exists"]),
    "nothing to score": (("run", "-m", ""), ["No metric is given", "--metrics overlap"]),
    "nothing but commas": (("run", "-m", ",,"), ["No metric is given"]),
    "sources": (("cite", "alce", "answers.jsonl", "--sources", "no.jsonl"), ["--sources", "no.jsonl"]),
    "no protocol": ((*RUN, "-p", ""), ["No protocol is given", "'all'"]),
}
SETTINGS = {
    "name": ("intervl.seed=3", ["'intervl'", "Did you mean 'interval'?"]),
    "nested name": ("interval.sed=3", ["'interval.sed'", "'seed'"]),
    "no equals sign": ("seed", ["--set takes key=value", "--set interval.seed=3"]),
    "value below its range": ("chunk.size=0", ["--set chunk.size is 0", "greater than or equal to 1"]),
    "value of another type": ("interval.seed=x", ["--set interval.seed is 'x'", "integer"]),
    "value for a group of settings": ("interval=3", ["--set interval is 3", "--set NAME.NAME=VALUE"]),
    "name inside a value that is given": ("metrics.name=x", ["'metrics' is a single value", "'name'"]),
    "name inside a value": ("dataset.name=x", ["'dataset'", "is {'name': 'x'}", "a valid tuple"]),
    "not YAML": ("chunk.size=[1", ["--set chunk.size", "not YAML"]),
    "doubtful number": ("chunk.size=012", ["--set chunk.size", "can be read as two numbers", "in quotes"]),
    "choice": ("chunk.mode=sentence", ["--set chunk.mode", "'sentences', 'whole-sentences' or 'words'"]),
    "clusters of intervals": ("interval.cluster=x", ["--set interval.cluster is 'x'", "'group' or 'group,system'"]),
    "metric option": ("metric_options.overlap.content=1", ["'content'", "of metric 'overlap'", "Known: content_only"]),
    "metric option's value": ("metric_options.overlap.content_only=7", ["'content_only'", "is 7", "valid boolean"]),
    "options of no metric": ("metric_options.roug.stem=1", ["metric in metric_options 'roug'", "'rouge'"]),
    "options of no protocol": ("protocol_options.retreval.x=1", ["'retreval'", "Did you mean 'retrieval'?"]),
    "dataset option": ("dataset_options.unitt=x", ["option of mini 'unitt'", "Known: none"]),
    "protocol option's value": ("protocol_options.retrieval.gains=x", ["gains is 'x'", "linear, exponential"]),
    "option of a protocol that is not run": ("protocol_options.decision.fit=x", ["'fit'", "Known: folds, objective"]),
}
YAML = {
    "unknown key": ("metrcs: [overlap]", ["mine.yaml", "'metrcs'", "Did you mean 'metrics'?"]),
    "syntax error": ("dataset: mini\nmetrics: [overlap\nunit: chunk\n", ["mine.yaml, line 3", "not YAML"]),
    "a list": ("- overlap\n", ["mine.yaml", "lines 'key: value'", "list"]),
    "key that is no text": ("1: 2", ["mine.yaml", "'1'", "Known: aggregate"]),
    "empty group": ("interval:\n", ["mine.yaml", "'interval'", "NAME: VALUE"]),
    "not UTF-8": (b"dataset: \xff", ["mine.yaml", "UTF-8", "byte 9"]),
}


@pytest.mark.parametrize(("args", "parts"), NAMES.values(), ids=NAMES)
def test_a_wrong_name_gets_the_nearest_one_and_what_is_allowed(refused, args, parts):
    said = refused(*args)

    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize(("setting", "parts"), SETTINGS.values(), ids=SETTINGS)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(refused, setting, parts):
    said = refused(*RUN, "--set", setting)

    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize(("content", "parts"), YAML.values(), ids=YAML)
def test_a_faulty_configuration_file_is_named(refused, tmp_path, content, parts):
    (tmp_path / "mine.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())

    said = refused("run", "-c", "mine.yaml")

    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize("command", ["run", "data show", "data convert", "metrics show", "rn", "run --metrc x"])
def test_a_command_typed_wrong_points_to_its_help(cli, command):
    ended = cli(*command.split(), "extra", "extra", "extra")
    assert ended.code == 2
    assert "--help" in ended.err
    assert "Error: " in ended.err


def test_a_value_of_a_dataset_option_is_checked_before_its_files(refused, tmp_path):
    said = refused(*RUN, "-d", "expertqa", "--data", tmp_path, "--set", "dataset_options.unit=sentence")

    assert "expertqa's option unit: 'sentence'. Known: claim, passage." in said


def test_jsonl_without_a_file_says_which_file_it_needs(refused):
    assert "dataset=jsonl needs data=FILE" in refused(*RUN, "-d", "jsonl")
    assert "Cannot read mine.jsonl" in refused(*RUN, "-d", "jsonl", "--data", "mine.jsonl")


@pytest.mark.parametrize(
    ("option", "sentence"), [("-d", "is not a data set"), ("-p", "is not a protocol"), ("-m", "is not a metric")]
)
def test_an_object_of_another_kind_is_refused(refused, option, sentence):
    said = refused("run", option, "os:path", *([] if option == "-m" else ["-m", "overlap"]))

    assert f"'os:path' {sentence}: give the name of" in said


def test_a_variant_with_the_name_of_a_registered_thing_is_refused(refused, tmp_path):
    for kind, name, content, command in (
        ("metrics", "rouge", "metric: overlap", ("run", "-m", "rouge")),
        ("datasets", "mini", "dataset: wice", (*RUN, "-d", "mini")),
    ):
        (tmp_path / "configs" / kind).mkdir(parents=True)
        (tmp_path / "configs" / kind / f"{name}.yaml").write_text(content)
        said = refused(*command)
        assert f"{name}.yaml has the name of a registered {kind.removesuffix('s')}: rename the file" in said


def test_a_variant_of_nothing_names_its_file(refused, tmp_path):
    folder = tmp_path / "configs" / "metrics"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("metric: overlp")

    said = refused("run", "-m", "mine")

    assert "mine.yaml: Unknown metric 'overlp'. Did you mean 'overlap'?" in said


def test_a_file_in_the_way_of_the_results_folder_costs_no_score(cli, small, tmp_path):
    (tmp_path / "taken").write_text("mine")
    store = tmp_path / "scores.sqlite"

    ended = cli("run", "-m", "overlap", *small, "--results", "taken", "--store", store)

    assert ended.code == 2
    assert "metaeval: Cannot write taken/small-all-chunk-" in ended.err
    assert "Nothing already computed is lost" in ended.err
    assert "choose another folder" in ended.err
    assert "Metrics against human labels" in ended.out, "the values are shown all the same"
    assert (tmp_path / "taken").read_text() == "mine"
    assert cli("run", "-m", "overlap", *small, "--store", store).err == "overlap: 27 of 27 pairs from the store\n"


def test_options_of_a_metric_that_the_run_does_without_are_ignored_and_that_is_said(ran, small, caplog):
    """One config serves subsets of its metrics, variants and metrics with an argument among them."""
    Path("mine.yaml").write_text(
        "metric_options: {rouge: {stem: true}, rouge-1: {stem: true}, 'nli:org/model': {depth: 3}, overlap: {}}\n"
    )

    ran("run", "-m", "overlap", "-c", "mine.yaml", "-p", "correlation", *small)
    for name in ("rouge", "rouge-1", "nli:org/model"):
        assert f"The options of {name} are ignored: it is not a metric of this run.\n" in caplog.text
    assert "The options of overlap" not in caplog.text


def test_a_store_that_is_no_database_is_left_alone(refused, small, tmp_path):
    store = tmp_path / "notes.txt"
    store.write_text("my notes, " * 1000)

    said = refused("run", "-m", "overlap", *small, "--store", store)

    assert "notes.txt: file is not a database. The file is damaged, or not a file of metaeval" in said
    assert "--store FILE" in said
    assert store.read_text() == "my notes, " * 1000


def test_one_metric_named_twice_is_one_row(ran, small):
    ended = ran("run", "-m", "overlap,overlap", "-p", "correlation", *small, "--full")
    assert ended.out.count("|metric:overlap@v1") == 1


def test_one_metric_under_two_names_is_scored_once(cli, small, tmp_path):
    (tmp_path / "configs" / "metrics").mkdir(parents=True)
    (tmp_path / "configs" / "metrics" / "mine.yaml").write_text("metric: overlap\n")

    ended = cli("run", "-m", "overlap,mine", "-p", "correlation", *small, "--full")

    assert ended.err.splitlines()[-1] == "mine: 27 of 27 pairs from the store"
    assert ended.out.count("|metric:mine=overlap@v1") == 1
