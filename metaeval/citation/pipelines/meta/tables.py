"""The tables of a meta-evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from metaeval.citation.citeeval.evaluate_responses import SCENARIOS, CiteEvalMeasure
from metaeval.citation.human import agreement
from metaeval.citation.human.benchmark_statistics import bench_statistics
from metaeval.citation.human.rated_statements import Level
from metaeval.citation.pipelines.layout import TableLines
from metaeval.citation.pipelines.provenance import Provenance, data_of, ranking_intervals, uncertainty
from metaeval.display_text import count
from metaeval.files import sha256_json
from metaeval.report.result import Column, Data
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import UNDEFINED, Note, Record, Scalar, Table, format_value, known, plain, share
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.estimate import Estimate

if TYPE_CHECKING:
    from metaeval.citation.pipelines.meta.run import Compared

_JUDGED: Mapping[str, CiteEvalMeasure] = {
    "citeeval:auto": "auto",
    "citeeval:rating": "rating",
    "citeeval:edits": "edits",
}

CORRELATIONS = (
    Column(key="pearson", label="Pearson"),
    Column(key="spearman", label="Spearman"),
    Column(key="kendall", label="Kendall"),
)


def provenance(meta: Compared) -> Provenance:
    """Return the provenance that all tables share: data, rules, notes, and a signature for each measure."""
    answers = [rated.answer for rated in meta.human.answers]
    ratings = [
        [[statement.start, statement.end, *statement.ratings] for statement in answer.statements]
        for answer in meta.human.answers
    ]
    data = data_of(meta.name, "people", answers, sum(map(len, ratings)), citations=0)
    data = data.model_copy(update={"fingerprint": sha256_json([data.fingerprint, ratings])})
    return Provenance(
        data=data,
        kind="meta",
        subtitle=f"{plain(data.name)}, citation pipelines against people",
        fields={**meta.config.dataset_options},
        interval=meta.config.interval,
        judges=[{"column": measurement.name, **measurement.fields} for measurement in meta.measured],
        after=_notes(meta, data),
    )


def _notes(meta: Compared, data: Data) -> tuple[Note, ...]:
    """Return the footer: ratings, what is left out, rules, verdicts, truncation, bounds, and intervals."""
    human, gaps = meta.human, meta.options.gaps
    rated = sum(rating is not None for answer in human.answers for rating in answer.ratings)
    data_text = f"{count(len(human.answers), 'answer')}, {count(data.groups, 'group')}; "
    data_text += (
        f"{count(rated, 'rated statement')} of {data.statements:,}; {count(human.annotators, 'annotator')} each"
    )
    if human.annotators < 2:
        data_text += ", so that no agreement between annotators is known"
    dropped = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    filled = "is left out" if gaps == "left out" else "takes its response's, on each side by itself"
    rules = f"a statement without a value {filled}; a response without any "
    rules += "has 1" if gaps == "full marks" else "is left out"
    rules += "; a response's value is the pipeline's own; correlations leave out rows without a value, and their "
    rules += "bounds (§) give values to all of these: where a verdict is missing, and where the pipeline gives none"
    if meta.options.scenario == "cited":
        rules += "; scenario cited: statements without citations have no rating, and CiteEval gives them no value"
    verdicts, cut = [], []
    for use, backend in meta.backends:
        label, source = f"{plain(backend.name)}, {use}" if use else plain(backend.name), backend.cutoff.source
        as_it_is = "scores as they are" + ("" if source == "as it is" else f" ({source})")
        from_on = as_it_is if backend.cutoff.value is None else f"supported from {backend.cutoff.value:g} on ({source})"
        verdicts.append((label, from_on))
        if backend.ledger.cut_pairs:
            longer = share(backend.ledger.cut_pairs, backend.ledger.pairs)
            cut.append((label, f"{longer} of pairs are longer than the metric reads"))
    return (
        Note("data", data_text),
        Note("left out", ", ".join([*dropped, *(f"{unit}: {plain(why)}" for unit, why in meta.left_out)])),
        Note("rules", rules),
        Note("verdicts", "", tuple(verdicts)),
        Note("truncation", "", tuple(cut)),
        Note("could be", "", could_be(meta)),
        uncertainty(meta.config.interval),
    )


def could_be(meta: Compared) -> tuple[tuple[str, str], ...]:
    """Return (measure, text) for each measure that lacks verdicts: its mean over responses, and its possible range."""
    items = []
    for level in meta.levels:
        for each in meta.measured if level.unit == "responses" else ():
            is_open = level.values[each.name]["reason"].notna().sum() if each.name in level.values else 0
            if is_open:
                mean, least, most = (format_value(value, THREE) for value in level.mean_ends(each.name))
                ends = f"with every missing verdict against it or for it {least} to {most}"
                ends += f", {each.assumed}" if each.assumed else ""
                ends = "its range is not known" if least == UNDEFINED else ends
                of = f"({is_open:,} of {len(level.ratings.rows):,} responses)"
                items.append((plain(each.name), f"mean {mean}; {ends} {of}"))
    return tuple(items)


def meta_sheets(meta: Compared) -> list[Table]:
    """Return every table, in reading order; a name with a slash puts it in a folder."""
    around, human, tables = provenance(meta), meta.human, list[Table]()

    def add(
        name: str,
        title: str,
        records: Iterable[Record],
        stub: str,
        columns: Sequence[str | Column],
        block: str = "",
        notes: Sequence[Note] = (),
    ) -> None:
        """Add a table with a line for each record, unless there is none.

        stub: field that names a line, and its heading. columns: fields of counts, and of values. block: template of a
        line's block, with fields in braces.
        """
        lines = TableLines()
        for record in records:
            cells = [
                f"{record[column]:,}"
                if isinstance(column, str)
                else cell(*(_number(record, f"{column.key}{end}") for end in ("", "_low", "_high")), column)
                for column in columns
            ]
            lines.add(block.format_map(record), str(record[stub]), cells, record)
        labels = [column.replace("_", " ") if isinstance(column, str) else column.label for column in columns]
        if lines.records:
            tables.append(around.lines(name, title, (stub, *labels), lines, notes))

    for level in meta.levels:
        unit, within = level.unit, f"Agreement with people within each system, over {level.unit}"
        if len(level.systems) > 1:  # a single system has no ranking
            add(
                f"{unit}/within-systems", within, _within(meta, level), "measure", _TWO_DIGITS, "{system}, {of} " + unit
            )
        if len(level.systems) > 1 and unit == "responses":
            title, pairs = "Systems as people and as measures rate them", comb(len(level.systems), 2)
            text = (
                f"means over {unit}; tau: Kendall's tau-b, of a measure's means with people's over the same {unit}; "
                f"{count(len(level.systems), 'system')} make {count(pairs, 'pair')}, and no p-value is made of so few"
            )
            notes = [Note("reading", text), ranking_intervals(around.interval)]
            columns = [*(Column(key=name, label=plain(name)) for name in level.systems), _TAU]
            add("responses/systems", title, _systems(meta, level), "measure", columns, notes=notes)
    ends = [Column(key=key, label=key) for key in ("value", "least", "most")]
    lacking = "Responses whose value lacks a verdict, and what it could be"
    add("responses/could-be", lacking, _open(meta), "answer", ends, "{measure}")
    if human.people:
        held = [
            "queries",
            "responses",
            "statements",
            "cited",
            "citations",
            "rated",
            Column(key="rating", label="rating"),
        ]
        text = "cited, rated: statements with a citation, with a rating; rating: its mean over statements"
        statistics = bench_statistics(human)
        add(
            "citebench-statistics",
            "What the benchmark holds",
            statistics,
            "system",
            held,
            notes=[Note("reading", text)],
        )
        columns = [*CORRELATIONS, "rows", "left_out"]
        block, title = "scenario {scenario}, {level}", "Agreement with people, by CiteEval's procedure"
        add("citebench", title, _agreements(meta), "measure", columns, block, [_BY_CITEEVAL])
        if meta.rated:
            title, block = "What a statement rests on: F1 by context", "binary {binary}, forced {forced}"
            columns = [*(Column(key=key, label=key) for key in ("precision", "recall", "f1")), "statements"]
            add("citebench-contexts", title, _contexts(meta), "class", columns, block, [_CONTEXTS])
            title, block = "What a statement rests on: people and the judge", "people: {people}"
            add("citebench-confusion", title, _confusion(meta), "judge", ["count"], block)
    alphas = [
        {"what": name, **alpha.record("alpha"), "units": number}
        for name, (alpha, number) in agreement.alphas(human, resampling_of(meta.config)).items()
    ]
    title = "Agreement between annotators (Krippendorff's alpha)"
    add("annotators", title, alphas, "what", [Column(key="alpha", label="alpha"), "units"])
    title = "What the pipelines give a value to"
    add("measures", title, _measures(meta), "measure", _COUNTS, "{of} rated {level}", [_VALUES])
    return tables


_TWO_DIGITS = [column.model_copy(update={"digits": 2}) for column in CORRELATIONS]
_TAU = Column(key="tau", label="tau-b", digits=2)  # few systems are ranked
_COUNTS = ("valued", "no_value", "missing", "valued_in_part", "sentences_outside_statements")
_VALUES = Note(
    "reading",
    "no value: the pipeline gives such a row none; missing: a verdict is; valued in part: the value, of the answer, "
    "leaves out missing verdicts; outside: sentences of a pipeline that share no character with a statement",
)
_BY_CITEEVAL = Note(
    "reading",
    "as CiteEval publishes: the statements of all responses together; one without a value takes its response's, on "
    "each side by itself; a response is the mean over its statements, 1 without any; cited: the values of "
    "statements without citations are masked, people's and CiteEval's own (those of other measures stay), and a "
    "response that this leaves without a value is 0; left out: responses with a value that a judge left missing, "
    "and the statements that would take it",
)
_CONTEXTS = Note(
    "reading",
    "binary: retrieval or not, as published; forced: cited statements count as retrieval, as published; a statement "
    "has the context that more than half of the annotators give; macro: the mean F1 over the contexts that people or "
    "the judge use",
)


def _number(record: Record, key: str) -> float | None:
    value = record.get(key)
    return value if isinstance(value, int | float) else None


def _measures(meta: Compared) -> Iterator[Record]:
    """Yield the numbers of rated statements and responses with a value of a measure, or without by reason."""
    for level in meta.levels:
        for name, found in level.values.items():
            valued, lacking = found["value"].notna(), found["reason"].notna()
            numbers = (valued, ~valued & ~lacking, ~valued & lacking, valued & lacking)
            outside = meta.aligned[name][1] if name in meta.aligned else 0
            means = dict(zip(("mean", "mean_least", "mean_most"), map(known, level.mean_ends(name)), strict=True))
            counts = dict(zip(_COUNTS, [*(int(each.sum()) for each in numbers), outside], strict=True))
            yield {"level": level.unit, "measure": name, "of": len(found), **counts, **means}


def _open(meta: Compared) -> Iterator[Record]:
    """Yield the responses whose value lacks a verdict, with its bounds."""
    for level in meta.levels:
        for name, found in level.values.items() if level.unit == "responses" else ():
            for row, each in zip(level.ratings.rows, found.itertuples(), strict=True):
                if isinstance(each.reason, str):
                    ends = (known(each.value), *map(known, (each.worst, each.best)))
                    yield {
                        "answer": row.id,
                        "measure": name,
                        **dict(zip(("value", "least", "most"), ends, strict=True)),
                    }


def _within(meta: Compared, level: Level) -> Iterator[Record]:
    """Yield the correlations with people within each system."""
    for system, measure, rows, of, correlations in agreement.within_systems(level, resampling_of(meta.config)):
        record: dict[str, Scalar] = {"system": system, "measure": measure, "rows": rows, "of": of}
        for name, interval in correlations.items():
            record |= interval.record(name)
        yield record


def _systems(meta: Compared, level: Level) -> Iterator[Record]:
    """Yield the systems' mean ratings and mean values, and the agreement of their rankings."""
    people, measures = agreement.over_systems(level, resampling_of(meta.config))
    for name, (means, tau) in {"people": (people, Estimate(None)), **measures}.items():
        yield {"measure": name, **dict(zip(level.systems, means, strict=True)), **tau.record("tau")}


def _agreements(meta: Compared) -> Iterator[Record]:
    """Yield the agreement with people by CiteEval's procedure."""
    human, answers = meta.human, [rated.answer for rated in meta.human.answers]
    cited = [[bool(each.citations) for each in human.splits[answer.id].statements] for answer in answers]
    starts = np.cumsum([len(each.statements) for each in human.answers])[:-1]
    for scenario, measurement in product(SCENARIOS, meta.measured):
        if measurement.name not in meta.aligned:
            continue
        judged = _JUDGED.get(measurement.name)
        if judged:
            agreed = agreement.agreement(
                answers, meta.rated, human.people, judged, scenario, resampling_of(meta.config)
            )
        else:
            found = meta.aligned[measurement.name][0]
            values = [[*map(known, part)] for part in np.split(found["value"].to_numpy(), starts)]
            missing = [part.tolist() for part in np.split(found["reason"].notna().to_numpy(), starts)]
            agreed = agreement.agreement_of(
                answers, values, missing, cited, human.people, scenario, resampling_of(meta.config)
            )
        for unit, correlations, rows, left_out in (
            ("statements", agreed.statements, agreed.n_statements, agreed.statements_left_out),
            ("responses", agreed.responses, agreed.n_responses, agreed.responses_left_out),
        ):
            record: dict[str, Scalar] = {"scenario": scenario, "measure": measurement.name, "level": unit}
            for name, interval in correlations.items():
                record |= interval.record(name)
            yield {**record, "rows": rows, "left_out": left_out}


def _contexts(meta: Compared) -> Iterator[Record]:
    """Yield F1 of each context, of the two classes that are published and of all four."""
    contexts = agreement.contexts_of(meta.rated, meta.human.people)
    for binary, forced in product((True, False), (True, False)):
        classes, counts, left_out = agreement.context_counts(contexts, forced, binary)
        shared: dict[str, Scalar] = {"binary": binary, "forced": forced, "left_out": left_out}
        scores = agreement.class_scores(counts)
        for number, name in enumerate(classes):
            values = {key: known(column[number]) for key, column in scores.items()}
            yield {**shared, "class": name, **values, "statements": int(counts[number].sum())}
        macro = {"class": "macro", "precision": None, "recall": None, "f1": known(agreement.macro_f1(counts))}
        yield {**shared, **macro, "statements": int(counts.sum())}


def _confusion(meta: Compared) -> Iterator[Record]:
    """Yield the cells of the confusion matrix of the four contexts."""
    contexts = agreement.contexts_of(meta.rated, meta.human.people)
    classes, counts, _ = agreement.context_counts(contexts, forced=False, binary=False)
    for (gold, label), number in np.ndenumerate(counts):
        yield {"people": classes[gold], "judge": classes[label], "count": int(number)}
