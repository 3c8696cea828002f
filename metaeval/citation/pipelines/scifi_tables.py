"""SCiFi as a pipeline: who makes the facts, how far each is entailed by its citation; tables, notes and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from metaeval.citation.chat import ChatOptions, estimate_for
from metaeval.citation.measures import bounds, macro, micro
from metaeval.citation.model import Answer
from metaeval.citation.panel import Rankings, values_of
from metaeval.citation.parsers.parse import Parser, find_parser
from metaeval.citation.pipelines import provenance
from metaeval.citation.pipelines.layout import Entry, entry_records, scores_grid, shown_columns
from metaeval.citation.pipelines.pipeline import (
    AsksChat,
    Given,
    JudgedByMetrics,
    Layout,
    Measure,
    Pipeline,
    ReadsAnswers,
    Run,
)
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.rankings import ranking_sheets
from metaeval.citation.pipelines.result import RowTable
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.citation.scifi import shares
from metaeval.citation.scifi.entailment import counter
from metaeval.citation.scifi.facts import (
    PROFILE,
    PROMPTS,
    fact_prompts,
    facts_signature,
    read_with_model,
    read_with_parser,
    requests_for,
)
from metaeval.citation.scifi.model import AnswerFacts, CoverageLine, FactLine, ScifiOptions, read_sentences
from metaeval.citation.scifi.shares import ScoredFacts
from metaeval.citation.table import find_place
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.report.result import Column
from metaeval.report.table import Group, Note, Scalar, Table, count, numeral, plain
from metaeval.runs.cutoffs import Cutoff, find_cutoff
from metaeval.scoring.contract import Metric
from metaeval.stats.influence import COUNTS, SHARES

_GRADED = (0.0, 1.0, 1)
"""Low, high and direction of a metric whose scores can be read as degrees of support."""

_GROUPS: Mapping[str, str] = {"entailment": "entailment", "coverage": "coverage", "count": "facts"}
"""Headings over the columns, by what their keys begin with."""

_COUNTS = (
    Column(key="count_valued", label="valued", digits=0),
    Column(key="count_reference", label="reference", digits=0),
)
_TEXTS = (
    Measure("density", "density", "density: citations per sentence", digits=2),
    Measure("density_sub", "density (sub)", "sub: those with a further word of their sentence behind them", digits=2),
    Measure("facts_per_sentence", "facts per sentence", "", digits=2),
    Measure("uncited", "uncited %", "uncited: facts of sentences without a citation", 100, 1),
    Measure("citations_without_facts", "unused %", "unused: citations that no fact is held against", 100, 1),
    Measure("not_found", "not found %", "not found: facts whose segment is not in their sentence", 100, 1),
)
_COUNTED = ("sentences cited", "facts: ", "segments: ", "marks: ", "problem: ")
"""Beginnings of the counts that no other note tells."""

_AS_IT_IS = "a fact's value is the score itself, from 0 to 1"
_DECIDED = "a fact's value is 1 from {} on ({}), else 0"
_PERCENT = Column(key="", label="", scale=100, digits=1)


class ScifiCommand(ReadsAnswers, JudgedByMetrics, AsksChat):
    """Options of `cite scifi`."""

    untyped = frozenset({"format"})

    threshold: Annotated[str | None, Flag("X")] = Field(
        default=None,
        description="Score from which a fact is supported: X, or NAME=X with commas (default: the score itself).",
    )
    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that makes the facts.")
    parser: Annotated[str, Flag("NAME")] = Field(
        default="small", description="Parser that makes the facts where no model is named."
    )


@dataclass(frozen=True, eq=False)
class Assessed:
    """Answers of one or more systems as facts, valued by one or more backends; empty before a stage is through.

    parser: what makes the facts (None: the run's chat model). read: the facts of every answer, in order. models: the
    names that the replies came under; none where a parser made the facts. scored: in the order of `backends`.
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
        """Whether an answer has a reference that it should cover."""
        return any(own.reference is not None for own in self.read)


def options_of(given: Given) -> ScifiOptions:
    """The options of SCiFi that --set gives."""
    return ScifiOptions(**given.get("options", {}))


def asks_model(choice: AsksChat, given: Given) -> bool:
    """Whether a chat model makes the facts; `UserError` for both at once, and for a model's setting without a model."""
    facts, chat = given["options"].get("facts"), given["chat"]
    named = choice.names_model or "model" in chat
    if named and facts == "parser":
        raise UserError("Facts are made by the parser (facts=parser) or by a chat model: leave out one of the two.")
    if named or facts == "model":
        return True
    idle = [f"--set {name}" for name in chat if name != "budget"]
    idle += choice.idle
    if idle:
        raise UserError(
            f"{idle[0]} is a chat model's, and a parser makes the facts: name a model with --model, or leave it out."
        )
    return False


def fact_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path], given: Given
) -> Cutoff:
    """How a backend's scores become values of facts: as they are (a soft cut-off), or decided at a threshold."""
    entailment, card = options_of(given).entailment, metric.card
    graded = (card.low, card.high, card.direction) == _GRADED
    as_it_is = entailment == "probability" or (entailment == "auto" and graded)
    if name not in thresholds and not calibrations and as_it_is:
        cutoff = Cutoff(None, "as it is")
    else:
        cutoff = find_cutoff(name, metric, thresholds, calibrations)
    if cutoff.value is None and entailment == "binary":
        raise UserError(f"entailment=binary decides at a threshold, and {name!r} is given none: leave out one.")
    if cutoff.value is None and not graded:
        raise UserError(
            f"A fact's value is a score from 0 to 1, and {name!r} gives others: give it a threshold (--threshold "
            f"{name}=X), or leave entailment at auto."
        )
    return cutoff


def read_run(run: Run) -> Assessed:
    """Who makes the facts of the run's answers; `UserError` for a prompt, tokenizer or parser that cannot be had."""
    options = options_of({"options": {**run.given["options"], "facts": "parser" if run.chat is None else "model"}})
    # Whether there are such prompts, and such a tokenizer.
    fact_prompts(options), counter(options.window_unit)
    parser = find_parser(run.options.parser, PROFILE.one_root) if run.chat is None else None
    return Assessed(run, options, parser)


def estimate(source: Assessed) -> str:
    """What making the facts would still cost, in a sentence or two; sends nothing, and needs no key."""
    run, options = source.run, source.options
    if run.chat is None:
        return "A parser makes the facts: no chat model is asked, and nothing is paid for them."
    if run.choice.replay is not None:
        return f"The replies are in {run.choice.replay}: no chat model is asked, and nothing is paid for them."
    return estimate_facts(run.answers, options, run.chat, run.splitter)


def estimate_facts(
    answers: Sequence[Answer], options: ScifiOptions, chat: ChatOptions, splitter: SentenceSplitter
) -> str:
    """What asking a chat model for the facts would still cost."""
    requests = requests_for(answers, options, chat, splitter)
    read = [read_sentences(answer, options, splitter) for answer in answers]
    # Their facts' citation is not known before the model has said where they are stated.
    several = sum(options.map_all or len(one.groups) > 1 for own in read for one in own)
    first = f"{count(len(requests), 'sentence')} to decompose: {estimate_for(requests, chat)}."
    if not several:
        return first
    cited = "" if options.map_all else " with several citations"
    return (
        f"{first} Then one request more for each fact of {count(several, 'sentence')}{cited}, which the first replies "
        "will tell."
    )


def make_facts(source: Assessed, chat: Any) -> Assessed:
    """The facts of every answer, made by the chat model or by the parser."""
    run, options = source.run, source.options
    if source.parser is not None:
        return replace(source, read=read_with_parser(run.answers, options, source.parser, run.splitter))
    read = read_with_model(run.answers, options, chat.ask, run.chat, run.splitter)
    return replace(source, run=replace(run, chat=chat.settled(run.chat)), read=read, models=chat.models)


def value_facts(facts: Assessed, backends: Iterable[Backend]) -> Assessed:
    """The facts valued by each backend in turn."""
    found = [
        (one, shares.score_facts(facts.read, one.entails, facts.options, one.soft, facts.run.splitter))
        for one in backends
    ]
    return replace(facts, backends=[backend for backend, _ in found], scored=[scored for _, scored in found])


def scifi_sheets(assessed: Assessed) -> list[Table]:
    """Every sheet of a run, in the order in which they are read. Rankings need two backends and two systems."""
    around = provenance_of(assessed)
    ranked = ranking_sheets(rankings(assessed), around, "scifi-rankings", "scifi-agreement")
    return [_scores(assessed, around), _texts(assessed, around), *ranked]


def _scores(assessed: Assessed, around: Provenance) -> Table:
    panel, entries, named = assessed.run.panel, [], []
    for backend, one in assessed.both:
        threshold = backend.cutoff.value
        # A threshold is named: the values are then 0 and 1, and compare with no scores.
        shown = backend.name if threshold is None else f"{backend.name} at {threshold:g}"
        for number, system in enumerate(panel.systems):
            rows, values = panel.rows(number).tolist(), panel.ends(one.statistics, number)
            # How many facts have a value: of the answers, and of their references where there are any.
            values["count_valued"] = sum(one.entailment[row].total for row in rows), None, None
            referred = any(assessed.read[row].reference is not None for row in rows)
            values["count_reference"] = sum(one.coverage[row].total for row in rows) if referred else None, None, None
            entries.append(Entry(system, backend.name, values))
            named.append(Entry(system, shown, values))
    keys = list(assessed.scored[0].statistics)
    columns = [Column(key=key, label=f"over {key.partition('_')[2]}", scale=100, digits=1) for key in keys]
    columns += _COUNTS
    # What the table is about stands in it, even where nothing has a value.
    kept = {one.key for one in columns if assessed.referred or one.key.startswith(("entailment", "count_valued"))}
    title = "Citation entailment of facts" + (", and coverage of the reference" if assessed.referred else "")

    def layout(frame: Table) -> Table:
        """With a heading over the columns of each measure; those without a value are in it if they are kept."""
        names = [_GROUPS[column.key.partition("_")[0]] for column in shown_columns(columns, entries, kept)]
        groups = tuple(Group(name, names.count(name)) for name in dict.fromkeys(names))
        return replace(scores_grid(frame, columns, named, kept), groups=groups)

    return around.sheet("scifi-scores", f"{title} (%)", entry_records(entries), layout)


def _texts(assessed: Assessed, around: Provenance) -> Table:
    panel, found = assessed.run.panel, shares.text_shares(assessed.read, assessed.scored[0].facts, assessed.options)
    columns = [measure.column for measure in _TEXTS]
    # What is no percentage counts, and can be above 1.
    statistics = {one.key: micro(found[one.key], SHARES if one.scale == 100 else COUNTS) for one in columns}
    entries = [Entry(name, "", panel.ends(statistics, number)) for number, name in enumerate(panel.systems)]
    keys = {column.key for column in shown_columns(columns, entries)}
    reading = "; ".join(one.meaning for one in _TEXTS if one.key in keys and one.meaning)
    return around.scores("scifi-answers", "The answers", columns, entries, [Note("reading", reading)])


def rankings(assessed: Assessed) -> Rankings:
    """The systems' citation entailment and coverage under every backend; a measure without any value is left out."""
    average = shares.averages(assessed.options)[0]
    found = {
        name: values_of(
            assessed.run.panel, [one.statistics[f"{name}_{average}"] for one in assessed.scored], alone=False
        )
        for name in ("entailment", "coverage")
    }
    values = {name: own for name, own in found.items() if not np.isnan(own[:, :, 0]).all()}
    backends = [one.name for one in assessed.backends]
    return Rankings(assessed.run.panel, backends, values, labels={name: name for name in values}, by_pair=True)


def provenance_of(assessed: Assessed) -> Provenance:
    """What stands around the tables: data, settings, who made the facts, backends, what is missing, problems, marks."""
    run, read, options = assessed.run, assessed.read, assessed.options
    facts = sum(len(own.facts) for own in read)
    marks = sum(len(group.marks) for own in read for one in own.sentences for group in one.groups)
    data = provenance.data_of(run.name, "scifi", run.answers, facts, marks)
    made, models = facts_signature(options, assessed.parser, run.chat), ", ".join(assessed.models)
    fields: dict[str, Scalar] = {"pipeline": "scifi", "options": options.signature, "splitter": run.splitter.name}
    fields |= {"facts": made, **({"answered_as": models} if models else {})}
    sentences = sum(len(own.sentences) for own in read)
    settings = f"{options.signature}, splitter={run.splitter.name}".replace(",", ", ")
    notes = (
        provenance.warning(run.panel, assessed.backends),
        provenance.judged(run.panel, data, (sentences, "sentence"), (facts, "fact"), (marks, "citation mark")),
        Note("settings", plain(settings)),
        Note("facts", plain(made) + (f", answered as {plain(models)}" if models else "")),
        provenance.verdicts(assessed.backends, _AS_IT_IS, _DECIDED),
        provenance.truncation(assessed.backends),
        provenance.by_backend("not judged", ((backend, missing_values(one)) for backend, one in assessed.both)),
        provenance.by_backend("could be", ((backend, _bounds(assessed, one)) for backend, one in assessed.both)),
        Note("without facts", _lost_sentences(assessed)),
        Note("assignment", _assignment(assessed)),
        Note("problems", provenance.counted(sum((own.problems for own in read), Counter()))),
        Note("counts", _other_counts(assessed)),
        provenance.uncertainty(run.config.interval, data.groups),
    )
    # Premises are SCiFi's own chunks, and stand among the options.
    judges = [{key: value for key, value in one.fields.items() if key != "premise"} for one in assessed.backends]
    subtitle = f"{plain(data.name)}, SCiFi, facts by {plain('a parser' if run.chat is None else run.chat.model)}"
    return Provenance(data, "SCiFi", subtitle, fields, run.config.interval, judges, after=notes)


def missing_values(one: ScoredFacts) -> str:
    """The facts without a value by reason, of answers and of references, and the first of them."""
    facts = [line for line in one.facts if line.state == "unjudged"]
    references = [line for line in one.references if line.reason and line.value is None]
    said = []
    for lines, total, noun in ((facts, len(one.facts), "fact"), (references, len(one.references), "reference fact")):
        first = [(plain(line.answer), f"fact {line.fact_number}", line.fact) for line in lines]
        if lines:
            said.append(provenance.reasons(Counter(line.reason for line in lines), count(total, noun), first))
    return "; ".join(said)


def _bounds(assessed: Assessed, one: ScoredFacts) -> str:
    """What citation entailment and coverage of each system could be, were all missing values 0, or 1.

    A sentence without facts is taken as one fact, and the note says so: if it holds more, the ends lie further apart.
    """
    average = micro if assessed.options.average == "facts" else macro

    def said(system: int) -> list[str]:
        rows, ends = assessed.run.panel.rows(system), []
        own = [assessed.read[row] for row in rows]
        # Sentences that count for a measure, and have facts that nobody knows.
        lost = sum(len(shares.lost_citing(each)) for each in own)
        lost_reference = sum(each.reference.sentences_lost for each in own if each.reference is not None)
        measures = ("citation entailment", one.entailment, lost), ("coverage", one.coverage, lost_reference)
        for name, own_shares, unknown in measures:
            if any(own_shares[row].open for row in rows.tolist()):
                worst, best = (numeral(end, _PERCENT) for end in bounds(own_shares, average, rows))
                ends.append(f"{name} {worst} to {best}" + (f" ({one_fact_each(unknown)})" if unknown else ""))
        return ends

    return provenance.by_system(assessed.run.panel, said)


def one_fact_each(sentences: int) -> str:
    """What bounds take for granted of sentences whose facts nobody knows."""
    return f"if {'the' if sentences == 1 else 'each of'} {count(sentences, 'sentence')} without facts states one"


def _lost_sentences(assessed: Assessed) -> str:
    """Sentences whose facts are missing, of answers and of references; nobody knows how many facts they hold."""
    causes = Counter(reason for own in assessed.read for reason in own.lost.values())
    sentences = sum(len(own.sentences) for own in assessed.read)
    first = next(((own.answer.id, number) for own in assessed.read for number in sorted(own.lost)), None)
    of_references = sum(own.reference.sentences_lost for own in assessed.read if own.reference is not None)
    parts = []
    if first is not None:
        where = f"{plain(first[0])}, sentence {first[1]}"
        parts.append(
            f"{provenance.counted(causes)} (of {count(sentences, 'sentence')}): their facts are unknown; first: {where}"
        )
    if of_references:
        parts.append(f"{count(of_references, 'sentence')} of references, which coverage does not ask for")
    return "; ".join(parts)


def _assignment(assessed: Assessed) -> str:
    """How often the distance and the parser say different things; nothing where only one of them speaks."""
    other, of = shares.against_parser(assessed.read, assessed.scored[0].facts)
    if not of or assessed.options.own_group:
        return ""
    return (
        f"by distance {other:,} of {count(of, 'fact')} in sentences of several groups get another citation than the "
        "parser's own (own_group=true keeps the parser's)"
    )


def _other_counts(assessed: Assessed) -> str:
    """What became of facts, and marks that cite no passage or are not read, with the first of these."""
    numbers = shares.counts(assessed.read, assessed.scored[0].facts).items()
    said = [f"{plain(name)} {number:,}" for name, number in numbers if name.startswith(_COUNTED)]
    wrong = (
        f"{plain(own.answer.id)}, offset {mark.start}"
        for own in assessed.read
        for sentence in own.sentences
        for group in sentence.groups
        for mark in group.marks
        if find_place(mark.number, len(own.answer.passages))[1]
    )
    first = next(wrong, "")
    return ", ".join(said) + (f" (first: {first})" if first else "")


def row_tables(assessed: Assessed) -> list[RowTable]:
    """The rows of every backend: of facts, of answers, and of the references' facts where there is a reference."""
    tables = []
    for backend, one in assessed.both:
        _facts, _references = ([each.name for each in fields(kind)] for kind in (FactLine, CoverageLine))
        rows = [shares.fact_row(line) for line in one.facts]
        tables.append(RowTable(f"facts:{backend.name}", rows))
        answers = shares.answer_rows(assessed.read, one, assessed.options)
        tables.append(RowTable(f"answers:{backend.name}", answers))
        if assessed.referred:
            held = [asdict(line) for line in one.references]
            tables.append(RowTable(f"reference-facts:{backend.name}", held))
    return tables


SCIFI = Pipeline(
    name="scifi",
    title="SCiFi",
    paper="SCiFi (arXiv 2406.06125)",
    help="""Citations compared with single facts (SCiFi).

    A fact's citation is the one nearest to where its sentence states it. Facts
    are made by a parser, or by a chat model as in the paper.

    \b
    Examples:
      metaeval cite scifi answers.json --nli overlap
      metaeval cite scifi answers.json --model NAME --record facts.jsonl
      metaeval cite scifi answers.json --replay facts.jsonl -s group=joint
    """,
    options=ScifiCommand,
    measures=(
        Measure("entailment", "entailment", "how far facts are entailed by the citation nearest to them", 100, 1),
        Measure("coverage", "coverage", "how far an answer entails the facts of its reference", 100, 1),
    ),
    owners={"options": ScifiOptions, "chat": ChatOptions},
    prompts={
        "decomposition": ("which facts a sentence states", PROMPTS / "decomposition.txt"),
        "mapping": ("where in a sentence a fact stands", PROMPTS / "mapping.txt"),
    },
    backends="many",
    chat="optional",
    purpose="makes the facts",
    asks=asks_model,
    cutoff=fact_cutoff,
    read=read_run,
    estimate=estimate,
    ask=make_facts,
    judge=lambda facts, backends: value_facts(facts, backends()),
    lay_out=lambda assessed: Layout(scifi_sheets(assessed), row_tables(assessed)),
)
