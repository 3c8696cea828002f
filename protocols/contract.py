"""The protocol contract: judgements in, estimates and counts out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Floats as Floats
from metaeval.stats.estimate import Estimate as Estimate
from metaeval.stats.influence import Influence
from metaeval.stats.intervals import Resampling as Resampling
from metaeval.stats.resampling import Draws

Replicates = Mapping[str, Floats]
"""The values of each measure, by key: on the input, then under each weighting of the groups; NaN where undefined."""

Influences = Mapping[str, Influence | None]
"""The contributions of the groups to each measure, by key; None where undefined."""

Cards = Mapping[str, Mapping[str, Estimate]]
"""Further values of metrics on the same rows, by metric and key."""


@dataclass(frozen=True)
class Judgements:
    """The input of a protocol: aligned columns, one row per judged pair (n rows).

    Parameters
    ----------
    gold : (n,) float64
        More is more support: any ordinal or continuous rating.
    score : (n,) float64
        The metric's score, higher is more support; NaN where it has none.
    group : (n,) int
        Code of the resampling unit, 0 .. G-1.
    pool : (n,) int
        Code of the retrieval pool (the statement), 0 .. P-1. A pool lies within one group.
    system : (n,) int, optional
        Code of the generating system, or None where it is not known.
    levels : bool, default True
        Whether the gold is on the three-level scale: 2 full, 1 partial, 0 none.
    systems : tuple of str
        The names of the systems' codes, where they are known.
    crossed : (n,) int, optional
        Code in a second clustering (systems) that intervals take as sampled too; None: groups alone.
    votes : (n,) of mapping, optional
        An annotator's vote by annotator, on the scale of the gold, or None where they are not known.
    cost : (n,) float64, optional
        What the score of each row cost, NaN where it is not known, or None.
    kind : (n,) of str, optional
        Of a contrast set, the kind of each edit, "original" for what was edited, which shares its pool; or None.

    Raises
    ------
    ValueError
        Unless gold, score, group and pool are vectors of one length.
    """

    gold: Floats
    score: Floats
    group: NDArray[np.int64]
    pool: NDArray[np.int64]
    system: NDArray[np.int64] | None = None
    levels: bool = True
    systems: tuple[str, ...] = ()
    crossed: NDArray[np.int64] | None = None
    votes: NDArray[np.object_] | None = None
    cost: Floats | None = None
    kind: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        shapes = {self.gold.shape, self.score.shape, self.group.shape, self.pool.shape}
        if len(shapes) != 1 or self.gold.ndim != 1:
            raise ValueError(f"gold, score, group and pool must be vectors of one length, got {sorted(shapes)}")

    def with_score(self, score: Floats) -> Judgements:
        """Return the same rows with other scores.

        Parameters
        ----------
        score : (n,) float64
            NaN where there is none.

        Returns
        -------
        Judgements
        """
        return replace(self, score=score)

    def with_group(self, group: NDArray[np.int64]) -> Judgements:
        """Return the same rows with other group codes.

        Parameters
        ----------
        group : (n,) int
            0 .. G-1.

        Returns
        -------
        Judgements
        """
        return replace(self, group=group)

    def rows(self, keep: NDArray[np.bool_ | np.int64]) -> Judgements:
        """Return some of the rows; group and other codes stay the same.

        Parameters
        ----------
        keep : (n,) bool or (m,) int
            Whether a row is kept, or the numbers of the rows.

        Returns
        -------
        Judgements
        """
        if keep.dtype == np.bool_ and keep.all():
            return self
        columns: dict[str, Any] = {
            name: column[keep] for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }
        return replace(self, **columns)


@dataclass(frozen=True)
class Outcome:
    """The result of a protocol: scored + unscored + sum(excluded) = total, in rows of its `Judgements`.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        By key of the measure.
    total : int
        Number of rows.
    scored : int
        Rows that count and have a score.
    unscored_rows : tuple of int
        The numbers of the rows that lack a score and would have counted.
    excluded : mapping of str to int
        Rows that the protocol cannot use, scored or not, by reason.
    warnings : tuple of str
        Whole sentences.
    notes : tuple of str
        Clauses on how the metric's values were computed.
    ceilings : mapping of str to mapping
        For each measure whose maximum ties in the gold keep below 1, what a perfect metric of each kind reaches on this
        gold.
    influence : mapping of str to Influence
        Each measure's influence values; empty without intervals.
    resampled : mapping of str to array
        The values under the protocol's own resamples; empty without intervals.
    """

    estimates: Mapping[str, Estimate]
    total: int
    scored: int
    unscored_rows: tuple[int, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ceilings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    influence: Influences = field(default_factory=dict, compare=False, repr=False)
    resampled: Replicates = field(default_factory=dict, compare=False, repr=False)

    @property
    def unscored(self) -> int:
        """Return the number of rows that lack a score and would have counted."""
        return len(self.unscored_rows)


@dataclass(frozen=True)
class Measure:
    """A measure of a protocol, and its column in the table.

    Parameters
    ----------
    key : str
        Its name in results.
    label : str
        Heading of the column.
    scale : float, default 1.0
        Values are stored raw, and printed times this.
    digits : int, default 3
        Decimals of a printed value.
    tested : bool, default True
        Whether two metrics are compared under it.
    about : str
        What the measure is, in one plain sentence.
    blind : callable
        Returns why the rows of a `Judgements` give every metric the same value, or none, whatever its scores are (it
        reads only gold, group, pool and system); "": they can distinguish metrics.
    span : float, default 1.0
        The largest difference between two metrics that a plan is made for, raw.
    chance : float, optional
        The value of random scores, raw; None: it depends on the data.
    ability : str
        What a metric above chance can do, in words that fit after "can"; "": findings do not mention it.
    """

    key: str
    label: str
    scale: float = 1.0
    digits: int = 3
    tested: bool = True
    about: str = ""
    blind: Callable[[Judgements], str] = lambda _: ""
    span: float = 1.0
    chance: float | None = None
    ability: str = ""


@dataclass(frozen=True)
class Option:
    """An option of a protocol.

    Parameters
    ----------
    about : str
        What it decides.
    values : mapping of str to str
        Each allowed value with its meaning. The first value is the default.
    """

    about: str
    values: Mapping[str, str]

    @property
    def default(self) -> str:
        """Return the default value."""
        return next(iter(self.values))


@dataclass(frozen=True)
class Protocol:
    """A protocol, declared by its measures, options and functions; every command uses only these fields.

    Parameters
    ----------
    name : str
        Name, as it is typed.
    title : str
        Title of its tables.
    measures : tuple of Measure
        All that it computes.
    shown : callable
        `shown(judgements, options)` gives the keys of the table's measures; they depend on its gold alone.
    evaluate : callable
        `evaluate(judgements, resampling, options)` gives the estimates of one metric, an `Outcome`.
    replicate : callable
        `replicate(rows, n_groups, draws, options, keys)` gives the measures of these keys, (draws.n,) each, for each
        weighting in `draws`, the input first, from rows that all have a score and group codes below `n_groups`; NaN
        where undefined.
    options : mapping of str to Option
        By name.
    uses_pool : bool, default False
        Whether rows that are in the retrieval pools only (not cited by the statement) belong to its input, so that it
        depends on the setting `pool`.
    usual : bool, default True
        Whether the protocol name "all" includes it.
    of_systems : bool, default False
        Whether it compares systems' means, which the control `system` knows from the gold, and of which a constant says
        nothing: controls of either kind are left out then.
    judge : callable, optional
        `judge(judgements, options)` turns scores into the values by which two metrics are compared, where these are not
        the scores themselves.
    influence : callable, optional
        `influence(rows, n_groups, options, keys)` gives the influence values of these measures, of the same rows as
        `replicate`; None: they are the jackknife's over groups, computed with `replicate`.
    chance : callable, optional
        `chance(rows, options)` gives the expected measures of random scores on these rows, where they are not
        `Measure.chance`; others are the mean over draws.
    resampled : callable, optional
        `resampled(rows, n_groups, resampling, options)` gives the measures whose intervals are percentiles of resamples
        of the protocol's own, the input first, and the same resamples for every metric; such measures are compared with
        controls by these resamples.
    exchanged : callable, optional
        `exchanged(one, other, permutations, seed, options)` gives the differences of two metrics on the same rows, in
        these measures, under exchanges of their scores, the first without any.
    card : callable, optional
        `card(judgements, resampling, options)`, with the `Judgements` of each metric by name, gives further values of
        the metrics by name and key.
    of_edits : callable, optional
        Of a protocol that compares edits with originals, `of_edits(rows)` gives the measures of the kinds among the
        rows, in place of `measures`; controls are left out.
    headline : str
        The key of the measure that metrics are ranked by; "": the first of the table.
    tie_orders : bool, default False
        Whether its estimates hold the values under the worst and the best order of tied scores (`Estimate.ties`), which
        `multiverse` takes as choices; an option `ties` then keeps its default.
    takes_levels : bool, default False
        Its scores have to be levels, as the gold is; for other scores nothing is defined.
    no_plan : str
        Why `plan` cannot plan for it, in one sentence; "": it can.
    figure : one of "bars", ""
        What is drawn of a result: a group of bars for each metric, or nothing.
    figure_name : str
        How the names of its files begin; "": figure-NAME.
    table_number : int, default 0
        The number of its table in a paper; 0: it has none and comes last.
    table_measures : tuple of str
        The keys of that table's columns; (): all shown.
    """

    name: str
    title: str
    measures: tuple[Measure, ...]
    shown: Callable[[Judgements, Mapping[str, str]], tuple[str, ...]]
    evaluate: Callable[[Judgements, Resampling, Mapping[str, str]], Outcome]
    replicate: Callable[[Judgements, int, Draws, Mapping[str, str], Collection[str]], Replicates]
    options: Mapping[str, Option] = field(default_factory=dict)
    uses_pool: bool = False
    usual: bool = True
    of_systems: bool = False
    judge: Callable[[Judgements, Mapping[str, str]], Judgements] | None = None
    influence: Callable[[Judgements, int, Mapping[str, str], Collection[str]], Influences] | None = None
    chance: Callable[[Judgements, Mapping[str, str]], Mapping[str, float]] | None = None
    resampled: Callable[[Judgements, int, Resampling, Mapping[str, str]], Replicates] | None = None
    exchanged: Callable[[Judgements, Judgements, int, int, Mapping[str, str]], Replicates] | None = None
    card: Callable[[Mapping[str, Judgements], Resampling, Mapping[str, str]], Cards] | None = None
    of_edits: Callable[[Judgements], tuple[Measure, ...]] | None = None
    headline: str = ""
    tie_orders: bool = False
    takes_levels: bool = False
    no_plan: str = ""
    figure: Literal["bars", ""] = ""
    figure_name: str = ""
    table_number: int = 0
    table_measures: tuple[str, ...] = ()

    def measure(self, key: str) -> Measure:
        """Return the measure of a key.

        Parameters
        ----------
        key : str
            One of those of `measures`.

        Returns
        -------
        Measure
        """
        return next(measure for measure in self.measures if measure.key == key)

    def blind(self, judgements: Judgements, options: Mapping[str, str]) -> str:
        """Return why no measure of the table can distinguish metrics by these rows.

        Parameters
        ----------
        judgements : Judgements
            The rows; their scores are not read.
        options : mapping of str to str
            Value of each option.

        Returns
        -------
        str
            "" if one can.
        """
        reasons = [*self.blind_measures(judgements, self.shown(judgements, options)).values()]
        return reasons[0] if all(reasons) else ""

    def blind_measures(self, judgements: Judgements, keys: Iterable[str]) -> dict[str, str]:
        """Return why measures cannot distinguish metrics by these rows.

        Parameters
        ----------
        judgements : Judgements
            The rows; their scores are not read.
        keys : iterable of str
            Of the measures.

        Returns
        -------
        dict of str to str
            By key; "" if it can.
        """
        why = cache(lambda blind: blind(judgements))  # several measures have one reason
        return {key: why(self.measure(key).blind) for key in keys}

    def ranked_by(self, shown: Sequence[str]) -> str:
        """Return the key of the measure that metrics are ranked by.

        Parameters
        ----------
        shown : sequence of str
            Keys of the table's measures.

        Returns
        -------
        str
            The headline, or if `shown` lacks it, the first.
        """
        return self.headline if self.headline in shown else shown[0]
