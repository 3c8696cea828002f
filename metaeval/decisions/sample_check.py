"""A check that the items with a label can be a random sample of all items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from metaeval.core.errors import UserError, shown
from metaeval.decisions.citation_items import CitationItems
from metaeval.decisions.item_labels import LabelledItems
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.ties import midranks

ODDS = 1e-3  # probability that the labels of a random sample are rejected

# Random samples with which labelled items are compared at most, and how many of them may be as unlike all items.
_DRAWS, _ENOUGH = 1999, 20

# Least share of the items of answers with a label that are labelled, for the answers to count as what was drawn.
_NEARLY_WHOLE = 0.8


def check_sample(items: CitationItems, labelled: LabelledItems, scores: Mapping[str, Floats]) -> None:
    """Raise `UserError` for labelled items that are too unlike all items to be a random sample by their design.

    scores: (N,) by metric. Values that are known for every item are compared: the means over the labelled items of each
    metric's score, the place in the file, the words of statement and source, and each system's share; and the number of
    labelled items that follow each other in the file.

    Ranks are compared, since a few long texts would decide a mean. Samples of (nearly) equal probabilities are compared
    with random samples, which is exact: of items and, if the answers with a label are labelled nearly whole, also of
    answers; they are refused where both are. Means of other samples are weighted, and tested with a bound on their
    variance.
    """
    from scipy.special import ndtr

    known: dict[str, Floats] = {f"score of {name}": score for name, score in scores.items()}
    known["place in the file (0 first, 1 last)"] = np.arange(len(items.rows)) / (len(items.rows) - 1)
    known |= {f"number of {name}": many for name, many in items.lengths.items()}
    systems = Counter(row.system for row in items.rows)
    for system, _ in systems.most_common(5) if len(systems) > 1 else ():
        known[f"share of system {shown(system)}"] = np.array([float(row.system == system) for row in items.rows])
    # The first item of a claim stands for all, for which others have a label depends on its label.
    drawn, at = np.unique(items.singles[labelled.sample.rows], return_index=True)
    first = np.unique(items.singles, return_index=True)[1]
    names = [name for name, every in known.items() if every[first].std() > 0]
    centred = np.array([midranks(known[name][first]) / first.size for name in names]).T
    centred -= centred.mean(axis=0)
    chance = labelled.sample.probability[at]
    if np.ptp(chance) > 0.25 * chance.mean():
        unit = items.groups[first] if labelled.unit == "answer" else np.arange(first.size)
        weight = first.size / chance / np.sum(1 / chance)
        here = np.array([np.bincount(unit[drawn], weight * every[drawn]) for every in centred.T])
        # The estimate of the variance can be far too small; that of values without a relation to weights cannot.
        usual = np.sum([np.bincount(unit, every) ** 2 for every in centred.T], axis=1) * np.average(
            weight, weights=weight
        )
        variance = np.maximum(usual, np.sum(here**2, axis=1))
        each = 2 * len(names) * ndtr(-np.abs(here.sum(axis=1)) / np.sqrt(variance))
        p, worst = min(1.0, *each), int(np.argmin(each))
    else:
        answers = items.groups[first]
        p, worst = _unlike(centred, np.arange(first.size), drawn)
        held = np.isin(answers, answers[drawn])
        if p <= ODDS and drawn.size > _NEARLY_WHOLE * held.sum():
            p = max(p, _unlike(centred, answers, np.flatnonzero(held))[0])
    if p <= ODDS:
        how = "too many of them follow each other in the file"
        if worst < len(names):
            every = known[names[worst]][first]
            mean = float(np.average(every[drawn], weights=1 / chance))
            how = f"their mean {names[worst]} is {mean:.3g}, and that of all {items.what} {every.mean():.3g}"
        what = f"The {drawn.size:,} labelled {items.what} are not a random sample of the {first.size:,}"
        cure = "draw items with 'metaeval label', give each its 'probability', or set assume_sample=true"
        raise UserError(f"{what}: {how} (p {p:.1g}; design: {labelled.design}). If they are none, {cure}.")


def _unlike(centred: Floats, unit: Ints, drawn: Ints) -> tuple[float, int]:
    """Return the p-value of drawn items among random samples of as many units, and the number of the worst value.

    centred: (N, V) values minus their means. unit: (N,) code of each item's sampling unit. drawn: items, all of each
    drawn unit. Compared is the largest standardised difference of a value's mean, or of the number of drawn units that
    follow each other in the file (number V). Samples are drawn until 20 are as unlike, and the p-value stays valid
    (Besag and Clifford 1991).
    """
    first, code = np.unique(unit, return_index=True, return_inverse=True)[1:]
    code = np.argsort(np.argsort(first))[code]  # in the order of the file
    size = np.bincount(code)
    sums = np.array([np.bincount(code, every) for every in centred.T])
    here = np.unique(code[drawn])
    part = here.size / size.size
    if part == 1:
        return 1.0, 0
    spread = sums.std(axis=1) * np.sqrt((1 - part) / here.size) + 1e-12

    def differences(at: Ints) -> Floats:
        means = np.abs(sums[:, at].sum(axis=1)) / size[at].sum() * size.mean() / spread
        runs = (np.diff(np.sort(at)) == 1).sum() - part * here.size
        return np.append(means, runs / (np.sqrt(here.size * part) * (1 - part)))

    observed, random, as_unlike = differences(here), np.random.default_rng(0), 0
    for draws in range(1, _DRAWS + 1):
        sample = random.choice(size.size, here.size, replace=False, shuffle=False)
        as_unlike += bool(differences(sample).max() >= observed.max() - 1e-9)
        if as_unlike == _ENOUGH:
            return as_unlike / draws, int(np.argmax(observed))
    return (as_unlike + 1) / (_DRAWS + 1), int(np.argmax(observed))
