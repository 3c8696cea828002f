"""Citation pipelines as declarations: those that come with the project, and one of a package of one's own."""

import json
import subprocess
import sys

import pytest

from metaeval import registry
from metaeval.experiment.citing.pipeline import Pipeline, find_pipeline

MARKS = '''
"""Share of sentences with a mark: a pipeline of one's own, in one file."""

from pydantic import Field

from metaeval.citation.measures import Share
from metaeval.experiment.citing.pipeline import Layout, Measure, Pipeline, ReadsAnswers
from metaeval.experiment.citing.provenance import Provenance, data_of, uncertainty
from metaeval.experiment.citing.quantities import macro_of
from metaeval.experiment.citing.result import RowTable
from metaeval.report.citation.layout import Entry, entry_records, scores_grid

MARKED = Measure("marked", "marked %", "share of sentences with a citation mark", 100, 1)


class Options(ReadsAnswers):
    opening: str = Field(default="[", description="What a mark opens with.")


def read(run):
    found = []
    for answer in run.answers:
        sentences = run.splitter.split(answer.text)
        found.append(Share(sum(run.options.opening in one for one in sentences), len(sentences)))
    return run, found


def lay_out(judged):
    run, shares = judged
    quantity = macro_of(MARKED.column, shares)
    entries = [
        Entry(system, "", {"marked": run.panel.interval(quantity, number).ends})
        for number, system in enumerate(run.panel.systems)
    ]
    data = data_of(run.name, "marked", run.answers, sum(one.total for one in shares), 0)
    fields = {"pipeline": "marked", "opening": run.options.opening}
    around = Provenance(
        data, "marked", run.name, fields, run.config.interval, after=[uncertainty(run.config.interval, data.groups)]
    )
    sheet = around.sheet(
        "marked", MARKED.label, entry_records(entries), lambda frame: scores_grid(frame, [MARKED.column], entries)
    )
    rows = [{"answer": one.id, "marked": share.value} for one, share in zip(run.answers, shares, strict=True)]
    return Layout([sheet], [RowTable("answers", rows)])


MARKED_SENTENCES = Pipeline(
    name="marked",
    title="Marked",
    paper="none",
    help="""Share of sentences with a mark.

    Counts sentences, and asks nobody.
    """,
    options=Options,
    measures=(MARKED,),
    read=read,
    judge=lambda read, backends: read,
    lay_out=lay_out,
)
'''
ANSWERS = [
    {"id": "1", "group": "q1", "text": "Cats sleep [1]. Dogs bark.", "passages": [{"text": "a"}]},
    {"id": "2", "group": "q2", "text": "Birds sing [1].", "passages": [{"text": "a"}]},
]


@pytest.fixture
def package(tmp_path):
    """A folder that holds an installed package with an entry point, and a file of answers beside it."""
    home = tmp_path / "site"
    info = home / "marked-1.0.dist-info"
    info.mkdir(parents=True)
    (home / "marked.py").write_text(MARKS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: marked\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[metaeval.pipelines]\nmarked = marked:MARKED_SENTENCES\n")
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))
    return home


def typed(package, *words):
    """What the command line prints where the package is installed."""
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "cite", *words],
        cwd=package.parent,
        env={"PYTHONPATH": str(package), "COLUMNS": "100", "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pipeline_of_ones_own_is_a_command_with_its_options(package):
    assert "Share of sentences with a mark." in typed(package, "--help")
    said = typed(package, "marked", "--help")
    assert "Counts sentences, and asks nobody." in said
    assert "--opening" in said
    assert "What a mark opens with." in said
    assert "--nli" not in said  # no metric judges
    assert "--dry-run" not in said  # nobody is asked


def test_a_pipeline_of_ones_own_reads_judges_and_writes(package):
    said = typed(package, "marked", "answers.jsonl", "--splitter", "rules", "--set", "interval.resamples=50")
    # One of two sentences, and one of one: 75 %.
    assert "75.0" in said
    folder = package.parent / "results" / "cite" / "marked" / "answers"
    record = json.loads((folder / "marked.json").read_text())["records"][0]
    assert (record["system"], record["measure"], record["value"]) == ("answers", "marked", 0.75)
    assert (folder / "per-answers.csv").read_text() == "answer,marked\n1,0.5\n2,1.0\n"
    assert "0.0" in typed(package, "marked", "answers.jsonl", "--opening", "{", "--splitter", "rules")


def test_a_pipeline_of_ones_own_is_called_from_python(package, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(package))
    registry._entries.cache_clear()
    import metaeval

    try:
        found = metaeval.cite("marked", ANSWERS, splitter="rules", results=tmp_path / "results")
    finally:
        registry._entries.cache_clear()
    assert [(row["measure"], row["value"]) for row in found.estimates] == [("marked", 0.75)]
    assert [note.label for note in found.notes] == ["uncertainty"]
    assert not found.missing
    assert "opening:[" in found.signatures[0]
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", registry.names("pipeline"))
def test_a_registered_pipeline_declares_itself_whole(name):
    pipeline = find_pipeline(name)
    assert isinstance(pipeline, Pipeline)
    assert pipeline.name == name
    assert pipeline.paper
    assert pipeline.help.strip()
    assert all(field.description for field in pipeline.options.model_fields.values())
    assert all(measure.meaning for measure in pipeline.measures)
