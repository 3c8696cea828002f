"""The pipeline `scifi`: facts from a parser or a chat model, their entailment by citations, tables and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from metaeval.citation.chat_models import ChatOptions, estimate_for
from metaeval.citation.citation_table import find_place
from metaeval.citation.data_model import Answer
from metaeval.citation.measures import bounds, micro
from metaeval.citation.parsers.dependency_parsers import Parser, find_parser
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.layout import Entry, entry_records, scores_grid, shown_columns
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import AsksChat, JudgedByMetrics, Pipeline, PipelineMeasure, Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.ranking_tables import ranking_sheets
from metaeval.citation.scifi import answer_measures
from metaeval.citation.scifi import facts as fact_making
from metaeval.citation.scifi.answer_measures import ScoredFacts
from metaeval.citation.scifi.data_model import AnswerFacts, CoverageLine, FactLine, ScifiOptions, read_sentences
from metaeval.citation.scifi.fact_entailment import counter
from metaeval.citation.system_comparison import Rankings, values_of
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report.result import Column
from metaeval.report.table import ColumnGroup, Note, Scalar, Table, format_value, plain
from metaeval.runs.verdict_cutoffs import Cutoff, find_cutoff
from metaeval.scoring.contract import Metric
from metaeval.stats.influence import COUNTS, SHARES

_GROUPS: Mapping[str, str] = {"entailment": "entailment", "coverage": "coverage", "count": "facts"}
"""Headings over the columns, by the beginning of their keys."""

_COUNTS = (
    Column(key="count_valued", label="valued", digits=0),
    Column(key="count_reference", label="reference", digits=0),
)
_TEXTS = (
    PipelineMeasure("density", "density", "density: citations per sentence", digits=2),
    PipelineMeasure(
        "density_sub", "density (sub)", "sub: those that are followed by a word of their sentence", digits=2
    ),
    PipelineMeasure("facts_per_sentence", "facts per sentence", "", digits=2),
    PipelineMeasure("uncited", "uncited %", "uncited: facts of sentences without a citation", 100, 1),
    PipelineMeasure("citations_without_facts", "unused %", "unused: citations that no fact is compared with", 100, 1),
    PipelineMeasure("not_found", "not found %", "not found: facts whose segment is not in their sentence", 100, 1),
)
_COUNTED = ("sentences cited", "facts: ", "segments: ", "marks: ", "problem: ")
"""Beginnings of the names of the counts that the note "counts" lists; other notes have the rest."""

_AS_IT_IS = "a fact's value is the score itself, from 0 to 1"
_DECIDED = "a fact's value is 1 from {} on ({}), else 0"
_PERCENT = Column(key="", label="", scale=100, digits=1)


class ScifiCommand(pipeline.ReadsAnswers, JudgedByMetrics, AsksChat):
    """Options of `cite scifi`."""

    untyped = frozenset({"format"})

    threshold: Annotated[str | None, Flag("X")] = Field(
        default=None,
        description="Least score of a supported fact: X, or NAME=X,NAME=X (default: a fact's value is its score).",
    )
    model: Annotated[str | None, Flag("NAME")] = Field(
        default=None, description="Chat model that makes the facts (default: none)."
    )
    parser: Annotated[str, Flag("NAME")] = Field(
        default="small", description="Parser that makes the facts, where no model is named."
    )


@dataclass(frozen=True, eq=False)
class Assessed:
    """Answers split into facts, with each backend's values of the facts; empty fields are filled by later steps.

    parser: makes the facts (None: the chat model does). read: the facts of every answer, in order. models: model names
    in the replies; none where a parser made the facts. scored: in the order of `backends`.
    """

    run: Run
    options: ScifiOptions
    parser: Parser | None
    read: Sequence[AnswerFacts] = ()
    models: Sequence[str] = ()
    backends: Sequence[Backend] = ()
    scored: Sequence[ScoredFacts] = ()

    @property
    def both(self) -> list[tuple[Backend, ScoredFacts]]:
        """Each backend with its values."""
        return list(zip(self.backends, self.scored, strict=True))

    @property
    def referred(self) -> bool:
        """Whether any answer has a reference, whose facts it should cover."""
        return any(answer.reference is not None for answer in self.read)


def options_of(set_options: pipeline.SetOptions) -> ScifiOptions:
    """Return the options of SCiFi, with what --set gives."""
    return ScifiOptions(**set_options.get("options", {}))


def asks_model(choice: AsksChat, set_options: pipeline.SetOptions) -> bool:
    """Return whether a chat model makes the facts.

    Raises `UserError` if both parser and model are given, and for model settings that have no effect.
    """
    facts, chat = set_options["options"].get("facts"), set_options["chat"]
    named = choice.names_model or "model" in chat
    if named and facts == "parser":
        raise UserError("Facts are made by the parser (facts=parser) or by a chat model: leave out one of the two.")
    if named or facts == "model":
        return True
    idle = [f"--set {name}" for name in chat if name != "budget"]
    idle += choice.idle
    if idle:
        raise UserError(
            f"{idle[0]} is for chat models, and a parser makes the facts: give --model, or leave {idle[0]} out."
        )
    return False


def fact_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path]
) -> Cutoff:
    """Return the cut-off of a backend: None where its scores are the values of facts, else a threshold.

    Raises `UserError` for soft scores that are not from 0 to 1.
    """
    card = metric.card
    graded = (card.low, card.high, card.direction) == (0.0, 1.0, 1)
    if name not in thresholds and not calibrations and graded:
        return Cutoff(None, "as it is")
    cutoff = find_cutoff(name, metric, thresholds, calibrations)
    if cutoff.value is None and not graded:
        raise UserError(
            f"A fact's value is a score from 0 to 1, and the scores of {name!r} have another range: give a threshold "
            f"(--threshold {name}=X)."
        )
    return cutoff


def read_run(run: Run) -> Assessed:
    """Return the run with its options, and the parser that makes the facts (None: the chat model does).

    Raises `UserError` for a prompt, tokenizer or parser that cannot be loaded.
    """
    options = options_of(
        {"options": {**run.set_options["options"], "facts": "parser" if run.chat is None else "model"}}
    )
    # Missing prompts and tokenizers are errors here.
    counter(options.tokenizer)
    if run.chat is not None:
        fact_making.fact_prompts(options, run.chat)
    parser = find_parser(run.options.parser) if run.chat is None else None
    return Assessed(run, options, parser)


def estimate(source: Assessed) -> str:
    """Return a line on what making the facts would still cost; nothing is sent, and no key is needed."""
    run, options = source.run, source.options
    if run.chat is None:
        return "A parser makes the facts: no chat model is asked, and nothing is paid for them."
    if run.choice.replay is not None:
        return f"The replies are in {run.choice.replay}: no chat model is asked, and nothing is paid for them."
    return estimate_facts(run.answers, options, run.chat, run.splitter)


def estimate_facts(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter
) -> str:
    """Return a line on what asking a chat model for the facts would still cost."""
    requests = fact_making.requests_for(answers, options, chat, splitter)
    read = [read_sentences(answer, splitter) for answer in answers]
    # The citation of their facts depends on where the model says that they are stated.
    several = sum(len(sentence.groups) > 1 for sentences in read for sentence in sentences)
    first = f"{count(len(requests), 'sentence')} to decompose: {estimate_for(requests, chat)}."
    if not several:
        return first
    return (
        f"{first} Then one more request for each fact of {count(several, 'sentence')} with several citations; the "
        "first replies determine how many."
    )


def make_facts(source: Assessed, chat: Any) -> Assessed:
    """Return the facts of every answer, made by the chat model or the parser."""
    run, options = source.run, source.options
    if source.parser is not None:
        return replace(source, read=fact_making.read_with_parser(run.answers, source.parser, run.splitter))
    read = fact_making.read_with_model(run.answers, options, chat.ask, run.chat, run.splitter)
    return replace(source, run=replace(run, chat=chat.settled(run.chat)), read=read, models=chat.models)


def value_facts(facts: Assessed, backends: Iterable[Backend]) -> Assessed:
    """Return the facts with their values by each backend, which score in turn."""
    read, options, splitter = facts.read, facts.options, facts.run.splitter
    valued = [
        (backend, answer_measures.score_facts(read, backend.entails, options, backend.soft, splitter))
        for backend in backends
    ]
    return replace(facts, backends=[backend for backend, _ in valued], scored=[scored for _, scored in valued])


def scifi_sheets(assessed: Assessed) -> list[Table]:
    """Return every table of a run, in reading order. Rankings need two backends and two systems."""
    around = provenance_of(assessed)
    ranked = ranking_sheets(rankings(assessed), around, "scifi-rankings", "scifi-agreement")
    return [_scores(assessed, around), _texts(assessed, around), *ranked]


def _scores(assessed: Assessed, around: Provenance) -> Table:
    panel, entries, named = assessed.run.panel, [], []
    for backend, scored in assessed.both:
        threshold = backend.cutoff.value
        # The line names the threshold, since values of 0 and 1 are not comparable with scores.
        shown = backend.name if threshold is None else f"{backend.name} at {threshold:g}"
        for number, system in enumerate(panel.systems):
            rows, values = panel.rows(number).tolist(), panel.ends(scored.statistics, number)
            # The number of facts with a value, in the answers and in their references.
            values["count_valued"] = sum(scored.entailment[row].total for row in rows), None, None
            referred = any(assessed.read[row].reference is not None for row in rows)
            values["count_reference"] = (
                sum(scored.coverage[row].total for row in rows) if referred else None,
                None,
                None,
            )
            entries.append(Entry(system, backend.name, values))
            named.append(Entry(system, shown, values))
    keys = list(assessed.scored[0].statistics)
    columns = [Column(key=key, label=f"over {key.partition('_')[2]}", scale=100, digits=1) for key in keys]
    columns += _COUNTS
    # The main columns are shown even without a value.
    kept = {
        column.key for column in columns if assessed.referred or column.key.startswith(("entailment", "count_valued"))
    }
    title = "Citation entailment of facts" + (", and coverage of the reference" if assessed.referred else "")

    # A heading stands over the columns of each measure.
    names = [_GROUPS[column.key.partition("_")[0]] for column in shown_columns(columns, entries, kept)]
    groups = tuple(ColumnGroup(name, names.count(name)) for name in dict.fromkeys(names))
    grid = replace(scores_grid(columns, named, kept), groups=groups)
    return around.sheet("scifi-scores", f"{title} (%)", entry_records(entries), grid)


def _texts(assessed: Assessed, around: Provenance) -> Table:
    panel = assessed.run.panel
    values = answer_measures.text_shares(assessed.read, assessed.scored[0].facts)
    columns = [measure.column for measure in _TEXTS]
    # Values that are not percentages are counts, and can be above 1.
    statistics = {c.key: micro(values[c.key], SHARES if c.scale == 100 else COUNTS) for c in columns}
    entries = [Entry(name, "", panel.ends(statistics, number)) for number, name in enumerate(panel.systems)]
    keys = {column.key for column in shown_columns(columns, entries)}
    reading = "; ".join(measure.meaning for measure in _TEXTS if measure.key in keys and measure.meaning)
    return around.scores("scifi-answers", "The answers", columns, entries, [Note("reading", reading)])


def rankings(assessed: Assessed) -> Rankings:
    """Return entailment and coverage of the systems with every backend; a measure without any value is left out."""
    by_name = {
        name: values_of(
            assessed.run.panel, [scored.statistics[f"{name}_facts"] for scored in assessed.scored], alone=False
        )
        for name in ("entailment", "coverage")
    }
    values = {name: array for name, array in by_name.items() if not np.isnan(array[:, :, 0]).all()}
    backends = [backend.name for backend in assessed.backends]
    return Rankings(assessed.run.panel, backends, values, labels={name: name for name in values}, by_pair=True)


def provenance_of(assessed: Assessed) -> Provenance:
    """Return the provenance that all tables share: data, settings, origin of facts, verdicts, missing values."""
    run, read, options = assessed.run, assessed.read, assessed.options
    facts = sum(len(answer.facts) for answer in read)
    marks = sum(len(group.marks) for answer in read for sentence in answer.sentences for group in sentence.groups)
    data = provenance.data_of(run.name, "scifi", run.answers, facts, marks)
    facts_made, models = fact_making.facts_signature(options, assessed.parser or run.chat), ", ".join(assessed.models)
    fields: dict[str, Scalar] = {"pipeline": "scifi", "options": options.signature, "splitter": run.splitter.name}
    fields |= {"facts": facts_made, **({"answered_as": models} if models else {})}
    sentences = sum(len(answer.sentences) for answer in read)
    of_backends = [(backend.name, scored) for backend, scored in assessed.both]
    settings = f"{options.signature}, splitter={run.splitter.name}".replace(",", ", ")
    notes = (
        provenance.warning(run.panel, assessed.backends),
        provenance.data_note(run.panel, data, (sentences, "sentence"), (facts, "fact"), (marks, "citation mark")),
        Note("settings", plain(settings)),
        Note("facts", plain(facts_made) + (f", answered as {plain(models)}" if models else "")),
        provenance.verdicts(assessed.backends, _AS_IT_IS, _DECIDED),
        provenance.UNCHECKED,
        provenance.truncation(assessed.backends),
        provenance.by_backend("not judged", ((name, missing_values(each)) for name, each in of_backends)),
        provenance.by_backend("could be", ((name, _bounds(assessed, each)) for name, each in of_backends)),
        Note("without facts", _lost_sentences(assessed)),
        Note("problems", provenance.counts_text(sum((answer.problems for answer in read), Counter()))),
        Note("counts", _other_counts(assessed)),
        provenance.uncertainty(run.config.interval, data.groups),
    )
    # The premises are SCiFi's chunks, which are among the options.
    judges = [{key: value for key, value in scored.fields.items() if key != "premise"} for scored in assessed.backends]
    subtitle = f"{plain(data.name)}, SCiFi, facts by {plain('a parser' if run.chat is None else run.chat.model)}"
    return Provenance(data, "SCiFi", subtitle, fields, run.config.interval, judges, after=notes)


def missing_values(scored: ScoredFacts) -> str:
    """Return, as text, the number of facts without a value by reason, in answers and references, with examples."""
    facts = [line for line in scored.facts if line.state == "unjudged"]
    references = [line for line in scored.references if line.reason and line.value is None]

    def text(lines: Sequence[FactLine | CoverageLine], total: str) -> str:
        first = [(plain(line.answer), f"fact {line.fact_number}", line.fact) for line in lines]
        return provenance.reasons_text(Counter(line.reason for line in lines), total, first) if lines else ""

    of_answers = text(facts, count(len(scored.facts), "fact"))
    of_references = text(references, count(len(scored.references), "reference fact"))
    return "; ".join(filter(None, (of_answers, of_references)))


def _bounds(assessed: Assessed, scored: ScoredFacts) -> str:
    """Return, as text, the lowest and highest possible entailment and coverage of each system.

    Missing values count as 0, or as 1. A sentence without facts counts as one fact, and the text says so: if it
    holds more, the bounds lie further apart.
    """

    def ranges(system: int) -> list[str]:
        rows, texts = assessed.run.panel.rows(system), []
        answers = [assessed.read[row] for row in rows]
        # The sentences that count for a measure and whose facts are unknown.
        lost = sum(len(answer_measures.lost_citing(answer, assessed.options)) for answer in answers)
        lost_reference = sum(answer.reference_lost for answer in answers)
        measures = ("citation entailment", scored.entailment, lost), ("coverage", scored.coverage, lost_reference)
        for name, values, unknown in measures:
            if any(values[row].open for row in rows.tolist()):
                worst, best = (format_value(end, _PERCENT) for end in bounds(values, micro, rows))
                texts.append(f"{name} {worst} to {best}" + (f" ({one_fact_each(unknown)})" if unknown else ""))
        return texts

    return provenance.texts_by_system(assessed.run.panel, ranges)


def one_fact_each(sentences: int) -> str:
    """Return, as text, what the bounds assume of the sentences whose facts are unknown. sentences: their number."""
    return f"if {'the' if sentences == 1 else 'each of'} {count(sentences, 'sentence')} without facts states one"


def _lost_sentences(assessed: Assessed) -> str:
    """Return, as text, the number of sentences whose facts are missing, in answers and references."""
    causes = Counter(reason for answer in assessed.read for reason in answer.lost.values())
    sentences = sum(len(answer.sentences) for answer in assessed.read)
    first = next(((answer.answer.id, number) for answer in assessed.read for number in sorted(answer.lost)), None)
    of_references = sum(answer.reference_lost for answer in assessed.read)
    parts = []
    if first is not None:
        where = f"{plain(first[0])}, sentence {first[1]}"
        lost = f"{provenance.counts_text(causes)} (of {count(sentences, 'sentence')})"
        parts.append(f"{lost}: their facts are unknown; first: {where}")
    if of_references:
        parts.append(f"{count(of_references, 'sentence')} of references, which coverage leaves out")
    return "; ".join(parts)


def _other_counts(assessed: Assessed) -> str:
    """Return, as text, the facts by state, and the marks that cite no passage or are not read, with the first one."""
    numbers = answer_measures.counts(assessed.read, assessed.scored[0].facts).items()
    texts = [f"{plain(name)} {number:,}" for name, number in numbers if name.startswith(_COUNTED)]
    wrong = (
        f"{plain(answer.answer.id)}, offset {mark.start}"
        for answer in assessed.read
        for sentence in answer.sentences
        for group in sentence.groups
        for mark in group.marks
        if find_place(mark.number, len(answer.answer.passages))[1]
    )
    first = next(wrong, "")
    return ", ".join(texts) + (f" (first: {first})" if first else "")


def row_tables(assessed: Assessed) -> list[Table]:
    """Return the tables of rows of every backend: facts, answers, and where answers have references, these' facts."""
    tables = []
    for backend, scored in assessed.both:
        rows = [answer_measures.fact_row(line) for line in scored.facts]
        tables.append(Table(name=f"facts:{backend.name}", records=rows))
        answers = answer_measures.answer_rows(assessed.read, scored, assessed.options)
        tables.append(Table(name=f"answers:{backend.name}", records=answers))
        if assessed.referred:
            held = [asdict(line) for line in scored.references]
            tables.append(Table(name=f"reference-facts:{backend.name}", records=held))
    return tables


SCIFI = Pipeline(
    name="scifi",
    title="SCiFi",
    paper="SCiFi (arXiv 2406.06125)",
    help="""Measure how far citations entail single facts (SCiFi).

    Sentences are decomposed into facts, by a parser or, as in the paper, by a
    chat model. The citation of a fact is the one nearest to where its sentence
    states it.

    \b
    Examples:
      metaeval cite scifi answers.json --nli overlap
      metaeval cite scifi answers.json --model NAME --record facts.jsonl
      metaeval cite scifi answers.json --replay facts.jsonl -s group=joint
    """,
    options=ScifiCommand,
    measures=(
        PipelineMeasure("entailment_facts", "entailment", "mean entailment of facts by their nearest citation", 100, 1),
        PipelineMeasure("coverage_facts", "coverage", "mean entailment of a reference's facts by the answer", 100, 1),
    ),
    owners={"options": ScifiOptions, "chat": ChatOptions},
    backends="many",
    chat="optional",
    purpose="makes the facts",
    asks=asks_model,
    cutoff=lambda *read, set_options: fact_cutoff(*read),
    read=read_run,
    estimate=estimate,
    ask=make_facts,
    judge=lambda facts, backends: value_facts(facts, backends()),
    lay_out=lambda assessed: pipeline.Layout(scifi_sheets(assessed), row_tables(assessed)),
)
