"""The tables of a meta-evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.citation.citeeval.evaluate_responses import CiteEvalMeasure
from metaeval.citation.citeeval.options_and_values import SCENARIOS
from metaeval.citation.human import agreement
from metaeval.citation.human.benchmark_statistics import bench_statistics
from metaeval.citation.human.rated_statements import Level, known
from metaeval.citation.pipelines import provenance
from metaeval.citation.pipelines.layout import TableLines
from metaeval.display_text import count
from metaeval.files import sha256_json
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Table, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.stats.estimate import Estimate

if TYPE_CHECKING:
    from metaeval.citation.pipelines.meta.run import Compared

Rows = Iterator[dict[str, Any]]

_JUDGED: Mapping[str, CiteEvalMeasure] = {
    "citeeval:auto": "auto",
    "citeeval:rating": "rating",
    "citeeval:edits": "edits",
}
_CORRELATIONS = ("pearson", "spearman", "kendall")
_COUNTS = ("valued", "no_value", "missing", "valued_in_part", "sentences_outside_statements")
_MEANS = ("mean", "mean_least", "mean_most")
_READINGS = {
    "responses/systems": "means; tau: Kendall's tau-b of a measure's means with people's of the same responses; its "
    "interval is of percentiles, since rankings change in steps, and no p-value is made of few systems",
    "responses/could-be": "with every missing verdict against the measure, or for it; a sentence whose facts are "
    "missing is taken to state one",
    "measures": "no value: the pipeline gives such a row none; missing: a verdict is; valued in part: the value of the "
    "answer leaves out missing verdicts; outside: sentences of a pipeline that share no character with a statement; "
    "mean: with its range over the ways in which missing verdicts may fall",
    "citebench-statistics": "cited, rated: statements with a citation, with a rating; rating: its mean over statements",
    "citebench": "as CiteEval publishes: the statements of all responses together; one without a value takes its "
    "response's, on each side by itself; a response is the mean over its statements, 1 without any; cited: the values "
    "of statements without citations are masked, people's and CiteEval's own (those of other measures stay), and a "
    "response that this leaves without a value is 0; left out: responses with a value that a judge left missing, and "
    "the statements that would take it",
    "citebench-contexts": "binary: retrieval or not; forced: cited statements count as retrieval (both as published); "
    "a statement has the context that more than half of the annotators give; macro: the mean F1 over the contexts that "
    "people or the judge use",
}


def meta_sheets(meta: Compared) -> list[Table]:
    """Return every table, in reading order; a name with a slash puts it in a folder."""
    around, human, tables = _provenance(meta), meta.human, list[Table]()

    def add(name: str, title: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], block: str = "") -> None:
        """Add a table with a line for each of `rows`, unless there is none.

        columns: fields that are printed, the first of them the line's name. block: template of the title of a line's
        block, with fields in braces.
        """
        lines, (stub, *keys) = TableLines(), columns
        for row in rows:
            cells = [
                f"{row[key]:,}"
                if isinstance(row[key], int)
                else cell(row[key], row.get(f"{key}_low"), row.get(f"{key}_high"))
                for key in keys
            ]
            lines.add(block.format_map(row), str(row[stub]), cells, row)
        notes = [Note("reading", _READINGS.get(name, ""))]
        if lines.records:
            tables.append(around.lines(name, title, [key.replace("_", " ") for key in columns], lines, notes))

    for level in meta.levels:
        if len(level.systems) > 1:  # a single system has no ranking
            title, block = f"Agreement with people within each system, over {level.unit}", "{system}, {of} rows"
            add(f"{level.unit}/within-systems", title, _within(meta, level), ("measure", *_CORRELATIONS), block)
        if len(level.systems) > 1 and level.unit == "responses":
            columns = ("measure", *level.systems, "tau")
            add("responses/systems", "Systems as people and as measures rate them", _systems(meta, level), columns)
    title = "Responses that lack a verdict, and what their value could be"
    add("responses/could-be", title, _open(meta), ("answer", "value", "least", "most"), "{measure}")
    if human.people:
        columns = ("system", "queries", "responses", "statements", "cited", "citations", "rated", "rating")
        add("citebench-statistics", "What the benchmark holds", bench_statistics(human), columns)
        columns, block = ("measure", *_CORRELATIONS, "rows", "left_out"), "scenario {scenario}, {level}"
        add("citebench", "Agreement with people, by CiteEval's procedure", _agreements(meta), columns, block)
        if meta.rated:
            columns, block = ("class", "precision", "recall", "f1", "statements"), "binary {binary}, forced {forced}"
            add("citebench-contexts", "What a statement rests on: F1 by context", _contexts(meta), columns, block)
            columns = ("judge", "count")
            add("citebench-confusion", "What a statement rests on", _confusion(meta), columns, "people: {people}")
    alphas = [
        {"what": name, **alpha.record("alpha"), "units": number}
        for name, (alpha, number) in agreement.alphas(human, resampling_of(meta.config)).items()
    ]
    add("annotators", "Agreement between annotators (Krippendorff's alpha)", alphas, ("what", "alpha", "units"))
    block = "{of} rated {level}"
    add("measures", "What the pipelines give a value to", _measures(meta), ("measure", *_COUNTS, *_MEANS), block)
    return tables


def _provenance(meta: Compared) -> provenance.Provenance:
    """Return what all tables share: data, rules, notes, and a signature for each measure."""
    human, options = meta.human, meta.options
    ratings = [[[each.start, each.end, *each.ratings] for each in rated.statements] for rated in human.answers]
    answers = [rated.answer for rated in human.answers]
    data = provenance.data_of(meta.name, "people", answers, sum(map(len, ratings)), citations=0)
    data = data.model_copy(update={"fingerprint": sha256_json([data.fingerprint, ratings])})
    rated = sum(rating is not None for answer in human.answers for rating in answer.ratings)
    held = f"{count(len(answers), 'answer')}, {count(data.groups, 'group')}; {count(rated, 'rated statement')} of "
    held += f"{data.statements:,}; {count(human.annotators, 'annotator')} each"
    if human.annotators < 2:
        held += ", so that no agreement between annotators is known"
    left_out = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    left_out += [f"{unit}: {plain(why)}" for unit, why in meta.left_out]
    rules = "a statement without a value "
    rules += "is left out" if options.gaps == "left out" else "takes its response's, on each side by itself"
    rules += (
        f"; a response without any {'has 1' if options.gaps == 'full marks' else 'is left out'}; a response's value "
    )
    rules += "is the pipeline's own; correlations leave out rows without a value, and their bounds (§) give values to "
    rules += "all of these: where a verdict is missing, and where the pipeline gives none"
    if options.scenario == "cited":
        rules += "; scenario cited: statements without citations have no rating, and CiteEval gives them no value"
    backends = [replace(each, name=f"{each.name}, {use}" if use else each.name) for use, each in meta.backends]
    return provenance.Provenance(
        data=data,
        kind="meta",
        subtitle=f"{plain(data.name)}, citation pipelines against people",
        fields={**meta.config.dataset_options},
        interval=meta.config.interval,
        judges=[{"column": measurement.name, **measurement.fields} for measurement in meta.measured],
        after=(
            Note("data", held),
            Note("left out", ", ".join(left_out)),
            Note("rules", rules),
            provenance.verdicts(backends, "scores as they are", "supported from {} on ({})"),
            provenance.truncation(backends),
            provenance.uncertainty(meta.config.interval),
        ),
    )


def _measures(meta: Compared) -> Rows:
    """Yield the numbers of rated statements and responses with a value of a measure, or without by reason."""
    for level in meta.levels:
        for name, found in level.values.items():
            valued, lacking = found["value"].notna(), found["reason"].notna()
            numbers = (valued, ~valued & ~lacking, ~valued & lacking, valued & lacking)
            outside = meta.aligned[name][1] if name in meta.aligned else 0
            counts = dict(zip(_COUNTS, [*(int(each.sum()) for each in numbers), outside], strict=True))
            means = dict(zip(_MEANS, map(known, level.mean_ends(name)), strict=True))
            yield {"level": level.unit, "measure": name, "of": len(found), **counts, **means}


def _open(meta: Compared) -> Rows:
    """Yield the responses whose value lacks a verdict, with its bounds."""
    for level in meta.levels:
        for name, found in level.values.items() if level.unit == "responses" else ():
            for row, each in zip(level.ratings.rows, found.itertuples(), strict=True):
                if isinstance(each.reason, str):
                    ends = {"value": each.value, "least": each.worst, "most": each.best}
                    yield {"answer": row.id, "measure": name, **{key: known(end) for key, end in ends.items()}}


def _within(meta: Compared, level: Level) -> Rows:
    """Yield the correlations with people within each system."""
    for system, measure, rows, of, found in agreement.within_systems(level, resampling_of(meta.config)):
        yield {"system": system, "measure": measure, "rows": rows, "of": of, **_records(found)}


def _records(correlations: Mapping[Any, Estimate]) -> dict[str, float | None]:
    return {key: value for name, each in correlations.items() for key, value in each.record(name).items()}


def _systems(meta: Compared, level: Level) -> Rows:
    """Yield the systems' mean ratings and mean values, and the agreement of their rankings."""
    people, measures = agreement.over_systems(level, resampling_of(meta.config))
    for name, (means, tau) in {"people": (people, Estimate(None)), **measures}.items():
        yield {"measure": name, **dict(zip(level.systems, means, strict=True)), **tau.record("tau")}


def _agreements(meta: Compared) -> Rows:
    """Yield the agreement with people by CiteEval's procedure."""
    human, answers = meta.human, [rated.answer for rated in meta.human.answers]
    cited = [[bool(each.citations) for each in human.splits[answer.id].statements] for answer in answers]
    starts = np.cumsum([len(each.statements) for each in human.answers])[:-1]
    for scenario, measurement in product(SCENARIOS, meta.measured):
        how = human.people, scenario, resampling_of(meta.config)
        if measurement.name in _JUDGED and meta.rated is not None:
            people, *how_judged = how
            agreed = agreement.agreement(meta.rated, people, _JUDGED[measurement.name], *how_judged)
        elif measurement.name in meta.aligned:
            found = meta.aligned[measurement.name][0]
            values = [[*map(known, part)] for part in np.split(found["value"].to_numpy(), starts)]
            missing = [part.tolist() for part in np.split(found["reason"].notna().to_numpy(), starts)]
            agreed = agreement.agreement_of(answers, values, missing, cited, *how)
        else:
            continue
        for unit, correlations, rows, left_out in (
            ("statements", agreed.statements, agreed.n_statements, agreed.statements_left_out),
            ("responses", agreed.responses, agreed.n_responses, agreed.responses_left_out),
        ):
            row = {"scenario": scenario, "measure": measurement.name, "level": unit, **_records(correlations)}
            yield {**row, "rows": rows, "left_out": left_out}


def _contexts(meta: Compared) -> Rows:
    """Yield F1 of each context, of the two classes that are published and of all four."""
    contexts = agreement.contexts_of(meta.rated, meta.human.people) if meta.rated is not None else []
    for binary, forced in product((True, False), (True, False)):
        classes, counts, left_out = agreement.context_counts(contexts, forced, binary)
        shared = {"binary": binary, "forced": forced, "left_out": left_out}
        scores = agreement.class_scores(counts)
        for number, name in enumerate(classes):
            values = {key: known(column[number]) for key, column in scores.items()}
            yield {**shared, "class": name, **values, "statements": int(counts[number].sum())}
        macro = {"class": "macro", "precision": None, "recall": None, "f1": known(agreement.macro_f1(counts))}
        yield {**shared, **macro, "statements": int(counts.sum())}


def _confusion(meta: Compared) -> Rows:
    """Yield the cells of the confusion matrix of the four contexts."""
    contexts = agreement.contexts_of(meta.rated, meta.human.people) if meta.rated is not None else []
    classes, counts, _ = agreement.context_counts(contexts, forced=False, binary=False)
    for (gold, label), number in np.ndenumerate(counts):
        yield {"people": classes[gold], "judge": classes[label], "count": int(number)}
