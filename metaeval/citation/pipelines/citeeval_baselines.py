"""Answers as CiteEval's judge rates them, and its baselines AutoAIS, LQAC and AttrScore in tables and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from metaeval.citation.chat_models import ChatOptions, Spent, spent_on
from metaeval.citation.citeeval.baselines import (
    KINDS,
    LABEL,
    MODES,
    NO_PASSAGE,
    UNREAD,
    AttrStatement,
    Baseline,
    LqacStatement,
    Open,
    QuestionKind,
    attrscore_by_metric,
    autoais,
    modes_of,
    most_probable_label,
    prompts_of,
    response_triple,
    response_value,
    with_point_estimates,
)
from metaeval.citation.citeeval.citation_edits import Coefficients
from metaeval.citation.citeeval.evaluate_responses import CiteEvalResults
from metaeval.citation.citeeval.judge import Asking, asked_fields
from metaeval.citation.citeeval.options_and_values import (
    BaselineOptions,
    CitedScenario,
    CiteEvalOptions,
    changed_options,
)
from metaeval.citation.citeeval.splitting import Split
from metaeval.citation.data_model import NliPair
from metaeval.citation.measures import estimate, group_codes, means
from metaeval.citation.pipelines.alce import MEASURES
from metaeval.citation.pipelines.layout import Entry, scores_grid
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import MakeBackends, Run
from metaeval.citation.pipelines.provenance import Provenance, options_text, truncation
from metaeval.display_text import count
from metaeval.report.result import Column
from metaeval.report.table import Cell, Note, Record, Scalar, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.runs.loaded_metrics import LoadedMetrics, plug_in
from metaeval.runs.verdict_cutoffs import judge_of
from metaeval.stats.estimate import Estimate

_Bounds = tuple[float | None, float | None]
"""The lower and upper bound of a value."""

_PAIRS = 1024  # pairs between two reports of progress
_TRIPLE = tuple(measure.column for measure in MEASURES)
_MODES = tuple(Column(key=mode, label=mode, scale=100, digits=1) for mode in MODES)

_NAMES = {"autoais": ("AutoAIS", "backend"), "lqac": ("LQAC", "judge"), "attrscore": ("AttrScore", "judge")}
"""Title of each baseline, and heading of its judges."""

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
    "the means over all answers with every missing judgement against them, and for them; the means above assume that "
    "missing values are as the known ones of their kind in the same system"
)


@dataclass(frozen=True, eq=False)
class CiteEvalJudge:
    """CiteEval's judge: the chat model, its questions, and the options that turn its replies into numbers."""

    profile: str
    options: CiteEvalOptions
    asking: Asking
    chat: ChatOptions

    @property
    def changed(self) -> str:
        """The options that differ from the profile's."""
        return changed_options(self.profile, self.options)


@dataclass(frozen=True, eq=False)
class CiteEvalReading:
    """The answers cut into statements, and the run's baselines. splits: the statements of each answer.

    by_model: baselines that the chat model judges. labellers: metrics that give AttrScore's labels.
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
    """Answers with the ratings by CiteEval's judge.

    models: names of the judge's model as the server's replies give them.
    """

    reading: CiteEvalReading
    evaluated: CiteEvalResults
    models: Sequence[str]

    @property
    def answered_as(self) -> str:
        """The name of the judge's model in the replies, or in the requests where there is no reply."""
        return ", ".join(self.models) or self.reading.judge.asking.model

    def cited(self, number: int) -> list[bool]:
        """Return whether each statement of an answer has citations."""
        return [bool(statement.citations) for statement in self.reading.splits[number].statements]

    def spent(self, number: int) -> Spent:
        """Return tokens and cost of the replies about an answer."""
        return spent_on(self.evaluated.replies[number])


@dataclass(frozen=True, eq=False)
class ScoredBaseline:
    """The values of a baseline with one judge, called `name`.

    fields: fields of its signature. answers: the values of each answer, by column key. statements: the values of each
    statement of each answer, and words: texts beside them, such as labels. judged_by: text of the note on how it was
    judged. unread: items (judge, text) of the note on truncation. prefix, ending: of its columns' names in rows.
    bounded: keys of the columns whose least and most possible value, if a judgement is missing, are in the rows too.
    """

    baseline: str
    name: str
    columns: Sequence[Column]
    answers: Sequence[Mapping[str, Open]]
    fields: Mapping[str, object]
    judged_by: str
    prefix: str
    ending: str
    bounded: Collection[str]
    statements: Sequence[Sequence[Mapping[str, Open]]]
    words: Sequence[Sequence[Record]] = ()
    unread: Sequence[tuple[str, str]] = ()

    def of_statement(self, number: int, place: int) -> Record:
        """Return the row's cells for statement `place` of answer `number`."""
        words = self.words[number][place] if self.words else {}
        return {**words, **self.cells(self.statements[number][place])}

    def cells(self, values: Mapping[str, Open]) -> Record:
        """Return the values of an answer or a statement as cells of its row; None where a judgement is missing."""
        row: dict[str, Scalar] = {}
        for column in self.columns:
            name, value = f"{self.prefix}{column.key}", values[column.key]
            row[f"{name}{self.ending}"] = value.value
            if column.key in self.bounded:
                row |= {f"{name}_least{self.ending}": value.least, f"{name}_most{self.ending}": value.most}
        return row


def judge_baselines(rated: RatedAnswers, backends: MakeBackends) -> list[ScoredBaseline]:
    """Return each baseline of the run with each of its judges. backends: makes the metrics of AutoAIS.

    Metrics judge AutoAIS by decisions, the chat model judges LQAC, and the chat model or a metric with three classes
    judges AttrScore.
    """
    reading, evaluated = rated.reading, rated.evaluated
    labelled = [_by_metric(rated, name) for name in reading.labellers.names]
    scored = [_autoais(rated, backend) for backend in backends()]
    if evaluated.lqac is not None:
        scored.append(_lqac(rated, evaluated.lqac))
    if evaluated.attrscore is not None:
        otherwise = reading.baseline_options.otherwise
        fields = {**_asked(rated, [LABEL]), "otherwise": otherwise}
        judged_by = f"as the chat model says; a reply with none of the three: {otherwise}"
        scored.append(_attrscore(rated, reading.judge.asking.model, evaluated.attrscore, fields, judged_by))
    return [*scored, *labelled]


def baseline_questions(rated: RatedAnswers, numbers: Sequence[int]) -> dict[str, int]:
    """Return counts of the baselines' requests about the answers `numbers`, by "BASELINE questions: OUTCOME"."""
    totals: Counter[str] = Counter()
    for name, answers in (("lqac", rated.evaluated.lqac), ("attrscore", rated.evaluated.attrscore)):
        if answers is not None:
            states = sum((statement.states for n in numbers for statement in answers[n]), Counter[str]())
            totals.update({f"{name} questions: {state}": times for state, times in states.items()})
    return dict(sorted(totals.items()))


def baseline_sheets(
    rated: RatedAnswers, scored: Sequence[ScoredBaseline], around: Provenance, judge_note: Mapping[str, Note]
) -> list[Table]:
    """Return a table for each baseline. around: what all tables share. judge_note: on its judge, by baseline."""
    names = dict.fromkeys(baseline.baseline for baseline in scored)
    return [
        _sheet(rated, [baseline for baseline in scored if baseline.baseline == name], around, judge_note)
        for name in names
    ]


def _autoais(rated: RatedAnswers, backend: Backend) -> ScoredBaseline:
    reading = rated.reading
    triples = _estimated(rated, autoais(reading.run.answers, reading.splits, backend.entails))
    return ScoredBaseline(
        baseline="autoais",
        name=backend.name,
        columns=_TRIPLE,
        answers=[response_triple(values, rated.cited(n), reading.scenario) for n, values in enumerate(triples)],
        fields=backend.fields,
        judged_by=f"supported from {backend.cutoff.value} on ({backend.cutoff.source})",
        prefix="autoais_",
        ending=f"_{backend.name}",
        bounded=("f1",),
        statements=triples,
        unread=truncation([backend]).items,
    )


def _asked(rated: RatedAnswers, kinds: Sequence[QuestionKind]) -> Mapping[str, Scalar]:
    """Return the signature fields of a baseline that the chat model judges. kinds: of its questions."""
    limit = rated.reading.baseline_options.baseline_max_tokens
    return asked_fields(rated.reading.judge.asking, rated.models, prompts_of(kinds), max_tokens=limit)


def _lqac(rated: RatedAnswers, answers: Sequence[Sequence[LqacStatement]]) -> ScoredBaseline:
    statements = [[statement.values for statement in answer] for answer in answers]
    return ScoredBaseline(
        baseline="lqac",
        name=rated.reading.judge.asking.model,
        columns=_TRIPLE,
        answers=[response_triple(row, rated.cited(n), rated.reading.scenario) for n, row in enumerate(statements)],
        fields=_asked(rated, KINDS),
        judged_by="each measure is the mean over statements",
        prefix="lqac_",
        ending="",
        bounded=("f1",),
        statements=statements,
        words=[[_lqac_words(statement) for statement in answer] for answer in answers],
    )


def _lqac_words(statement: LqacStatement) -> Record:
    relevant = ("?" if verdict is None else str(int(verdict)) for verdict in statement.relevant)
    return {"lqac_said": statement.verdict, "lqac_relevant": " ".join(relevant)}


def _attrscore(
    rated: RatedAnswers,
    name: str,
    judged: Sequence[Sequence[AttrStatement]],
    fields: Mapping[str, object],
    judged_by: str,
    unread: Sequence[tuple[str, str]] = (),
) -> ScoredBaseline:
    otherwise = rated.reading.baseline_options.otherwise
    labels = Counter(label for answer in judged for statement in answer for label in statement.labels)
    reasons = {None: "got no label", UNREAD: "got none of the three", NO_PASSAGE: "of no passage with text"}
    unlabelled = [f"{count(labels[label], 'citation')} {why}" for label, why in reasons.items() if labels[label]]
    values: list[list[Mapping[str, Open]]] = [
        [modes_of(statement.labels, otherwise) for statement in answer] for answer in judged
    ]
    statements = _estimated(rated, values)
    return ScoredBaseline(
        baseline="attrscore",
        name=name,
        columns=_MODES,
        answers=[
            {
                mode: response_value(
                    [statement[mode] for statement in answer], rated.cited(number), rated.reading.scenario
                )
                for mode in MODES
            }
            for number, answer in enumerate(statements)
        ],
        fields=fields,
        judged_by="; ".join([judged_by, *unlabelled]),
        prefix="attrscore_",
        ending=f"_{name}",
        bounded=MODES,
        statements=statements,
        words=[
            [
                {f"attrscore_labels_{name}": "; ".join(label or "?" for label in statement.labels)}
                for statement in answer
            ]
            for answer in judged
        ],
        unread=unread,
    )


def _estimated(rated: RatedAnswers, statements: Sequence[Sequence[Mapping[str, Open]]]) -> list[list[dict[str, Open]]]:
    """Return values with point estimates of missing ones: the mean of the system's cited, or uncited, statements."""
    answers = rated.reading.run.answers
    kinds = [[(answer.system, has) for has in rated.cited(number)] for number, answer in enumerate(answers)]
    names = next((list(values) for row in statements for values in row), [])
    points = {
        name: with_point_estimates([[values[name] for values in row] for row in statements], kinds) for name in names
    }
    return [
        [{name: points[name][number][place] for name in names} for place in range(len(row))]
        for number, row in enumerate(statements)
    ]


def _by_metric(rated: RatedAnswers, name: str) -> ScoredBaseline:
    """Return AttrScore with a metric's labels: the most probable of its three classes, citation by citation."""
    run = rated.reading.run
    metric = judge_of(name, rated.reading.labellers)

    def label(pairs: Sequence[NliPair]) -> list[str | None]:
        metric.prepare(*([*dict.fromkeys(texts)] for texts in zip(*pairs, strict=True)))
        labels: list[str | None] = []
        for start in range(0, len(pairs), _PAIRS):
            sources, claims = zip(*pairs[start : start + _PAIRS], strict=True)
            labels += [most_probable_label(ways) for ways in metric.entail(sources, claims)]
            if run.progress:
                run.progress(name, len(labels), len(pairs))
        return labels

    with plug_in(name):
        options = metric.identity()["options"]
        text_of_options = options_text(options)
        fields = {
            "backend": f"{name}@v{metric.card.version}" + (f"({text_of_options})" if text_of_options else ""),
            **metric.provenance(),
        }
        limit = options.get("max_tokens") or metric.card.input_limit
        judged = attrscore_by_metric(run.answers, rated.reading.splits, label)
    # Class probabilities come without counts of truncated tokens.
    cut = f"pairs of more than {limit or 0:,} tokens may be cut; a metric that gives classes does not say how many were"
    unread = [] if limit is None else [(plain(name), cut)]
    return _attrscore(rated, name, judged, fields, "the most probable of its three classes", unread)


def _sheet(
    rated: RatedAnswers, scored: Sequence[ScoredBaseline], around: Provenance, judge_note: Mapping[str, Note]
) -> Table:
    name, columns, panel = scored[0].baseline, scored[0].columns, rated.reading.run.panel
    title, stub = _NAMES[name]
    entries, answers, open_ = [], [], []
    records: list[Record] = []
    for result in scored:
        for place, system in enumerate(panel.systems):
            numbers = panel.rows(place).tolist()
            by_column = {c: _mean(rated, [result.answers[n][c.key] for n in numbers], numbers) for c in columns}
            ends = {column.key: (mean.value, mean.low, mean.high) for column, (mean, _) in by_column.items()}
            entries.append(Entry(system, result.name, ends))
            known = sorted({mean.n or 0 for mean, _ in by_column.values()})
            answers.append(
                f"{' to '.join(f'{number:,}' for number in (known[0], *known[1:][-1:]))} of {len(numbers):,}"
            )
            # The bounds of the values, where a judgement is missing.
            missing = {column: (mean, *ends) for column, (mean, ends) in by_column.items() if ends[0] != ends[1]}
            if missing:
                ranges = [
                    f"{c.label} {format_value(low, c)} to {format_value(high, c)}"
                    for c, (_, low, high) in missing.items()
                ]
                in_part = max(len(numbers) - (mean.n or 0) for mean, *_ in missing.values())
                of = f"(judgements are missing in up to {in_part:,} of {count(len(numbers), 'answer')})"
                open_.append((plain(f"{system}, {result.name}"), f"{', '.join(ranges)} {of}"))
            records += [
                {"system": system, stub: result.name, "measure": column.key}
                | {"value": mean.value, "low": mean.low, "high": mean.high}
                | {"answers": mean.n, "undefined": len(numbers) - (mean.n or 0), "least": least, "most": most}
                for column, (mean, (least, most)) in by_column.items()
            ]
    notes = [
        judge_note.get(name, Note("judge", "")),
        Note("judged", "", tuple((plain(result.name), result.judged_by) for result in scored)),
        Note("truncation", "", tuple(item for result in scored for item in result.unread)),
        Note("could be", _COULD_BE if open_ else "", tuple(open_)),
        Note("reading", _reading(rated, name)),
    ]
    provenance = replace(
        around, fields={**around.fields, "baseline": name}, judges=[result.fields for result in scored]
    )

    grid, lines = scores_grid(columns, entries, kept={column.key for column in columns}), iter(answers)
    # The last column is the number of answers that have a value.
    blocks = [
        replace(block, lines=tuple(replace(line, cells=(*line.cells, Cell(next(lines)))) for line in block.lines))
        for block in grid.blocks
    ]
    grid = replace(grid, headings=(*grid.headings, "answers"), blocks=tuple(blocks))
    return provenance.sheet(name, f"{title} of the same statements (%)", records, grid, notes)


def _reading(rated: RatedAnswers, name: str) -> str:
    full = rated.reading.scenario == "full"
    refusals = sum(result.no_answer for result in rated.evaluated.results)
    text = _FULL[name] if full else _CITED
    if name == "autoais":
        text = f"not ALCE's: {_UNCITED if full else ''}a response is the mean over its statements; {text}"
    if not refusals:
        return text
    without = "a statement without citations" + (", which needs none" if name == "lqac" else "")
    return f"{text}; no answer was found in {count(refusals, 'answer')}: read as {without}"


def _mean(rated: RatedAnswers, values: Sequence[Open], numbers: Sequence[int]) -> tuple[Estimate, _Bounds]:
    """Return the estimated mean of `values` over a system's answers (`numbers`), and its bounds (least, most).

    A missing value counts by its point estimate; undefined ones are left out. `n` counts the known ones.
    """
    run = rated.reading.run
    group, n_groups = group_codes([run.answers[number] for number in numbers])
    ends = ([getattr(value, end) for value in values if getattr(value, end) is not None] for end in ("least", "most"))
    least, most = (sum(limits) / len(limits) if limits else None for limits in ends)
    # A system has no estimate where an answer is known only by its bounds.
    settled = all(value.point is not None or value.least is None for value in values)
    points = means([value.point if settled else None for value in values])
    mean = estimate(points, group, n_groups, resampling_of(run.config))
    whole = sum(value.value is not None for value in values)
    if mean.value is not None and least is not None and most is not None:
        mean = replace(mean, value=min(max(mean.value, least), most))  # it is out only by rounding
    return replace(mean, n=whole), (least, most)
