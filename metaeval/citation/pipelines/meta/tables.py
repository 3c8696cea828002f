"""The tables of a meta-evaluation: those in its files, and the shorter ones that the command prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from itertools import product

from metaeval.citation.citeeval.evaluate_responses import SCENARIOS, CiteEvalMeasure
from metaeval.citation.citeeval.options_and_values import CitedScenario
from metaeval.citation.human import agreement
from metaeval.citation.human.agreement import RatingAgreement
from metaeval.citation.human.benchmark_statistics import bench_statistics
from metaeval.citation.human.context_attribution import ClassScore
from metaeval.citation.human.rated_statements import Level
from metaeval.citation.pipelines.layout import TableLines, brief_grid, grid_of, interval_cell
from metaeval.citation.pipelines.meta.data_model import Measurement, MetaEvaluation
from metaeval.citation.pipelines.provenance import Provenance, data_of, ranking_intervals, uncertainty
from metaeval.display_text import count
from metaeval.files import sha256_json
from metaeval.report.result import Column, Data
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Cell, Note, Record, Scalar, Table, blocks_of, format_value, plain, share
from metaeval.stats.estimate import Estimate

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
RANKS_DIGITS = Column(key="tau", label="tau-b", digits=2)
"""Two decimals, since few systems are ranked."""

_PEOPLE = "people"
_LACKS = ("no_value", "missing", "valued_in_part", "sentences_outside_statements")


def provenance(meta: MetaEvaluation) -> Provenance:
    """Return the provenance that all tables share: data, rules, notes, and a signature for each measure."""
    read, answers = meta.read, meta.read.answers
    ratings = [
        [[statement.start, statement.end, *statement.ratings] for statement in answer.statements]
        for answer in read.human.answers
    ]
    data = data_of(read.run.name, "people", answers, sum(map(len, ratings)), citations=0)
    data = data.model_copy(update={"fingerprint": sha256_json([data.fingerprint, ratings])})
    return Provenance(
        data=data,
        kind="meta",
        subtitle=f"{plain(data.name)}, citation pipelines against people",
        fields={**read.options.rules, "scenario": read.scenario},
        interval=read.run.config.interval,
        judges=[{"column": measurement.name, **measurement.fields} for measurement in meta.measured],
        after=_notes(meta, data),
    )


def _notes(meta: MetaEvaluation, data: Data) -> tuple[Note, ...]:
    """Return the footer: ratings, what is left out, rules, verdicts, truncation, bounds, and intervals."""
    read, human = meta.read, meta.read.human
    rated = sum(rating is not None for answer in human.answers for rating in answer.ratings)
    data_text = f"{count(len(human.answers), 'answer')}, {count(data.groups, 'group')}; "
    data_text += (
        f"{count(rated, 'rated statement')} of {data.statements:,}; {count(human.annotators, 'annotator')} each"
    )
    if human.annotators < 2:
        data_text += ", so that no agreement between annotators is known"
    dropped = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    filled = "takes its response's, on each side by itself" if read.options.none == "response" else "is left out"
    rules = f"a statement without a value {filled}; a response without any "
    rules += "is left out" if read.options.unrated == "left out" else "has 1"
    rules += "; a response's value is the pipeline's own; correlations leave out rows without a value, and their "
    rules += "bounds (§) give values to all of these: where a verdict is missing, and where the pipeline gives none"
    if read.scenario == "cited":
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
        uncertainty(read.run.config.interval),
    )


def could_be(meta: MetaEvaluation) -> tuple[tuple[str, str], ...]:
    """Return (measure, text) for each measure that lacks verdicts: its mean over responses, and its possible range."""
    assumed = {measurement.name: measurement.assumed for measurement in meta.measured}

    def text(level: Level, name: str) -> str:
        mean, least, most = level.mean_ends(name)
        bounds = f"{format_value(least, THREE)} to {format_value(most, THREE)}"
        ends = f"with every missing verdict against it or for it {bounds}"
        ends += f", {assumed[name]}" if assumed[name] else ""
        missing = f"({len(level.open[name]):,} of {len(level.ratings.rows):,} responses)"
        return f"mean {format_value(mean, THREE)}; {'its range is not known' if least is None else ends} {missing}"

    return tuple((plain(name), text(level, name)) for level in meta.levels for name in level.open)


def meta_sheets(meta: MetaEvaluation) -> dict[str, Table]:
    """Return every table by folder and name, in reading order; those of the run's own folder are last."""
    around, tables = provenance(meta), dict[str, Table | None]()
    for level in meta.levels:
        # A single system has no ranking.
        if len(level.systems) > 1:
            tables[f"{level.unit}/within-systems"] = _within(meta, around, level)
            if level.unit == "responses":
                tables["responses/systems"] = _systems(meta, around, level)
    tables["responses/could-be"] = _open(meta, around)
    if meta.read.human.people:
        tables["citebench-statistics"] = _statistics(meta, around)
        tables["citebench"] = _agreements(meta, around)
        if meta.rated:
            tables["citebench-contexts"] = _contexts(meta, around)
            tables["citebench-confusion"] = _confusion(meta, around)
    tables["annotators"] = _annotators(meta, around)
    tables["measures"] = _measures(meta, around)
    return {name: sheet for name, sheet in tables.items() if sheet is not None}


def _measures(meta: MetaEvaluation, around: Provenance) -> Table:
    """Return the table of counts of rated statements and responses with a value of a measure, or without by reason."""
    table = TableLines()
    for level in meta.levels:
        for name, values in level.values.items():
            counted = Counter(value.state for value in values)
            numbers = {
                **{state.replace(" ", "_"): counted[state] for state in ("valued", "no value", "missing")},
                "valued_in_part": sum(number.in_part for number in values),
                "sentences_outside_statements": sum(aligned.outside for aligned in meta.aligned.get(name, {}).values()),
            }
            means = dict(zip(("mean", "mean_least", "mean_most"), level.mean_ends(name), strict=True))
            cells = [f"{number:,}" for number in numbers.values()]
            title = f"{len(level.ratings.rows):,} rated {level.unit}"
            table.add(title, name, cells, {"level": level.unit, "measure": name, **numbers, **means})
    reading = Note(
        "reading",
        "no value: the pipeline gives such a row none; missing: a verdict is; in part: the value, of the answer, "
        "leaves out missing verdicts; outside: sentences of a pipeline that share no character with a statement",
    )
    headings = ("measure", "value", "no value", "missing", "in part", "outside")
    return around.lines("measures", "What the pipelines give a value to", headings, table, [reading])


def _annotators(meta: MetaEvaluation, around: Provenance) -> Table | None:
    """Return the table of Krippendorff's alpha among the annotators; None for a single annotator."""
    table = TableLines()
    for name, (interval, number) in agreement.alphas(meta.read.human, meta.resampling).items():
        alpha = interval_cell(interval.ends, THREE)
        table.add("", name, [alpha, f"{number:,}"], {"what": name, **interval.record("alpha"), "units": number})
    title = "Agreement between annotators (Krippendorff's alpha)"
    return around.lines("annotators", title, ("of", "alpha", "units"), table) if table.records else None


def _open(meta: MetaEvaluation, around: Provenance) -> Table | None:
    """Return the table of the responses whose value lacks a verdict, with its bounds; None where nothing is missing."""
    table = TableLines()
    for measure, open_ in (pair for level in meta.levels for pair in level.open.items()):
        for answer, value in open_.items():
            numbers = dict(zip(("value", "least", "most"), (value.value, *(value.ends or (None, None))), strict=True))
            cells = [cell(number) for number in numbers.values()]
            table.add(plain(measure), answer, cells, {"answer": answer, "measure": measure, **numbers})
    title = "Responses whose value lacks a verdict, and what it could be"
    return around.lines("could-be", title, ("response", "value", "least", "most"), table) if table.records else None


def _within(meta: MetaEvaluation, around: Provenance, level: Level) -> Table:
    """Return the table of correlations with people within each system."""
    table = TableLines()
    for row in agreement.within_systems(level, meta.resampling):
        cells = [interval_cell(interval.ends, RANKS_DIGITS) for interval in row.correlations.values()]
        record: dict[str, Scalar] = {"system": row.system, "measure": row.measure, "rows": row.rows, "of": row.of}
        for name, interval in row.correlations.items():
            record |= interval.record(name)
        table.add(f"{plain(row.system)}, {row.of:,} {level.unit}", row.measure, cells, record)
    headings = ("measure", *(column.label for column in CORRELATIONS))
    title = f"Agreement with people within each system, over {level.unit}"
    return around.lines("within-systems", title, headings, table)


def _systems(meta: MetaEvaluation, around: Provenance, level: Level) -> Table:
    """Return the table of mean ratings and mean values of the systems, and of the agreement of their rankings."""
    rankings, systems, table = agreement.over_systems(level, meta.resampling), level.systems, TableLines()
    for name, (means, tau) in {_PEOPLE: (rankings.people, None), **rankings.measures}.items():
        agreed = "" if tau is None else interval_cell(tau.ends, RANKS_DIGITS)
        record = {
            "measure": name,
            **dict(zip(systems, means, strict=True)),
            **(tau or Estimate(None)).record("tau"),
        }
        table.add("" if tau is None else "measures", name, [*map(cell, means), agreed], record)
    pairs = len(systems) * (len(systems) - 1) // 2
    reading = Note(
        "reading",
        f"means over {level.unit}; tau-b: Kendall's, of a measure's means with people's over the same {level.unit}; "
        f"{count(len(systems), 'system')} make {count(pairs, 'pair')}, and no p-value is made of so few",
    )
    headings = ("mean of", *map(plain, systems), RANKS_DIGITS.label)
    title = "Systems as people and as measures rate them"
    return around.lines("systems", title, headings, table, [reading, ranking_intervals(around.interval)])


def _statistics(meta: MetaEvaluation, around: Provenance) -> Table:
    """Return the table of the benchmark's size: queries, responses, statements, citations and ratings by system."""
    headings = ("system", "queries", "responses", "statements", "cited", "citations", "rated", "rating")
    table = TableLines()
    for record in bench_statistics(meta.read.human):
        cells, mean = [f"{record.get(name, 0):,}" for name in headings[1:-1]], record.get("rating")
        table.add("", str(record["system"]), [*cells, cell(mean if isinstance(mean, float) else None)], record)
    reading = Note(
        "reading", "cited, rated: statements with a citation, with a rating; rating: its mean over statements"
    )
    return around.lines("citebench-statistics", "What the benchmark holds", headings, table, [reading])


def _agreements(meta: MetaEvaluation, around: Provenance) -> Table:
    table = TableLines()
    for scenario, measurement in product(
        SCENARIOS, (measurement for measurement in meta.measured if measurement.name in meta.aligned)
    ):
        agreed = _rating_agreement(meta, measurement, scenario)
        cells: list[Cell] = []
        for unit, values, rows, left_out in (
            ("statements", agreed.statements, agreed.n_statements, agreed.statements_left_out),
            ("responses", agreed.responses, agreed.n_responses, agreed.responses_left_out),
        ):
            record: dict[str, Scalar] = {"scenario": scenario, "measure": measurement.name, "level": unit}
            for column in CORRELATIONS:
                interval = {str(name): value for name, value in values.items()}[column.key]
                cells.append(interval_cell(interval.ends, column))
                record |= interval.record(column.key)
            table.records.append({**record, "rows": rows, "left_out": left_out})
        left = f"{agreed.statements_left_out:,}, {agreed.responses_left_out:,}"
        table.add(f"scenario {scenario}", measurement.name, [*cells, left])
    labels = [f"{column.label}, {unit}" for unit in ("statements", "responses") for column in CORRELATIONS]
    reading = Note(
        "reading",
        "as CiteEval publishes: the statements of all responses together; one without a value takes its response's, on "
        "each side by itself; a response is the mean over its statements, 1 without any; cited: the values of "
        "statements without citations are masked, people's and CiteEval's own (those of other measures stay), and a "
        "response that this leaves without a value is 0; left out: responses with a value that a judge left missing, "
        "and the statements that would take it",
    )
    title = "Agreement with people, by CiteEval's procedure"
    return around.lines("citebench", title, ("measure", *labels, "left out"), table, [reading])


def _rating_agreement(meta: MetaEvaluation, measurement: Measurement, scenario: CitedScenario) -> RatingAgreement:
    read, how = meta.read, (scenario, meta.resampling)
    people, splits = read.human.people, [read.human.splits[answer.id].statements for answer in read.answers]
    if measurement.name in _JUDGED:
        return agreement.agreement(read.answers, meta.rated, people, _JUDGED[measurement.name], *how)
    values = [meta.aligned[measurement.name][answer.id].values for answer in read.answers]
    known = [[value.value for value in values] for values in values]
    missing = [[value.state == "missing" for value in values] for values in values]
    cited = [[bool(statement.citations) for statement in statements] for statements in splits]
    return agreement.agreement_of(read.answers, known, missing, cited, people, *how)


def _contexts(meta: MetaEvaluation, around: Provenance) -> Table:
    """Return the table of F1 of each context, of the two classes that are published and of all four."""
    table = TableLines()
    for binary, forced in product((True, False), (True, False)):
        matrix = agreement.confusion_of(meta.rated, meta.read.human.people, forced, binary)
        title = "retrieval or not, " if binary else "four contexts, "
        title += "cited statements as retrieval (as published)" if forced else "as the judge says"
        shared: dict[str, Scalar] = {"binary": binary, "forced": forced, "left_out": matrix.left_out}
        for name in matrix.classes:
            score = matrix.score(name)
            shares = [cell(score.precision), cell(score.recall), cell(score.f1)]
            table.add(title, name, [*shares, f"{score.statements:,}"], {**shared, "class": name, **asdict(score)})
        whole = ClassScore(None, None, matrix.macro, sum(matrix.counts.values()))
        cells: list[Cell | str] = ["", "", cell(matrix.macro), f"{whole.statements:,}"]
        table.add(title, "macro", cells, {**shared, "class": "macro", **asdict(whole)})
    reading = Note(
        "reading",
        "a statement has the context that more than half of the annotators give; macro: the mean F1 over the contexts "
        "that people or the judge use",
    )
    headings = ("context", "precision", "recall", "F1", "statements")
    return around.lines("citebench-contexts", "What a statement rests on: F1 by context", headings, table, [reading])


def _confusion(meta: MetaEvaluation, around: Provenance) -> Table:
    """Return the confusion matrix of the four contexts: a line for people's, a column for the judge's."""
    matrix, table = agreement.confusion_of(meta.rated, meta.read.human.people, False, False), TableLines()
    for gold in matrix.classes:
        counts = {label: matrix.counts.get((gold, label), 0) for label in matrix.classes}
        records: list[Record] = [{"people": gold, "judge": label, "count": n} for label, n in counts.items()]
        table.add("", gold, [f"{number:,}" for number in counts.values()], *records)
    title = "What a statement rests on: people (lines) and the judge (columns)"
    return around.lines("citebench-confusion", title, ("people", *matrix.classes), table)


def brief_grids(meta: MetaEvaluation, sheets: Mapping[str, Table]) -> list[Table]:
    """Return the tables to print, in reading order. sheets: all tables of the run, by folder and name."""
    names = meta.read.tested(meta.measured)
    grids: list[Table] = []
    of_statements = any(level.unit == "statements" for level in meta.levels)
    for level, results in zip(meta.levels, meta.results, strict=True):
        # Other protocols are printed only where the run has no correlations.
        chosen = [result for result in results if result.protocol == "correlation"] or results
        grids += [brief_grid(result, names, [column.key for column in CORRELATIONS]) for result in chosen]
        within, systems = (sheets.get(f"{level.unit}/{name}") for name in ("within-systems", "systems"))
        if within is not None and (level.unit == "statements" or not of_statements):
            grids.append(_within_brief(within, names))
        if systems is not None:
            grids.append(_lines(systems, lambda record: record["measure"] in {_PEOPLE, *names}))
    rest = {name: sheet for name, sheet in sheets.items() if "/" not in name}
    measures = rest.pop("measures")
    open_ = [any(record[name] for name in _LACKS) for record in measures.records]
    grids += list(rest.values())
    if any(open_):
        grids.append(_lines(measures, lambda record: any(record[name] for name in _LACKS)))
    rows = " and ".join(f"{len(level.ratings.rows):,} rated {level.unit}" for level in meta.levels)
    valued = f"every measure has a value of each of the {rows}"
    if any(open_):
        others = f"measures that are not named in the last table have a value of each of the {rows}"
        valued = "" if all(open_) else others
    notes = (Note("values", valued), Note("more", _more(meta, names)))
    known = [note for note in measures.footer if note.label != "reading"]
    last = grids[-1]
    footer = (*(note for note in last.footer if note not in known), *known, *(note for note in notes if note.text))
    return [*grids[:-1], replace(last, footer=footer)]


def _within_brief(sheet: Table, names: frozenset[str]) -> Table:
    """Return the table with Spearman's correlations of the measures `names` alone, with a column for each system."""
    spearman = [column.key for column in CORRELATIONS].index("spearman")
    rows: dict[str, list[Cell]] = {}
    headings: dict[str, str] = {}
    for record, line in zip(sheet.records, sheet.lines, strict=True):
        if record["measure"] in names:
            system = str(record["system"])
            headings[system] = f"{plain(system)} ({record['of']:,})"
            rows.setdefault(str(record["measure"]), []).append(line.cells[spearman])
    blocks = blocks_of(("", name, cells) for name, cells in rows.items()) if rows else ()
    grid = grid_of(blocks, "measure", list(headings.values()))
    return replace(grid, key=sheet.key, title=f"{sheet.title} (Spearman)", subtitle=sheet.subtitle, footer=sheet.footer)


def _lines(sheet: Table, kept: Callable[[Record], bool]) -> Table:
    """Return the table with the lines whose record `kept` accepts; the n-th line has the n-th record."""
    records = iter(sheet.records)
    blocks = [
        replace(block, lines=tuple(line for line in block.lines if kept(next(records)))) for block in sheet.blocks
    ]
    return replace(sheet, blocks=tuple(block for block in blocks if block.lines))


def _more(meta: MetaEvaluation, names: frozenset[str]) -> str:
    """Return, as text, what the files hold beside what is printed. names: the printed measures."""
    left = sum(measurement.name not in names for measurement in meta.measured)
    measures = f"{left} more measures (recall, precision and the like; -s tested=all prints and tests them)"
    texts = [*([measures] if left else []), "partial correlations, all controls, more within systems"]
    protocols = dict.fromkeys(result.protocol for few in meta.results for result in few)
    if "correlation" in protocols:
        texts += [f"the protocol {plain(name)}" for name in protocols if name != "correlation"]
    return f"in the files: {', '.join(texts)}"
