"""Wrong input ends in one sentence: what happened, what is allowed, what to type next; code 2."""

import shlex
from pathlib import Path

import pytest

RUN = ("run", "--metrics", "overlap", "--quiet")
TYPED = {
    "run -m overlp": ("'overlp'", "Did you mean 'overlap'?", "metaeval metrics list"),
    "run -m overlap -p corelation": ("'corelation'", "'correlation'", "'all'"),
    "run -m overlap -d wcie": ("'wcie'", "'wice'", "metaeval data list"),
    "run -m overlap --split tst": ("'tst'", "Known: all"),
    "score -m scores:mine.jsonl": ("metaeval evaluate FILE",),
    "data show wice --data nowhere": ("data=nowhere", "test.jsonl"),
    "run -m overlap -u chnk": ("--unit is 'chnk'", "'chunk'"),
    "run -m overlap -s aggregate=union": ("--set aggregate", "'union'"),
    "run -m overlap -s evidence.place=chunk": ("evidence.threshold",),
    "run -m overlap -u page -s evidence.place=chunk -s evidence.threshold=0.1": ("unit=page",),
    "run -m overlap --pool bm25:3 -u page": ("unit is 'page'",),
    "run -m overlap --pool bm25": ("--pool", "'bm25'", "bm25:20"),
    "results show x.json -f latx": ("--format", "'latx'", "'latex'"),
    "pairs x.csv": ("x.csv", ".jsonl or .parquet"),
    "pairs x.jsonl -s splti=dev": ("Did you mean 'split'", "Known: "),
    "results show x.json": ("Cannot read x.json",),
    "run -m overlap -c no.yaml": ("'no.yaml'", "offline"),
    "run -m ''": ("No metric is given",),
    "cite alce answers.jsonl --sources no.jsonl": ("--sources", "no.jsonl"),
    "run -m overlap -p ''": ("No protocol is given",),
    "run -m overlap -d jsonl": ("dataset=jsonl needs data=FILE",),
    "run -d os:path -m overlap": ("'os:path' is not a data set",),
    "run -m os:path": ("'os:path' is not a metric",),
    # The value of a data set's option is checked before its files.
    "run -m overlap -d expertqa --data . -s dataset_options.unit=sentence": ("unit: 'sentence'", "claim, passage"),
    "run -d frank": ("metaeval evaluate -d frank",),
    "data show wice --human human.json": ("--human is for CiteBench's .citeeval files",),
    "data show absent.citeeval": ("absent.citeeval",),
    "run --executor pool": ("--executor is 'pool'", "'local' or 'ray'"),
    "run -s executor.device=3": ("'executor.device' in --set", "Did you mean 'devices'?"),
    "run --suite --dry-run": ("--dry-run is for one data set",),
    "run -d mini,wice": ("(mini, wice)", "--suite"),
    "run -c offline": ("metaeval run --suite -c offline",),
    "results figures nobody": ("results has no job yet",),
    "results figures --parser small": ("--parser is for --sentence",),
    "results figures latest --sentence 'A cup [1].'": ("leave out --sentence, or JOB",),
    "multiverse -m overlap --measure fs_p": ("Did you mean 'fs_ps'?",),
    "multiverse -a chunk.size": ("got 'chunk.size'",),
    "multiverse -a unit=": ("got 'unit='",),
    "multiverse -a ties=wurst": ("Did you mean 'worst'",),
    "multiverse -a chunk.sise=1,2": ("Did you mean 'size'",),
    "multiverse -a pool=bm25:0": ("bm25:K",),
    "metrics verify factcc --set model=/no/such": ("/no/such",),
    "metrics verify overlap --official": ("'overlap' has no official package",),
    "metrics verify ensemble": ("verify overlap, rouge instead",),
    "compare overlap": ("needs at least 2 metrics", "'overlap'"),
    "compare overlap overlap": ("'overlap' is given twice",),
    "compare overlap rouge --by lenght": ("Did you mean 'length'",),
    "compare overlap rouge --by system": ("mini does not say which system",),
    "compare overlap rouge --by position -u citation": ("set unit=chunk",),
    "compare overlap rouge --by position -p retrieval": ("parts by position",),
    "compare overlap rouge -s margin=0": ("The margin is 0",),
    "compare overlap rouge -s interval.resamples=0": ("interval.resamples is 0",),
    "compare overlap rouge -s comparison.alpha=0.5 -s interval.resamples=2": ("comparison.alpha is 0.5",),
    "plan overlap": ("exactly two metrics", "overlap"),
    "plan overlap rouge --measure concordance": ("Concordance is not a measure of mini",),
    "plan overlap rouge --measure auroc": ("Known: accuracy, ap_full,",),  # of three protocols, named once
    "plan overlap rouge --difference two": ("got 'two'",),
    "plan overlap --half-width x": ("--half-width is 'x'", "number"),
    "cite improve answers.jsonl answers.jsonl -o x.jsonl": ("One file",),
    "cite tables scifi answers.jsonl --nli overlap --nli rouge": ("one metric, and 2",),
    "results figures mine.yaml": ("metaeval run --suite -c mine.yaml",),
    "results export --labels overlap": ("'overlap' is not NAME=TEXT",),
    "thresholds overlap -s protocol_options.decision.folds=4": ("folds is '4'",),
}
SETTINGS = {
    "intervl.seed=3": ("'intervl'", "'interval'"),
    "seed": ("--set takes key=value",),
    "chunk.size=0": ("--set chunk.size is 0", "1"),
    "interval=3": ("--set interval is 3", "NAME=VALUE"),
    "chunk.size=[1": ("--set chunk.size", "not YAML"),
    "chunk.size=012": ("--set chunk.size", "in quotes"),
    "metric_options.overlap.content=1": ("'content'", "'overlap'", "content_only"),
    "metric_options.overlap.content_only=7": ("'content_only'", "is 7"),
    "protocol_options.retrieval.gains=x": ("gains is 'x'", "linear, exponential"),
    "protocol_options.decision.fit=x": ("'fit'", "Known: folds, objective"),
}
TYPED |= {f"run -m overlap -q --set '{setting}'": parts for setting, parts in SETTINGS.items()}
YAML = {
    b"metrcs: [overlap]": ("'metrcs'", "'metrics'"),
    b"dataset: mini\nmetrics: [overlap\nunit: chunk\n": ("line 3", "not YAML"),
    b"interval: {seed: x}\n": ("'interval.seed'", "is 'x'", "integer"),
    b"dataset: \xff": ("UTF-8", "byte 9"),
    b"datasets: wice\n": ("a list of names",),
    b"datasets: [3]\n": ("is 3",),
    b"datasets: [{split: dev}]\n": ("it should be a name, or a mapping",),
    b"dataset: mini\ndatasets: [wice]\n": ("both 'dataset' and 'datasets'",),
    b"datasets: [wice]\nmetric: [overlap]\n": ("Did you mean 'metrics'",),
}


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize("typed", TYPED)
def test_a_wrong_name_or_value_gets_the_nearest_one_and_what_is_allowed(refused, typed):
    said = refused(*shlex.split(typed))
    assert [part for part in TYPED[typed] if part not in said] == []
    assert not Path("results/latest").exists()


@pytest.mark.parametrize("content", YAML)
def test_a_faulty_configuration_file_is_named(refused, tmp_path, content):
    (tmp_path / "mine.yaml").write_bytes(content)
    said = refused("run", *(["--suite"] if b"datasets" in content else []), "-c", "mine.yaml")
    assert [part for part in ("mine.yaml", *YAML[content]) if part not in said] == []


def test_a_variant_with_the_name_of_a_registered_thing_is_refused(refused, tmp_path):
    for kind, name, content, command in (
        ("metrics", "rouge", "metric: overlap", ("run", "-m", "rouge")),
        ("datasets", "mini", "dataset: wice", (*RUN, "-d", "mini")),
    ):
        (tmp_path / "configs" / kind).mkdir(parents=True)
        (tmp_path / "configs" / kind / f"{name}.yaml").write_text(content)
        said = refused(*command)
        assert f"{name}.yaml has the name of a registered {kind.removesuffix('s')}: rename the file" in said


def test_a_file_in_the_way_of_the_results_folder_costs_no_score(cli, small, tmp_path):
    (tmp_path / "taken").write_text("mine")
    store = tmp_path / "scores.sqlite"

    ended = cli("run", "-m", "overlap", *small, "--results", "taken", "--store", store)

    assert ended.code == 2
    assert "metaeval: Cannot write taken/small-all-chunk-" in ended.err
    assert "Nothing computed is lost" in ended.err
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


def test_one_metric_under_two_names_is_scored_once(cli, small, tmp_path):
    (tmp_path / "configs" / "metrics").mkdir(parents=True)
    (tmp_path / "configs" / "metrics" / "mine.yaml").write_text("metric: overlap\n")

    ended = cli("run", "-m", "overlap,mine", "-p", "correlation", *small, "--full")

    assert ended.err.splitlines()[-1] == "mine: 27 of 27 pairs from the store"
    assert ended.out.count("|metric:mine=overlap@v1") == 1
