"""Canary pairs: short texts that metrics tend to trip over, and published scores of real checkpoints."""

from __future__ import annotations

from typing import NamedTuple


class Canary(NamedTuple):
    """A pair and what it is there for."""

    name: str
    source: str
    statement: str


_BRIDGE = (
    "The Halver bridge was closed to lorries in 2009 after inspectors found cracks in two of its nine piers. It was "
    "reopened in May 2012. The repair cost 4.6 million euros, a third of which the province paid."
)
_MOTH = (
    "In a trial with 312 gardeners, those who hung up pheromone traps found codling moth in 11 % of their apples, "
    "against 27 % in gardens without traps. The traps did nothing against scab."
)
_TOWN = (
    "The parish council of Nether Oving met on the first Tuesday of the month. Mr. Dale asked for a bench at the bus "
    "stop. Mrs. Harrow said that the last one had been taken away by the flood of 1998, and that nobody had missed it. "
    "The clerk read out a letter from the water board about the new pumping station, which will be built north of the "
    "mill. It was agreed to ask for the drawings. The footpath to the school was discussed for the fourth time. "
)
_FLOOD = "The pumping station was moved south of the mill after the public hearing in March, as Dr. Lund had proposed. "

CANARIES = (
    Canary("supported", _BRIDGE, "The bridge was opened again in May 2012."),
    Canary("contradicted", _BRIDGE, "The bridge was never reopened."),
    Canary("unrelated", _BRIDGE, "Codling moths lay their eggs on leaves close to the fruit."),
    Canary("partial", _BRIDGE, "The repair cost 4.6 million euros, and the province paid all of it."),
    Canary("numbers", _MOTH, "With traps, moths were in 27 % of the apples; without them, in 11 %."),
    Canary("negation", _MOTH, "The traps did not reduce scab."),
    Canary(
        "several sentences", _MOTH, "The trial had 312 participants. Traps helped against moths. They also cured scab!"
    ),
    Canary("unicode", "Die Brücke über die Würm heißt «Zoë-Steg» — 橋は1931年に完成した。🙂", "橋は1931年に完成した。"),
    Canary("short", "No.", "Yes."),
    Canary("the same text", _MOTH, _MOTH),
    Canary("long source", _TOWN * 6 + _FLOOD + _TOWN, "The pumping station was moved after a public hearing."),
    Canary("long statement", _BRIDGE, _TOWN.strip()),
    Canary("white space and marks", f"\n  {_BRIDGE}\t\n\n[3][4]  ", "  The province paid\na third. [3] "),
)


class Published(NamedTuple):
    """A score that the authors of a metric published for its real checkpoint, rounded as they printed it."""

    source: str
    statement: str
    score: float
    decimals: int
    where: str


PUBLISHED: dict[str, tuple[Published, ...]] = {
    "bartscore": (
        Published("This is interesting.", "This is fun.", -2.510652780532837, 6, "README of neulab/BARTScore"),
    ),
    "hhem": (
        Published(
            "The capital of France is Berlin.", "The capital of France is Paris.", 0.0110615, 4, "card of HHEM-2.1-Open"
        ),
    ),
    "alignscore": (Published("hello world.", "hello world.", 0.9887, 4, "issue 8 of yuh-zha/AlignScore"),),
}
"""By metric, with its default options: they hold for the published weights alone."""
