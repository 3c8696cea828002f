"""The tables of a meta-evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.citation.citeeval.baselines import BASELINES
from metaeval.citation.citeeval.evaluate_responses import MEASURES, cells
from metaeval.citation.citeeval.options_and_values import SCENARIOS
from metaeval.citation.human import agreement
from metaeval.citation.human.benchmark_statistics import bench_statistics, distributions
from metaeval.citation.human.rated_statements import Level, known
from metaeval.citation.measures import interval_of, means, replicates
from metaeval.citation.pipelines import provenance
from metaeval.citation.pipelines.provenance import TableLines
from metaeval.core.errors import count
from metaeval.core.files import sha256_json
from metaeval.report.result_tables import cell
from metaeval.report.table import Note, Table, plain
from metaeval.runs.evaluate import resampling_of
from metaeval.stats.agreement import rank_agreement
from metaeval.stats.arrays import Floats, codes_of
from metaeval.stats.estimate import Estimate
from metaeval.stats.resampling import bootstrap

if TYPE_CHECKING:
    from metaeval.citation.pipelines.meta.measured import Measurement
    from metaeval.citation.pipelines.meta.run import MetaEvaluation

Records = Iterable[Mapping[str, Any]]

_COUNTS = ("valued", "no_value", "missing", "valued_in_part", "sentences_outside_statements")
_MEANS = ("mean", "mean_least", "mean_most")
_RULES = """a statement without a value, and a response without any, is left out, or filled on each side by itself
(settings: gaps); a response's value is the pipeline's own; in the scenario cited, statements without citations have no
rating, and CiteEval gives them no value; correlations leave out rows without a value, and their bounds (§) give values
to all of these: where a verdict is missing, and where the pipeline gives none"""


# Title, template of the titles of blocks with fields in braces, and reading, by name.
_SHEETS = {
    "within-systems": ("Agreement with people within each system", "{system}, {of} rows", ""),
    "systems": (
        "Systems as people and as measures rate them",
        "",
        "means; tau: Kendall's tau-b of a measure's means with people's of the same responses; its interval is of "
        "percentiles, since rankings change in steps, and no p-value is made of few systems",
    ),
    "could-be": (
        "Responses that lack a verdict, and what their value could be",
        "{measure}",
        "with every missing verdict against the measure, or for it; a sentence whose facts are missing states one",
    ),
    "citebench-statistics": ("What the benchmark holds", "", "cited, rated: statements; rating: their mean"),
    "citebench-distributions": (
        "What people say, and the judge",
        "{of}",
        "numbers and shares of all that was said: by people, each annotator alone; by the judge, of statements that it "
        "did not leave out; KEEP: citations that are not deleted; ratings: stars as (stars - 1) / 4",
    ),
    "citebench": (
        "Agreement with people, by CiteEval's procedure",
        "scenario {scenario}, {level}",
        "as CiteEval publishes: the statements of all responses together; one without a value takes its response's, on "
        "each side by itself; a response is the mean over its statements, 1 without any; cited: the values of "
        "statements without citations are masked, people's and CiteEval's own (those of other measures stay), and a "
        "response that this leaves without a value is 0 (people's, from a baseline's second measure on in the profile "
        "released: 1, since the released code masks them in place); left out: responses with a value that a judge left "
        "missing, and the statements that would take it",
    ),
    "citebench-contexts": (
        "What a statement rests on: F1 by context",
        "binary {binary}, forced {forced}",
        "binary: retrieval or not; forced: cited statements count as retrieval (both as published); people's context "
        "is that of more than half of the annotators; macro: the mean F1 over the contexts that occur",
    ),
    "citebench-confusion": ("What a statement rests on", "people: {people}", ""),
    "annotators": ("Agreement between annotators (Krippendorff's alpha)", "", ""),
    "measures": (
        "What the pipelines give a value to",
        "{of} rated {level}",
        "no value: the pipeline gives such a row none; missing: a verdict is; valued in part: the value of the answer "
        "leaves out missing verdicts; outside: sentences of a pipeline that share no character with a statement; mean: "
        "with its range over the ways in which missing verdicts may fall",
    ),
}


def meta_sheets(meta: MetaEvaluation) -> list[Table]:
    """Return every table, in reading order; a name with a slash puts it in a folder."""
    around, tables = _provenance(meta), []
    systems = {answer.system for answer in meta.answers}
    for name, rows in _all_rows(meta):
        (title, block, reading), lines = _SHEETS[name.rpartition("/")[2]], TableLines()
        for row in rows:
            # The first field that is in no title names the line.
            in_title = {field for _, field, *_ in Formatter().parse(block)}
            # Ends of intervals stand beside their estimates; systems can have names that end as theirs do.
            ends = {key for key in row if key.endswith(("_low", "_high")) and key.rpartition("_")[0] in row}
            stub, *keys = (key for key in row if key not in in_title | ends)
            cells = [
                f"{row[key]:,}"
                if isinstance(row[key], int)
                else cell(row[key], row.get(f"{key}_low"), row.get(f"{key}_high"))
                for key in keys
            ]
            lines.add(block.format_map(row), str(row[stub]), cells, row)
        if lines.records:
            headings = [key if key in systems else key.replace("_", " ") for key in (stub, *keys)]
            tables.append(around.lines(name, title, headings, lines, [Note("reading", reading)]))
    return tables


def _all_rows(meta: MetaEvaluation) -> Iterator[tuple[str, Records]]:
    """Yield the name of each table, and its records."""
    for level in meta.levels:
        if len(level.systems) > 1:  # a single system has no ranking
            yield f"{level.unit}/within-systems", _within(meta, level)
            if level.unit == "responses":
                yield "responses/systems", _systems(meta, level)
    yield "responses/could-be", _open(meta)
    if meta.human.people:
        yield "citebench-statistics", bench_statistics(meta.human)
        yield "citebench-distributions", distributions(meta.human, meta.rated)
        yield "citebench", _agreements(meta)
        if meta.rated and meta.rated.options.uncited == "by context":
            contexts = agreement.contexts_of(meta.rated, meta.human.people)
            yield "citebench-contexts", _contexts(contexts)
            classes, counts, _ = agreement.context_counts(contexts, forced=False, binary=False)
            cells = np.ndenumerate(counts)
            yield (
                "citebench-confusion",
                ({"people": classes[a], "judge": classes[b], "count": int(number)} for (a, b), number in cells),
            )
    alphas = agreement.alphas(meta.human, resampling_of(meta.config)).items()
    yield "annotators", ({"what": name, **alpha.record("alpha"), "units": n} for name, (alpha, n) in alphas)
    yield "measures", _measures(meta)


def _provenance(meta: MetaEvaluation) -> provenance.Provenance:
    """Return what all tables share: data, settings, notes, and a signature for each measure."""
    human = meta.human
    ratings = [[[each.start, each.end, *each.ratings] for each in rated.statements] for rated in human.answers]
    data = provenance.data_of(meta.name, "people", meta.answers, sum(map(len, ratings)), citations=0)
    data = data.model_copy(update={"fingerprint": sha256_json([data.fingerprint, ratings])})
    rated = sum(rating is not None for answer in human.answers for rating in answer.ratings)
    held = f"{count(len(meta.answers), 'answer')}, {count(data.groups, 'group')}; {count(rated, 'rated statement')} of "
    held += f"{data.statements:,}; {count(human.annotators, 'annotator')} each"
    if human.annotators < 2:
        held += ", so that no agreement between annotators is known"
    left_out = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    left_out += [f"{unit}: {plain(why)}" for unit, why in meta.left_out]
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
            Note("judging", provenance.counts_text(meta.rated.counts(range(len(meta.answers)))) if meta.rated else ""),
            Note("settings", provenance.settings_text(meta.config.dataset_options)),
            Note("rules", " ".join(_RULES.split())),
            provenance.verdicts(backends, "scores as they are", "supported from {} on ({})"),
            provenance.truncation(backends),
            provenance.uncertainty(meta.config.interval),
        ),
    )


def _measures(meta: MetaEvaluation) -> Records:
    """Yield the numbers of rated statements and responses with a value of a measure, or without by reason."""
    for level in meta.levels:
        for name, values in level.values.items():
            valued, lacking = values["value"].notna(), values["reason"].notna()
            numbers = (valued, ~valued & ~lacking, ~valued & lacking, valued & lacking)
            outside = meta.aligned[name][1] if name in meta.aligned else 0
            counts = dict(zip(_COUNTS, [*(int(each.sum()) for each in numbers), outside], strict=True))
            means = dict(zip(_MEANS, map(known, level.mean_ends(name)), strict=True))
            yield {"level": level.unit, "measure": name, "of": len(values), **counts, **means}


def _open(meta: MetaEvaluation) -> Records:
    """Yield the responses whose value lacks a verdict, with its bounds."""
    for level in meta.levels:
        for name, values in level.values.items() if level.unit == "responses" else ():
            for row, each in zip(level.ratings.rows, values.itertuples(), strict=True):
                if isinstance(each.reason, str):
                    ends = {"value": each.value, "least": each.worst, "most": each.best}
                    yield {"answer": row.id, "measure": name, **{key: known(end) for key, end in ends.items()}}


def _within(meta: MetaEvaluation, level: Level) -> Records:
    """Yield the correlations with people within each system; one of a single group has no intervals."""
    rows = level.ratings.columns
    for system in level.systems:
        of_system = np.flatnonzero([row.system == system for row in rows])
        for measure, values in level.values.items():
            score = values["value"].to_numpy()
            kept = of_system[~np.isnan(score[of_system])]
            group = codes_of([rows[row].group for row in kept.tolist()])
            within = agreement.correlations(score[kept], rows.gold[kept], group, resampling_of(meta.config))
            counted = {"system": system, "measure": measure, "rows": kept.size, "of": of_system.size}
            yield {**counted, **_records(within)}


def _records(correlations: Mapping[Any, Estimate]) -> dict[str, float | None]:
    return {key: value for name, each in correlations.items() for key, value in each.record(name).items()}


def _systems(meta: MetaEvaluation, level: Level) -> Records:
    """Yield people's mean ratings of the systems, and by measure its means, with Kendall's tau-b of both.

    A measure's means are over rows with a value, and tau-b is that with the mean ratings of the same rows, without an
    interval from one group.
    """
    rows, drawn = level.ratings.columns, resampling_of(meta.config)
    group, n_groups = codes_of([row.group for row in rows]), len({row.group for row in rows})
    draws = bootstrap(n_groups, drawn.n if n_groups > 1 else 0, drawn.seed)
    system_rows = [np.flatnonzero([row.system == system for row in rows]) for system in level.systems]

    def mean_values(values: Floats) -> Floats:
        """Return the means of the systems under each weighting, (systems, R). values: (n,), NaN where there is none."""
        mean = means(cells(values))
        return np.array([replicates(mean, numbers, group, draws) for numbers in system_rows], dtype=np.float64)

    measured = [("people", mean_values(rows.gold), Estimate(None))]
    for measure, values in level.values.items():
        score = values["value"].to_numpy()
        ours, theirs = mean_values(score), mean_values(np.where(np.isnan(score), np.nan, rows.gold))
        measured.append((measure, ours, interval_of(rank_agreement(ours, theirs)[0], drawn.level)))
    for measure, values_of, tau in measured:
        of_systems = dict(zip(level.systems, cells(values_of[:, 0]), strict=True))
        yield {"measure": measure, **of_systems, **tau.record("tau")}


def _agreements(meta: MetaEvaluation) -> Records:
    """Yield the agreement with people by CiteEval's procedure."""
    human, answers = meta.human, meta.answers
    cited = np.array([bool(each.citations) for split in meta.splits for each in split.statements], dtype=np.bool_)
    for scenario, measurement in product(SCENARIOS, meta.measured):
        drawn, judged = resampling_of(meta.config), {f"citeeval:{key}": key for key in MEASURES}.get(measurement.name)
        if judged and meta.rated:
            agreed = agreement.agreement(meta.rated, human.people, judged, scenario, drawn)
        elif measurement.name in meta.aligned:
            values = meta.aligned[measurement.name][0]
            columns = values["value"].to_numpy(), values["reason"].notna().to_numpy()
            emptied = _emptied(meta, measurement)
            agreed = agreement.agreement_of(answers, *columns, cited, human.people, scenario, drawn, emptied=emptied)
        else:
            continue
        for unit, correlations, rows, left_out in (
            ("statements", agreed.statements, agreed.n_statements, agreed.statements_left_out),
            ("responses", agreed.responses, agreed.n_responses, agreed.responses_left_out),
        ):
            row = {"scenario": scenario, "measure": measurement.name, "level": unit, **_records(correlations)}
            yield {**row, "rows": rows, "left_out": left_out}


def _emptied(meta: MetaEvaluation, measurement: Measurement) -> float:
    """Return people's rating of a response whose ratings the scenario "cited" masks all: 0, and as released 0 or 1.

    The released code masks the ratings in place, for each measure of a baseline in turn. From the second measure on it
    finds none to mask, and takes the response for one that nobody rated.
    """
    pipeline, measure, *_ = measurement.name.split(":")
    turns = pipeline in (*BASELINES, "autoais") and measure not in ("precision", "strict")
    return float(meta.profile == "released" and turns)


def _contexts(contexts: Sequence[agreement.Contexts]) -> Records:
    """Yield F1 of each context, of the two classes that are published and of all four."""
    for binary, forced in product((True, False), (True, False)):
        classes, counts, left_out = agreement.context_counts(contexts, forced, binary)
        shared = {"binary": binary, "forced": forced}
        scores = agreement.class_scores(counts)
        for number, name in enumerate(classes):
            values = {key: known(column[number]) for key, column in scores.items()}
            of = {"statements": int(counts[number].sum()), "left_out": left_out}
            yield {**shared, "class": name, **values, **of}
        macro = {"class": "macro", "precision": None, "recall": None, "f1": known(agreement.macro_f1(counts))}
        yield {**shared, **macro, "statements": int(counts.sum()), "left_out": left_out}
