"""What stands around the tables of a meta-evaluation, and what missing verdicts leave open in its values."""

from __future__ import annotations

from collections.abc import Iterator

from metaeval.experiment.citing.meta.model import Ends, Level, Meta
from metaeval.experiment.citing.provenance import Provenance, data_of, uncertainty
from metaeval.files import sha256_json
from metaeval.report.grid import Note, count, numeral, plain, share
from metaeval.report.result import Column, Data

_MEAN = Column(key="mean", label="mean")

OpenValue = tuple[str, str, float | None, Ends | None]
"""Answer, measure, its value (None: missing), and the ends; None where they are not known."""


def open_values(meta: Meta, level: Level) -> Iterator[OpenValue]:
    """The values of rated responses that lack a verdict, or leave one out, measure by measure.

    Not known are the ends of scores that may be anything, and of means over the rated statements.
    """
    own_value, ids = meta.read.options.responses == "own", [row.id for row in level.ratings.rows]
    for one in meta.measured if level.unit == "responses" else ():
        values = level.values.get(one.name)
        for answer, value in zip(ids, values, strict=True) if values is not None else ():
            if value.state == "missing" or answer in level.partial[one.name]:
                yield answer, one.name, value.value, one.ends.get(answer) if own_value else None


def mean_ends(meta: Meta, level: Level, measure: str) -> tuple[float | None, float | None, float | None]:
    """A measure's mean over the rows that have a value; and its least and most over those too whose verdicts are
    missing: None at the level of statements, and where the ends of one value are not known.
    """
    said = {row.id: one for row, one in zip(level.ratings.rows, level.values[measure], strict=True)}
    mean = _mean([one.value for one in said.values() if one.value is not None])
    if level.unit == "statements":
        return mean, None, None
    open_ = {answer: ends for answer, name, _, ends in open_values(meta, level) if name == measure}
    if None in open_.values():
        return mean, None, None
    settled = [one.value for name, one in said.items() if name not in open_ and one.value is not None]
    known = [ends for ends in open_.values() if ends is not None]
    return mean, _mean([*settled, *(least for least, _ in known)]), _mean([*settled, *(most for _, most in known)])


def could_be(meta: Meta) -> tuple[tuple[str, str], ...]:
    """Of each measure that lacks verdicts: its mean over responses, and between what that mean could be."""
    said = []
    for level in (level for level in meta.levels if level.unit == "responses"):
        touched = {name: ends for _, name, _, ends in open_values(meta, level)}
        assumed = {one.name: one.assumed for one in meta.measured}
        for name in touched:
            number = sum(own == name for _, own, _, _ in open_values(meta, level))
            mean, least, most = mean_ends(meta, level, name)
            text = f"mean {numeral(mean, _MEAN)}; "
            if least is None:
                text += "how far it could move is not known"
            else:
                text += "with every missing verdict against it or for it "
                text += f"{numeral(least, _MEAN)} to {numeral(most, _MEAN)}"
                text += f", {assumed[name]}" if assumed[name] else ""
            said.append((plain(name), f"{text} ({number:,} of {len(level.ratings.rows):,} responses)"))
    return tuple(said)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def provenance(meta: Meta) -> Provenance:
    """Whose ratings, by which rules, what is left out, and how the numbers were made: a signature for each measure."""
    read, answers = meta.read, meta.read.answers
    ratings = [[[one.start, one.end, *one.ratings] for one in own.statements] for own in read.human.answers]
    data = data_of(read.run.name, "people", answers, sum(map(len, ratings)), citations=0)
    data = data.model_copy(update={"fingerprint": sha256_json([data.fingerprint, ratings])})
    return Provenance(
        data=data,
        kind="meta",
        subtitle=f"{plain(data.name)}, citation pipelines against people",
        fields={**read.options.rules, "scenario": read.scenario},
        interval=read.run.config.interval,
        judges=[{"column": one.name, **one.fields} for one in meta.measured],
        after=_notes(meta, data),
    )


def _notes(meta: Meta, data: Data) -> tuple[Note, ...]:
    """The footer: ratings, rules, what was left out, verdicts, truncation, resampling."""
    read, human = meta.read, meta.read.human
    rated = sum(rating is not None for own in human.answers for rating in own.ratings)
    said = f"{count(len(human.answers), 'answer')}, {count(data.groups, 'group')}; "
    said += f"{count(rated, 'rated statement')} of {data.statements:,}; {count(human.annotators, 'annotator')} each"
    if human.annotators < 2:
        said += ", so that no agreement between annotators is known"
    dropped = [f"{plain(name)} {number:,}" for name, number in human.dropped.items()]
    filled = "takes its response's, on each side by itself" if read.options.none == "response" else "is left out"
    rules = f"a statement without a value {filled}; a response without any "
    rules += "is left out" if read.options.unrated == "left out" else "has 1"
    rules += "; a response's value is "
    rules += "the pipeline's own" if read.options.responses == "own" else "the mean over its rated statements"
    rules += "; correlations leave out rows without a value, and their bounds (§) give values to all of these: where a "
    rules += "verdict is missing, and where the pipeline gives none"
    if read.scenario == "cited":
        rules += "; scenario cited: statements without citations have no rating, and CiteEval gives them no value"
    verdicts, cut = [], []
    for use, one in meta.backends:
        label, source = f"{plain(one.name)}, {use}" if use else plain(one.name), one.cutoff.source
        as_it_is = "scores as they are" + ("" if source == "as it is" else f" ({source})")
        from_on = as_it_is if one.cutoff.value is None else f"supported from {one.cutoff.value:g} on ({source})"
        verdicts.append((label, from_on))
        if one.ledger.cut_pairs:
            longer = share(one.ledger.cut_pairs, one.ledger.pairs)
            cut.append((label, f"{longer} of pairs are longer than the metric reads"))
    return (
        Note("data", said),
        Note("left out", ", ".join([*dropped, *(f"{unit}: {plain(why)}" for unit, why in meta.left_out)])),
        Note("rules", rules),
        Note("verdicts", "", tuple(verdicts)),
        Note("truncation", "", tuple(cut)),
        Note("could be", "", could_be(meta)),
        uncertainty(read.run.config.interval),
    )
