"""What CiteEval's judge makes of answers, and its baselines in tables and rows.

AutoAIS, LQAC and AttrScore are of the same statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from metaeval.citation.chat import ChatOptions, Spent, spent_on
from metaeval.citation.citeeval.baselines import (
    KINDS,
    LABEL,
    MODES,
    NO_PASSAGE,
    UNREAD,
    AttrStatement,
    Baseline,
    LqacAggregation,
    LqacStatement,
    Open,
    QuestionKind,
    attrscore_by_metric,
    autoais,
    lqac_response,
    most_probable_label,
    response_triple,
    response_value,
    supposed,
)
from metaeval.citation.citeeval.editing import Coefficients
from metaeval.citation.citeeval.evaluate import CiteEvalResults
from metaeval.citation.citeeval.judge import Asking, asked_fields
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.citeeval.values import BaselineOptions, CitedScenario, CiteEvalOptions, changed_options
from metaeval.citation.measures import SystemEstimate, estimate, group_codes, means
from metaeval.citation.model import NliPair
from metaeval.citation.pipelines.claims_tables import F1, PRECISION, RECALL
from metaeval.citation.pipelines.layout import Entry, scores_grid
from metaeval.citation.pipelines.pipeline import MakeBackends, Run
from metaeval.citation.pipelines.provenance import Provenance, truncation, written_out
from metaeval.citation.pipelines.verdicts import Backend
from metaeval.report.result import Column
from metaeval.report.table import Cell, Note, Record, Scalar, Table, count, numeral, plain
from metaeval.runs.cutoffs import judge_of
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.metrics import LoadedMetrics, plug_in

_Bounds = tuple[float | None, float | None]
"""The least and the most that a value could be."""

_PAIRS = 1024  # pairs between two reports of progress
_TRIPLE = (RECALL, PRECISION, F1)
_MODES = tuple(Column(key=mode, label=mode, scale=100, digits=1) for mode in MODES)

AGGREGATIONS: Mapping[LqacAggregation, tuple[str, str]] = {
    "statements": ("of statements", "each the mean over statements, as CiteEval has it"),
    "response": ("as LongCite", "precision over all citations of an answer, F1 from its precision and recall"),
}
"""Both ways in which LQAC's values of statements become a response's: name in the table, and what it means."""

_NAMES = {"autoais": ("AutoAIS", "backend"), "lqac": ("LQAC", "aggregation"), "attrscore": ("AttrScore", "judge")}
"""Of each baseline its title, and the heading of its judges."""

_FULL = {
    "autoais": "all statements count",
    "lqac": "all statements count; one without citations has precision 0, and recall 1 if it needs none",
    "attrscore": "all statements count, and one without citations is 0",
}
_CITED = (
    "statements without citations are left out; an answer of nothing else is 0; CiteEval's own value of it is 0 only "
    "where one of its statements needs a citation"
)
_UNCITED = "a statement without citations is 0 in both, and "
_COULD_BE = (
    "the means over all answers, were every missing word against them, or for them; the means above take what is "
    "missing to be as what is known of its kind in the same system"
)


@dataclass(frozen=True, eq=False)
class CiteEvalJudge:
    """CiteEval's judge: what is asked of which model, and how its words become numbers."""

    profile: str
    options: CiteEvalOptions
    asking: Asking
    chat: ChatOptions

    @property
    def changed(self) -> str:
        """Options of the profile, only where they were changed."""
        return changed_options(self.profile, self.options)


@dataclass(frozen=True, eq=False)
class CiteEvalReading:
    """The answers cut into statements, and the baselines that were asked for.

    by_model: the baselines that the chat model judges. labellers: the metrics that give AttrScore's labels.
    """

    run: Run
    judge: CiteEvalJudge
    splits: Sequence[Split]
    coefficients: Coefficients
    baseline_options: BaselineOptions
    by_model: Sequence[Baseline]
    labellers: LoadedMetrics

    @property
    def scenario(self) -> CitedScenario:
        """The run's scenario."""
        scenario: CitedScenario = self.run.options.scenario
        return scenario


@dataclass(frozen=True, eq=False)
class RatedAnswers:
    """Answers as the judge rated them. models: the names that the replies came under."""

    reading: CiteEvalReading
    found: CiteEvalResults
    models: Sequence[str]

    @property
    def answered_as(self) -> str:
        """The model as the replies name it, and as it was asked where no reply came."""
        return ", ".join(self.models) or self.reading.judge.asking.model

    def cited(self, number: int) -> list[bool]:
        """Which statements of an answer have citations."""
        return [bool(one.citations) for one in self.reading.splits[number].statements]

    def spent(self, number: int) -> Spent:
        """What the replies about an answer took."""
        return spent_on(self.found.replies[number])


@dataclass(frozen=True, eq=False)
class ScoredBaseline:
    """A baseline by one judge, or in one way. name: the judge, or the way. fields: of its signature.

    answers: the values of each answer, by the key of a column; statements: those of each of its statements (empty: the
    rows have none), with further cells of the row before them in `words`. said: who judged, and how; unread: what it
    did not read. prefix, ending: of the columns of rows; bounded: the values whose bounds stand in the rows too.
    """

    baseline: str
    name: str
    columns: Sequence[Column]
    answers: Sequence[Mapping[str, Open]]
    fields: Mapping[str, object]
    said: str
    prefix: str
    ending: str
    bounded: Collection[str]
    statements: Sequence[Sequence[Mapping[str, Open]]] = ()
    words: Sequence[Sequence[Record]] = ()
    unread: Sequence[tuple[str, str]] = ()

    def of_statement(self, number: int, place: int) -> Record:
        """The cells of a statement's row; of citations in their order, a question mark where a word is missing."""
        words = self.words[number][place] if self.words else {}
        return {**words, **self.cells(self.statements[number][place])} if self.statements else {}

    def cells(self, values: Mapping[str, Open]) -> Record:
        """Values of an answer or a statement as the cells of its row."""
        row: dict[str, Scalar] = {}
        for column in self.columns:
            name, value = f"{self.prefix}{column.key}", values[column.key]
            row[f"{name}{self.ending}"] = value.value
            if column.key in self.bounded:
                row |= {f"{name}_least{self.ending}": value.least, f"{name}_most{self.ending}": value.most}
        return row


def judge_baselines(rated: RatedAnswers, backends: MakeBackends) -> list[ScoredBaseline]:
    """The values of every baseline that was asked for, by each of its judges.

    AutoAIS is judged by the decisions of metrics, LQAC by the chat model, AttrScore by the chat model or by a metric
    that gives probabilities of three classes.
    """
    reading, found = rated.reading, rated.found
    labelled = [_by_metric(rated, name) for name in reading.labellers.names]
    scored = [_autoais(rated, backend) for backend in backends()]
    if found.lqac is not None:
        scored += [_lqac(rated, found.lqac, aggregation) for aggregation in AGGREGATIONS]
    if found.attrscore is not None:
        otherwise = reading.baseline_options.otherwise
        fields = {**_asked(rated, [LABEL]), "otherwise": otherwise}
        said = f"as the chat model says; a reply with none of the three: {otherwise}"
        scored.append(_attrscore(rated, reading.judge.asking.model, found.attrscore, fields, said))
    return [*scored, *labelled]


def baseline_questions(rated: RatedAnswers, numbers: Sequence[int]) -> dict[str, int]:
    """What became of the questions that the baselines asked about some answers, by baseline and state."""
    found: Counter[str] = Counter()
    for name, answers in (("lqac", rated.found.lqac), ("attrscore", rated.found.attrscore)):
        for statement in (one for n in numbers for one in (answers[n] if answers is not None else ())):
            found.update({f"{name} questions: {state}": times for state, times in statement.states.items()})
    return dict(sorted(found.items()))


def baseline_sheets(
    rated: RatedAnswers, scored: Sequence[ScoredBaseline], around: Provenance, judge_note: Mapping[str, Note]
) -> list[Table]:
    """A sheet for each baseline that was asked for. judge_note: of those that the chat model judged."""
    names = dict.fromkeys(one.baseline for one in scored)
    return [_sheet(rated, [one for one in scored if one.baseline == name], around, judge_note) for name in names]


def _autoais(rated: RatedAnswers, backend: Backend) -> ScoredBaseline:
    reading = rated.reading
    triples = _supposed(rated, autoais(reading.run.answers, reading.splits, backend.entails))
    return ScoredBaseline(
        baseline="autoais",
        name=backend.name,
        columns=_TRIPLE,
        answers=[response_triple(own, rated.cited(n), reading.scenario) for n, own in enumerate(triples)],
        fields=backend.fields,
        said=f"supported from {backend.cutoff.value} on ({backend.cutoff.source})",
        prefix="autoais_",
        ending=f"_{backend.name}",
        bounded=("f1",),
        statements=triples,
        unread=truncation([backend]).items,
    )


def _asked(rated: RatedAnswers, kinds: Sequence[QuestionKind]) -> Mapping[str, Scalar]:
    """Fields of a baseline that the chat model judges."""
    prompts = [f"{kind.name}@{kind.prompt().fingerprint}" for kind in kinds]
    limit = rated.reading.baseline_options.baseline_max_tokens
    return asked_fields(rated.reading.judge.asking, rated.models, prompts, max_tokens=limit)


def _lqac(
    rated: RatedAnswers, answers: Sequence[Sequence[LqacStatement]], aggregation: LqacAggregation
) -> ScoredBaseline:
    reading, (name, said) = rated.reading, AGGREGATIONS[aggregation]
    # A statement has the same values in both ways: they stand under the first.
    first = aggregation == "statements"
    own_rows = answers if first else ()
    return ScoredBaseline(
        baseline="lqac",
        name=name,
        columns=_TRIPLE,
        answers=[
            lqac_response(own, rated.cited(number), reading.scenario, aggregation) for number, own in enumerate(answers)
        ],
        fields={**_asked(rated, KINDS), "aggregation": aggregation},
        said=said,
        prefix="lqac_" if first else "lqac_longcite_",
        ending="",
        bounded=("f1",),
        statements=[[one.values for one in own] for own in own_rows],
        words=[[_lqac_words(one) for one in own] for own in own_rows],
    )


def _lqac_words(one: LqacStatement) -> Record:
    relevant = ("?" if said is None else str(int(said)) for said in one.relevant)
    return {"lqac_said": one.verdict, "lqac_relevant": " ".join(relevant)}


def _attrscore(
    rated: RatedAnswers,
    name: str,
    judged: Sequence[Sequence[AttrStatement]],
    fields: Mapping[str, object],
    said: str,
    unread: Sequence[tuple[str, str]] = (),
) -> ScoredBaseline:
    otherwise = rated.reading.baseline_options.otherwise
    labels = Counter(label for own in judged for one in own for label in one.labels)
    reasons = {None: "got no label", UNREAD: "got none of the three", NO_PASSAGE: "of no passage with text"}
    unlabelled = [f"{count(labels[label], 'citation')} {why}" for label, why in reasons.items() if labels[label]]
    statements = _supposed(
        rated, [[{mode: one.value(mode, otherwise) for mode in MODES} for one in own] for own in judged]
    )
    return ScoredBaseline(
        baseline="attrscore",
        name=name,
        columns=_MODES,
        answers=[
            {
                mode: response_value([one[mode] for one in own], rated.cited(number), rated.reading.scenario)
                for mode in MODES
            }
            for number, own in enumerate(statements)
        ],
        fields=fields,
        said="; ".join([said, *unlabelled]),
        prefix="attrscore_",
        ending=f"_{name}",
        bounded=MODES,
        statements=statements,
        words=[
            [{f"attrscore_labels_{name}": "; ".join(label or "?" for label in one.labels)} for one in own]
            for own in judged
        ],
        unread=unread,
    )


def _supposed(rated: RatedAnswers, statements: Sequence[Sequence[Mapping[str, Open]]]) -> list[list[dict[str, Open]]]:
    """The values of statements; of what is missing, as the cited ones of the same system suggest."""
    answers = rated.reading.run.answers
    kinds = [[(answer.system, has) for has in rated.cited(number)] for number, answer in enumerate(answers)]
    names = next((list(one) for own in statements for one in own), [])
    points = {name: supposed([[one[name] for one in own] for own in statements], kinds) for name in names}
    return [
        [{name: points[name][number][place] for name in names} for place in range(len(own))]
        for number, own in enumerate(statements)
    ]


def _by_metric(rated: RatedAnswers, name: str) -> ScoredBaseline:
    """AttrScore with a metric's labels: the most_probable_label of its three classes, a citation at a time."""
    run = rated.reading.run
    metric = judge_of(name, rated.reading.labellers)

    def label(pairs: Sequence[NliPair]) -> list[str | None]:
        metric.prepare(*([*dict.fromkeys(texts)] for texts in zip(*pairs, strict=True)))
        found: list[str | None] = []
        for start in range(0, len(pairs), _PAIRS):
            sources, claims = zip(*pairs[start : start + _PAIRS], strict=True)
            found += [most_probable_label(ways) for ways in metric.entail(sources, claims)]
            if run.progress:
                run.progress(name, len(found), len(pairs))
        return found

    with plug_in(name):
        options = metric.identity()["options"]
        said = written_out(options)
        fields = {"backend": f"{name}@v{metric.card.version}" + (f"({said})" if said else ""), **metric.provenance()}
        limit = options.get("max_tokens") or metric.card.input_limit
        judged = attrscore_by_metric(run.answers, rated.reading.splits, label)
    # A metric that labels gives its classes without a word on what it cut.
    cut = f"pairs of more than {limit or 0:,} tokens may be cut; a metric that gives classes does not say how many were"
    unread = [] if limit is None else [(plain(name), cut)]
    return _attrscore(rated, name, judged, fields, "the most_probable_label of its three classes", unread)


def _sheet(
    rated: RatedAnswers, scored: Sequence[ScoredBaseline], around: Provenance, judge_note: Mapping[str, Note]
) -> Table:
    name, columns, panel = scored[0].baseline, scored[0].columns, rated.reading.run.panel
    title, stub = _NAMES[name]
    entries, answers, open_ = [], [], []
    records: list[Record] = []
    for one in scored:
        for place, system in enumerate(panel.systems):
            numbers = panel.rows(place).tolist()
            own = {c: _mean(rated, [one.answers[n][c.key] for n in numbers], numbers) for c in columns}
            ends = {column.key: (mean.value, mean.low, mean.high) for column, (mean, _) in own.items()}
            entries.append(Entry(system, one.name, ends))
            known = sorted({mean.answers for mean, _ in own.values()})
            answers.append(
                f"{' to '.join(f'{number:,}' for number in (known[0], *known[1:][-1:]))} of {len(numbers):,}"
            )
            # What the values could be, where a word is missing.
            missing = {column: (mean, *ends) for column, (mean, ends) in own.items() if ends[0] != ends[1]}
            if missing:
                said = [f"{c.label} {numeral(low, c)} to {numeral(high, c)}" for c, (_, low, high) in missing.items()]
                in_part = max(mean.undefined for mean, *_ in missing.values())
                of = f"(words are missing of up to {in_part:,} of {count(len(numbers), 'answer')})"
                open_.append((plain(f"{system}, {one.name}"), f"{', '.join(said)} {of}"))
            records += [
                {"system": system, stub: one.name, "measure": column.key, **asdict(mean)}
                | {"least": least, "most": most}
                for column, (mean, (least, most)) in own.items()
            ]
    notes = [
        judge_note.get(name, Note("judge", "")),
        Note("judged", "", tuple((plain(one.name), one.said) for one in scored)),
        Note("truncation", "", tuple(item for one in scored for item in one.unread)),
        Note("could be", _COULD_BE if open_ else "", tuple(open_)),
        Note("reading", _reading(rated, name)),
    ]
    made = replace(around, fields={**around.fields, "baseline": name}, judges=[one.fields for one in scored])

    def layout(frame: Table) -> Table:
        """With one more column: how many answers have a value, of each line."""
        grid = scores_grid(frame, columns, entries, kept={column.key for column in columns})
        lines = iter(answers)
        blocks = [
            replace(block, lines=tuple(replace(line, cells=(*line.cells, Cell(next(lines)))) for line in block.lines))
            for block in grid.blocks
        ]
        return replace(grid, headings=(*grid.headings, "answers"), blocks=tuple(blocks))

    return made.sheet(name, f"{title} of the same statements (%)", records, layout, notes)


def _reading(rated: RatedAnswers, name: str) -> str:
    full = rated.reading.scenario == "full"
    refusals = sum(result.no_answer for result in rated.found.results)
    said = _FULL[name] if full else _CITED
    if name == "autoais":
        said = f"not ALCE's: {_UNCITED if full else ''}a response is the mean over its statements; {said}"
    if not refusals:
        return said
    without = "a statement without citations" + (", which needs none" if name == "lqac" else "")
    return f"{said}; no answer was found in {count(refusals, 'answer')}: read as {without}"


def _mean(rated: RatedAnswers, values: Sequence[Open], numbers: Sequence[int]) -> tuple[SystemEstimate, _Bounds]:
    """The mean of a system's answers from all that is known of them, and the least and most that it can be.

    The estimate counts the answers of which nothing is missing.
    """
    run = rated.reading.run
    group, n_groups = group_codes([run.answers[number] for number in numbers])
    ends = ([getattr(one, end) for one in values if getattr(one, end) is not None] for end in ("least", "most"))
    least, most = (sum(own) / len(own) if own else None for own in ends)
    # Nothing is said of a system of which nothing but the bounds is known in one answer or more.
    settled = all(one.point is not None or one.least is None for one in values)
    points = means([one.point if settled else None for one in values])
    found = estimate(points, group, n_groups, resampling_of(run.config))
    whole = sum(one.value is not None for one in values)
    if found.value is not None and least is not None and most is not None:
        found = replace(found, value=min(max(found.value, least), most))  # rounding apart, it is there already
    return replace(found, answers=whole, undefined=len(values) - whole), (least, most)
