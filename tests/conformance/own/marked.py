"""Share of sentences with a mark: a pipeline of one's own, in one file."""

from pydantic import Field

from metaeval.citation.measures import AnswerShare, macro
from metaeval.citation.pipelines.layout import Entry
from metaeval.citation.pipelines.pipeline import Layout, Pipeline, PipelineMeasure, ReadsAnswers
from metaeval.citation.pipelines.provenance import Provenance, data_of, uncertainty
from metaeval.report.table import Table

MARKED = PipelineMeasure("marked", "marked %", "share of sentences with a citation mark", 100, 1)


class Options(ReadsAnswers):
    opening: str = Field(default="[", description="What a mark opens with.")


def read(run):
    cut = [run.splitter.split(answer.text) for answer in run.answers]
    return run, [AnswerShare(sum(run.options.opening in text for text in texts), len(texts)) for texts in cut]


def lay_out(judged):
    run, shares = judged
    statistics = {"marked": macro(shares)}
    entries = [Entry(system, "", run.panel.ends(statistics, number)) for number, system in enumerate(run.panel.systems)]
    data = data_of(run.name, "marked", run.answers, sum(one.total for one in shares), 0)
    fields = {"pipeline": "marked", "opening": run.options.opening}
    notes = [uncertainty(run.config.interval, data.groups)]
    around = Provenance(data, "marked", run.name, fields, run.config.interval, after=notes)
    sheet = around.scores("marked", MARKED.label, [MARKED.column], entries)
    rows = [{"answer": one.id, "marked": share.value} for one, share in zip(run.answers, shares, strict=True)]
    return Layout([sheet], [Table(name="answers", records=rows)])


PIPELINE = Pipeline(
    name="marked",
    title="Marked",
    paper="none",
    help="Share of sentences with a mark.\n\nCounts sentences, and asks nobody.",
    options=Options,
    measures=(MARKED,),
    read=read,
    judge=lambda read, backends: read,
    lay_out=lay_out,
)
