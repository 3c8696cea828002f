"""The steps of the pipelines `alce` and `aliice`: read and judge answers, and make tables, notes and rows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from metaeval.citation.alce.citations import PAPER, PROFILES, AlceProfile, read_alce
from metaeval.citation.alce.correctness import CLAIM_RECALL, MAUVE, claim_recalls, text_measures
from metaeval.citation.aliice.citation_lines import WITHIN, read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.citation_table import CitationLine, counts, find_profile, sentence_rows, unjudged
from metaeval.citation.data_model import Answer, answer_cells
from metaeval.citation.measures import Statistic, means, value_of
from metaeval.citation.pipelines import pipeline, provenance
from metaeval.citation.pipelines.alce_and_aliice import MEASURES, TEXT_MEASURES, TITLES, AliiceCommand
from metaeval.citation.pipelines.layout import Entry, IntervalEnds
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import Run
from metaeval.citation.pipelines.provenance import Provenance
from metaeval.citation.pipelines.ranking_tables import flip_sheets, ranking_sheets
from metaeval.citation.stated_answers import StatedAnswers
from metaeval.citation.system_comparison import Rankings, SystemPanel, panel_of, values_of
from metaeval.config import RunConfig
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.display_text import count
from metaeval.report.result import Column
from metaeval.report.table import Note, Record, Table, format_value, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.influence import COUNTS, SHARES

HEADLINES = RECALL, PRECISION, F1 = tuple(measure.column for measure in MEASURES)
_SOFT = "soft: recall is the mean score of claims, precision that of single citations"

_READ = (
    Column(key="statements", label="sentences", digits=1),
    Column(key="cvcp", label="CVCP"),
    Column(key=WITHIN, label="within %", scale=100, digits=1),
    Column(key="claims_per_sentence", label="claims/sentence", digits=2),
    Column(key="fallbacks", label="fallback %", scale=100, digits=1),
    Column(key="sentences", label="sentences", digits=1),
)
_SCORED = (*HEADLINES, *(measure.column for measure in TEXT_MEASURES if measure.key == CLAIM_RECALL))


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdicts of one backend. lines: the citation table. degrees: the lines that hold recall and precision.

    statistics: recall, precision, F1, and the recall of the references' claims where it was computed.
    """

    lines: Sequence[CitationLine]
    degrees: Sequence[CitationLine]
    statistics: Mapping[str, Statistic]


@dataclass(frozen=True, eq=False)
class CitedAnswers:
    """Answers of systems with their judgements by each backend. judged: in the order of `backends`.

    statistics: those that need no verdict. mauve: computes MAUVE of some answers (None: not wanted).
    """

    stated: StatedAnswers
    fields: Mapping[str, str]
    statistics: Mapping[str, Statistic]
    mauve: Callable[[Sequence[Answer]], float | None] | None
    config: RunConfig
    panel: SystemPanel
    backends: Sequence[Backend]
    judged: Sequence[Judged]

    @property
    def both(self) -> list[tuple[Backend, Judged]]:
        """Each backend with its judgements."""
        return list(zip(self.backends, self.judged, strict=True))


def judge(
    stated: StatedAnswers,
    backends: Iterable[Backend],
    config: RunConfig,
    wanted: Sequence[str] = (),
    splitter: SentenceSplitter = RULES,
    **models: str,
) -> CitedAnswers:
    """Return the answers with the judgements of each backend; one backend after the other is made and judges.

    wanted, models: see `text_measures`.
    """
    rules = stated.profile if isinstance(stated.profile, AlceProfile) else PAPER
    values, mauve, fields = text_measures(stated.answers, rules, splitter, wanted, **models)
    asks = (not wanted or CLAIM_RECALL in wanted) and any(each.reference.get("claims") for each in stated.answers)
    used, judged = [], []
    for backend in backends:
        lines, degrees = stated.judge(backend.entails, backend.soft)
        statistics = stated.measure(degrees)
        if asks and not backend.soft:
            statistics[CLAIM_RECALL] = means(claim_recalls(stated.answers, backend.entails, rules))
        judged.append(Judged(lines, degrees, statistics))
        used.append(backend)
    ranges = {key: COUNTS if key in ("length", "num_preds") else SHARES for key in values}
    statistics = {**stated.statistics, **{key: means(of, ranges[key]) for key, of in values.items()}}
    panel = panel_of(stated.answers, resampling_of(config))
    return CitedAnswers(stated, {**stated.fields, **fields}, statistics, mauve, config, panel, used, judged)


def citation_sheets(cited: CitedAnswers, name: str) -> list[Table]:
    """Return every table of a run, in reading order. name: of the data.

    Rankings need two backends and two systems, flips also two systems that change order.
    """
    around, compared = provenance_of(cited, name), rankings(cited)
    entries = [
        Entry(system, backend.name, cited.panel.ends(judged.statistics, number))
        for backend, judged in cited.both
        for number, system in enumerate(cited.panel.systems)
    ]
    scores = around.scores("citation-scores", "Citation recall and precision (%)", _SCORED, entries)
    ranked = ranking_sheets(compared, around, "rankings", "ranking-agreement")
    return [scores, _texts(cited, around), *ranked, *flip_sheets(compared, around)]


def rankings(cited: CitedAnswers) -> Rankings:
    """Return recall, precision and F1 of the systems with every backend."""
    return Rankings(
        panel=cited.panel,
        backends=[backend.name for backend in cited.backends],
        values={
            column.key: values_of(cited.panel, [judged.statistics[column.key] for judged in cited.judged])
            for column in HEADLINES
        },
        labels={column.key: column.label for column in HEADLINES},
        shares=dict(
            zip(
                ("recall", "precision"),
                zip(*(cited.stated.shares(judged.degrees) for judged in cited.judged), strict=True),
                strict=True,
            )
        ),
    )


def provenance_of(cited: CitedAnswers, name: str) -> Provenance:
    """Return the provenance that all tables share: settings, notes on verdicts and marks. name: of the data."""
    stated, panel, lines = cited.stated, cited.panel, cited.judged[0].lines
    marks, kind, unit = counts(lines), TITLES[stated.name], "sentence" if stated.name == "alce" else "claim"
    data = provenance.data_of(name, stated.name, stated.answers, marks["claims"], marks["marks"])
    both = [(backend.name, judged) for backend, judged in cited.both]
    # ALiiCE cuts no sentence where no citation is within a sentence.
    whole_sentences = []
    if WITHIN in cited.statistics and not any(cited.statistics[WITHIN].alone):
        whole_sentences = [
            "no citation is within a sentence: every claim is a whole sentence, and ALiiCE is sentence-level here"
        ]
    notes = (
        provenance.warning(panel, cited.backends, whole_sentences),
        provenance.data_note(panel, data, (data.statements, "claim"), (data.citations, "citation mark")),
        Note("settings", provenance.settings_text(cited.fields)),
        provenance.verdicts(cited.backends, _SOFT, "supported from {} on ({})"),
        Note(
            "recall",
            f"share of {unit}s that their citations support; precision: share of citations that support their {unit} "
            "and are needed",
        ),
        provenance.UNCHECKED,
        provenance.truncation(cited.backends),
        provenance.by_backend("not judged", ((name, missing_text(each.lines, "sentence")) for name, each in both)),
        provenance.by_backend("could be", ((name, _bounds(cited, each)) for name, each in both)),
        Note("marks", marks_text(lines)),
        provenance.uncertainty(cited.config.interval, data.groups),
    )
    return Provenance(
        data=data,
        kind=kind,
        subtitle=f"{plain(data.name)}, {kind}, profile {plain(cited.fields['profile'])}",
        fields=cited.fields,
        interval=cited.config.interval,
        judges=[backend.fields for backend in cited.backends],
        after=notes,
    )


def missing_text(lines: Sequence[CitationLine], unit: str) -> str:
    """Return, as text, how many lines have no verdict by reason, with the first ones; empty where none lacks one.

    unit: "sentence" or "statement": the unit whose number says where in its answer a line stands.
    """
    without = unjudged(lines)
    numbers = [line.sentence if unit == "sentence" else line.claim_number for line in without]
    first = [(line.answer, f"{unit} {number}", line.claim) for line, number in zip(without, numbers, strict=True)]
    reasons = Counter(line.reason for line in without)
    return provenance.reasons_text(reasons, count(len(lines), "line"), first) if without else ""


def row_tables(name: str, answers: Sequence[Record], lines: Sequence[CitationLine]) -> list[Table]:
    """Return the rows of a backend, called `name`: answers, sentences, and citations."""
    return [
        Table(name=f"answers:{name}", records=answers),
        Table(name=f"sentences:{name}", records=sentence_rows(lines)),
        Table(name=f"citations:{name}", records=[asdict(line) for line in lines]),
    ]


def _texts(cited: CitedAnswers, around: Provenance) -> Table:
    panel, entries = cited.panel, []
    for number, system in enumerate(panel.systems):
        values: dict[str, IntervalEnds] = dict(panel.ends(cited.statistics, number))
        if cited.mauve:
            values[MAUVE] = cited.mauve([panel.answers[row] for row in panel.rows(number)]), None, None
        entries.append(Entry(system, "", values))
    statements, *others = _READ
    if cited.fields.get("units") == "list items":
        statements = statements.model_copy(update={"label": "items"})
    columns = [statements, *others, *(measure.column for measure in TEXT_MEASURES)]
    return around.scores("answers", "The answers", columns, entries)


def _bounds(cited: CitedAnswers, judged: Judged) -> str:
    """Return, as text, recall and precision of each system with all missing verdicts negative, and all positive."""
    least, most = (cited.stated.measure(judged.degrees, missing) for missing in (0, 1))
    lacking = {line.answer for line in unjudged(judged.lines)}

    def ranges(system: int) -> list[str]:
        rows = cited.panel.rows(system)
        if not any(cited.panel.answers[row].id in lacking for row in rows):
            return []
        ends = {
            key: [format_value(value_of(end[key], rows), RECALL) for end in (least, most)]
            for key in ("recall", "precision")
        }
        return [f"{key} {worst} to {best}" for key, (worst, best) in ends.items()]

    return provenance.texts_by_system(cited.panel, ranges)


def marks_text(lines: Sequence[CitationLine]) -> str:
    """Return, as text, the number of uncited claims, and of marks not judged as written, by state and problem."""
    totals = counts(lines)
    states, problems = (
        {key.removeprefix(kind): value for key, value in totals.items() if key.startswith(kind)}
        for kind in ("marks: ", "problem: ")
    )
    wrong, first = provenance.counts_text(problems), next((line for line in lines if line.problem), None)
    if first is not None:
        wrong += f" (first: {first.answer}, offset {first.start})"
    uncited = totals["claims uncited"]
    parts = (
        f"uncited {uncited:,} of {count(totals['claims'], 'claim')}" if uncited else "",
        provenance.counts_text({key: value for key, value in states.items() if key not in ("judged", "unjudged")}),
        f"problems: {wrong}" if wrong else "",
    )
    return "; ".join(part for part in parts if part)


def read(run: Run) -> tuple[Run, StatedAnswers]:
    """Return the run, and its answers as its pipeline (ALCE or ALiiCE) reads them."""
    options = run.options
    chosen = {"leading": options.leading, "uncited": options.uncited}
    if isinstance(options, AliiceCommand):
        profile = aliice_profile(options.profile, **chosen)
        return run, read_aliice(run.answers, profile, run.splitter, options.parser)
    rules = replace(find_profile(PROFILES, options.profile, **chosen), units=options.units)
    return run, read_alce(run.answers, rules, run.splitter)


def lay_out(read: tuple[Run, StatedAnswers], backends: pipeline.MakeBackends) -> pipeline.Layout:
    """Return tables and rows of the answers, judged by the backends."""
    run, stated = read
    models = {"reader": run.options.reader, "mauve_model": run.options.mauve_model}
    cited = judge(stated, backends(), run.config, run.options.measures, run.splitter, **models)
    rows = [row_tables(each.name, answer_rows(cited, judged), judged.lines) for each, judged in cited.both]
    return pipeline.Layout(citation_sheets(cited, run.name), [table for tables in rows for table in tables])


def answer_rows(cited: CitedAnswers, judged: Judged) -> list[Record]:
    """Return one row (by column) per answer: its values, and numbers of claims and of what has no verdict."""
    recall, precision = cited.stated.shares(judged.degrees)
    values = {key: judged.statistics[key].alone for key in ("recall", "precision", "f1")}
    others = {key: statistic.alone for key, statistic in cited.statistics.items()}
    return [
        {
            **answer_cells(answer),
            **{key: column[row] for key, column in values.items()},
            "claims": recall[row].total,
            "claims_unjudged": recall[row].open,
            "citations_unjudged": precision[row].open,
            **{key: column[row] for key, column in others.items()},
        }
        for row, answer in enumerate(cited.panel.answers)
    ]
