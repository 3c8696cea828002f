"""Share of sentences with a mark: a citation pipeline of one's own, in one file."""

from typing import Annotated

from pydantic import Field

from metaeval.analyses.analysis import Analysis
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import AnswerShare, macro
from metaeval.citation.pipelines.cited import TEXT, CitedTable, Definition, Measure
from metaeval.citation.pipelines.options import ReadsAnswers, answers_in, name_of_data
from metaeval.core.declared import Flag

MARKED = Measure("marked", "marked %", "share of sentences with a citation mark")


class Options(ReadsAnswers):
    opening: Annotated[str, Flag("TEXT")] = Field(default="[", description="What a mark opens with.")


def run(options, progress):
    answers, splitter = answers_in(options), find_sentence_splitter(options.splitter)
    cut = [splitter.split(answer.text) for answer in answers]
    shares = [AnswerShare(sum(options.opening in text for text in texts), len(texts)) for texts in cut]
    fields = {"pipeline": "marked", "opening": options.opening}
    shown = [Definition("marked", "Sentences with a mark", (MARKED,))]
    cited = CitedTable("marked", "marked", name_of_data(options.files), answers, options.run(metrics=()), fields, shown)
    cited.add(TEXT, lambda missing: {"marked": macro(shares)})
    return cited.done(options.files, counted=[(sum(one.total for one in shares), "sentence"), (0, "citation")])


PIPELINE = Analysis(
    name="cite marked",
    summary="Share of sentences with a mark.",
    about="Counts sentences, and asks nobody.",
    options=Options,
    run=run,
    folder="cite/marked",
)
