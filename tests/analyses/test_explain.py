"""Explain: every field of a real signature has its sentence; what two rows differ in is named, and nothing else."""

import json
import re
import shutil
from pathlib import Path

import pytest

from metaeval.analyses.explaining.differences import compare
from metaeval.analyses.explaining.signature_fields import (
    explain,
    meaning,
    option_words,
    owners,
    read_signature,
    read_source,
)
from metaeval.analyses.explaining.signature_sources import sources_of
from metaeval.citation.pipelines.pipeline import fields_of
from metaeval.config import EARLIER_INTERVALS, RunConfig, load_run
from metaeval.declared import option_docs
from metaeval.errors import UserError
from metaeval.report.result_differences import numbers_of, record_changes
from metaeval.runs.run import run, write_run
from metaeval.signature import metric_parts, read_choices

QUICK = ("interval.resamples=5",)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Result files of the shipped corpus: {(name, protocol): path}, of two runs that differ in the chunks."""
    found = {}
    for name, more in (("one", ()), ("other", ("chunk.size=60",))):
        folder = tmp_path_factory.mktemp(name)
        config = load_run(None, {"metrics": "overlap,rouge-2", "results": folder}, [*QUICK, *more])
        for path in write_run(config, run(config)):
            found[name, path.stem] = path.with_suffix(".json")
    return found


def texts(path):
    return {row["metric"]: row["signature"] for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}


@pytest.mark.parametrize("protocol", ["correlation", "classification", "retrieval"])
def test_every_field_of_a_real_signature_has_a_sentence(results, protocol):
    for text in texts(results["one", protocol]).values():
        fields = read_signature(text)
        said = explain(fields)
        assert [(one.name, one.value) for one in said] == list(fields.items())
        assert [one.name for one in said if not one.text] == []


@pytest.mark.parametrize(
    ("field", "value", "said", "setting"),
    [
        ("data", "wice/dev@0123456789ab", "data set, split, and the hash", "dataset"),
        ("unit", "chunk", RunConfig.model_fields["unit"].description[1:].split(".")[0], "unit"),
        ("chunks", "words-1000", "most words in a chunk; how chunks are packed", "chunk.size, chunk.mode"),
        ("evidence", "touched,jaccard-0.25", "lowest Jaccard similarity", "evidence.rule, evidence.threshold"),
        ("over-limit", "cut", "the page up to the limit", "over_limit"),
        ("evidence-place", "chunk", "to a chunk, as in the base paper", "evidence.place"),
        ("window", "1", "sentences before and after each marked one", "evidence.window"),
        ("reads", "chunks", "what the metric read of a page", "over_limit"),
        ("evidence", "jaccard-0.25", "the base paper's rule", "evidence.rule, evidence.threshold"),
        ("pool", "bm25:20", "the K best chunks of all other documents", "pool"),
        ("over-chunks", "mean", "max, mean, mean:K, or union:K", "aggregate"),
        ("metric", "mine@scores", "read from a file", "metrics"),
        ("gains", "exponential", "2^level - 1", "protocol_options.retrieval.gains"),
        ("interval", "cluster-bca-0.9", f"bca: {EARLIER_INTERVALS['bca']}, of earlier versions", "interval.level"),
        ("interval", "cluster-bootstrap-t-0.9", EARLIER_INTERVALS["bootstrap-t"], "interval.level"),
        ("B", "0", "(0: no intervals)", "interval.resamples"),
        ("seed", "7", "seed from which resamples are drawn", "interval.seed"),
        ("checkpoint", "a/b@sha256:00", "hash of the files", "metric_options"),
        ("ties", "worst", "the order that is worst", "protocol_options.retrieval.ties"),
        ("metric", "BLEU@published", "published with the data", "metrics"),
    ],
)
def test_a_value_is_spelled_out_with_its_setting(field, value, said, setting):
    found = meaning(field, value, {})

    assert said in found.text
    assert setting in found.setting


def test_an_unknown_field_has_no_text_and_another_version_than_the_installed_one_is_named():
    phase, numpy = explain({"phase": "moon:full", "numpy": "1.0.0"})

    assert (phase.name, phase.value, phase.text, phase.setting) == ("phase", "moon:full", "", "")
    assert "version of NumPy; here it is " in numpy.text


@pytest.mark.parametrize(
    ("value", "known_as", "base", "options"),
    [
        ("overlap@v1(content_only=True)", "overlap", "overlap", "content_only=True"),
        ("overlap@v12", "overlap", "overlap", ""),
        ("nli:org/model-a@b=nli@v1(score=ent)", "nli:org/model-a@b", "nli", "score=ent"),
        ("worker:python w.py --x=y=worker@v1", "worker:python w.py --x=y", "worker", ""),
    ],
)
def test_a_metrics_name_and_options_are_separated(value, known_as, base, options):
    parts = metric_parts(value)

    assert (parts["known_as"], parts["base"], parts["options"]) == (known_as, base, options)


def test_a_changed_choice_is_named_with_both_values(results):
    one, other = (texts(results[name, "retrieval"])["overlap"] for name in ("one", "other"))

    ((change,),) = compare(one, other).values()

    assert (change.kind, change.name, change.first, change.second) == (
        "field",
        "chunks",
        "sentences-150",
        "sentences-60",
    )
    assert change.text.startswith("most words in a chunk")


def test_result_files_are_compared_row_by_row_with_their_numbers(results):
    paths = [results[name, "classification"] for name in ("one", "other")]
    rows = [{row["metric"]: row for row in json.loads(path.read_text())["rows"]} for path in paths]

    found = compare(*map(str, paths))

    assert set(found) == set(rows[0])
    for name, changes in found.items():
        assert ("field", "chunks") in {(change.kind, change.name) for change in changes}
        before, after = (row[name]["values"]["overall"]["value"] for row in rows)
        told = [change.by for change in changes if (change.kind, change.name) == ("value", "overall")]
        assert told == ([] if before == after else [after - before])
    # A constant's AUC is one half whatever the chunks.
    assert "overall" not in {change.name for change in found["constant"] if change.kind == "value"}
    assert any(change.kind == "value" for change in found["overlap"])


def test_a_file_and_its_copy_and_a_signature_and_itself_have_no_difference(results, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes(results["one", "retrieval"].read_bytes())
    text = texts(copy)["overlap"]

    assert not any(compare(str(results["one", "retrieval"]), str(copy)).values())
    assert compare(text, text) == {"": []}


def test_a_row_that_one_file_lacks_is_a_change(results, tmp_path):
    data = json.loads(results["one", "retrieval"].read_text(encoding="utf-8"))
    data["rows"] = [row for row in data["rows"] if row["metric"] != "rouge-2"]
    less = tmp_path / "less.json"
    less.write_text(json.dumps(data), encoding="utf-8")

    found = compare(str(results["one", "retrieval"]), str(less))

    assert [(change.kind, change.first, change.second) for change in found["rouge-2"]] == [("row", "there", None)]
    assert not any(changes for name, changes in found.items() if name != "rouge-2")


def test_what_cannot_be_compared_is_refused(results):
    retrieval, correlation = (str(results["one", name]) for name in ("retrieval", "correlation"))

    for pair in ((retrieval, correlation), (retrieval, "unit:chunk"), ("unit:chunk", "chunk")):
        with pytest.raises(UserError):
            compare(*pair)
    with pytest.raises(UserError, match="Did you mean 'overlap'"):
        read_source(retrieval, "overlapp")


@pytest.mark.parametrize("owner", owners(), ids=lambda owner: owner.__name__)
def test_every_option_has_a_sentence_under_its_field(owner):
    words = option_docs(owner)

    assert list(words) == [*fields_of(owner)]
    assert [name for name, text in words.items() if not re.fullmatch(r"[A-Z]\S* .{4,}\.", text)] == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("distance", "words", "the end of a fact's segment (else characters)"),
        ("titles", "False", "begin every chunk with its passage's title (else True)"),
        ("weight", "0.3", "share of the rating in CiteEval-Auto"),
        ("highest", "None", "highest number that is read as a citation (none: "),
        ("contexts", "never", "(edits alone) (else always or where needed)"),
        ("unheard", "1", ""),
    ],
)
def test_an_option_says_what_else_it_could_have_been(name, value, said):
    assert said in option_words(name, value)
    assert bool(said) == bool(option_words(name, value))


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("window=64,window_unit=words", {"window": "64", "window_unit": "words"}),
        ("model=tiny, temperature=0.3", {"model": "tiny", "temperature": "0.3"}),
        ("editing@00,part@11", {"editing": "00", "part": "11"}),
        ("extra={'stop': ['a', 'b=c'], 'k': 1},seed=None", {"extra": "{'stop': ['a', 'b=c'], 'k': 1}", "seed": "None"}),
        ("leading=move all,tie=after", {"leading": "move all", "tie": "after"}),
        ("as the profile", {}),
        ("aliice claims, profile expanded/longest=None, parser small (a 1, b 2)", {}),
    ],
)
def test_choices_of_one_field_are_read_back(text, choices):
    assert read_choices(text) == choices


def test_the_numbers_of_a_record_stand_under_its_words():
    records = [
        {"measure": "f1", "system": "m", "round": number, "value": number / 2, "low": None, "high": 1.0, "tau_low": 0.0}
        for number in range(2)
    ]

    found = numbers_of(records)

    assert list(found) == ["m, f1, round 0", "m, f1, round 1"]
    assert found["m, f1, round 1"].values == {"": 0.5, "tau_low": 0.0}
    assert found["m, f1, round 1"].intervals == {"": (None, 1.0)}
    assert list(numbers_of([{"of": "a", "x": 1.0}, {"of": "a", "x": None}])) == ["a", "a #2"]
    assert numbers_of([]) == {}


def test_a_table_stands_for_its_numbers_only_where_they_are_beside_it(results, tmp_path):
    numbers = Path(shutil.copy(results["one", "retrieval"], tmp_path))
    numbers.with_suffix(".csv").write_text("the same numbers")
    assert sources_of(str(numbers.with_suffix(".csv")), tmp_path) == [str(numbers)]
    for name in ("lonely.csv", "other.csv", "other.json"):
        (tmp_path / name).write_text("{}")
    for name in ("lonely.csv", "other.csv", "other.json"):
        assert sources_of(str(tmp_path / name), tmp_path) == [str(tmp_path / name)]


def test_rows_of_one_table_alone_stand_beside_the_changes_of_those_of_both():
    first = [{"metric": name, "value": 1.0, "low": 0.0, "high": 2.0} for name in ("a", "b", "c")]
    second = [{"metric": "b", "value": 1.5, "low": 0.0, "high": 2.5}, first[2]]
    changes = [(change.kind, change.first, change.second) for change in record_changes(first, second)]
    assert changes == [("row", "there", None), ("value", "1", "1.5"), ("interval", "0 to 2", "0 to 2.5")]
