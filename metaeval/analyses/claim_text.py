"""Read a published number from a sentence: "0.71 AUC on WiCE", "WiCE: ROC-AUC 71.3", "an AUC of .71 on WiCE"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor

from metaeval import registry
from metaeval.display_text import count
from metaeval.errors import UserError, shown, unknown
from metaeval.stats.open_choices import BINARY, GRADED

LONGEST = 500
"""Most characters of a claim."""

NAMES: Mapping[str, str] = {
    **dict.fromkeys(("auc", "auroc", "rocauc", "rocaucscore", "aucroc"), "auc"),
    **dict.fromkeys(("ap", "auprc", "averageprecision", "prauc", "aucpr"), "average precision"),
    **dict.fromkeys(("acc", "accuracy"), "accuracy"),
    **dict.fromkeys(("bacc", "balancedaccuracy", "balancedacc"), "balanced accuracy"),
    **dict.fromkeys(("f1", "f1score"), "f1"),
    **dict.fromkeys(("pearson", "pearsonr", "r", "pearsoncorrelation"), "pearson"),
    **dict.fromkeys(("spearman", "spearmanr", "rho", "spearmanrho", "spearmancorrelation"), "spearman"),
    **dict.fromkeys(("kendall", "tau", "kendalltau", "taub"), "kendall"),
}

_WORD = re.compile(r"[^\s,;:()]+")
_PLAIN = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"(-?\d*\.?\d+)(%?)\.?")
_LEADING = frozenset("a an the of is at we on reach reaches has have gets for with by in score".split())
_MOST_WORDS = 4


@dataclass(frozen=True)
class PublishedClaim:
    """A published number to be checked. value: from -1 to 1 (71.3 is 0.713). digits: number of its decimals (3)."""

    text: str
    value: float
    digits: int
    measure: str
    dataset: str

    def given_by(self, value: float) -> bool:
        """Return whether a value, from -1 to 1, equals this number if it is rounded to as many decimals."""
        return value == value and abs(value - self.value) <= 0.5 * 10.0**-self.digits + 1e-9

    def cut_from(self, value: float) -> bool:
        """Return whether a value equals this number if its further decimals are cut, but not if it is rounded."""
        if value != value or self.given_by(value):
            return False
        unit = 10.0**self.digits
        return floor(abs(value) * unit + 1e-9) == round(abs(self.value) * unit) and value * self.value >= 0


def read_claim(text: str) -> PublishedClaim:
    """Read a claim such as "0.71 AUC on WiCE": one number, a measure and a data set, in any order.

    Raises `UserError` that names the part that is missing or not understood, and for two numbers, which are compared
    by another command.
    """
    if len(text) > LONGEST:
        raise UserError(
            f"The claim has {count(len(text), 'character')}, at most {LONGEST} are read: give its sentence alone."
        )
    words = _WORD.findall(text)
    datasets = {_plain(name): name for name in registry.names("dataset")}
    data, rest = _longest(words, datasets)
    measure, rest = _longest(rest, NAMES)
    numbers = [match for word in rest if (match := _NUMBER.fullmatch(word))]
    if len(numbers) == 2:
        first, second = (match[0] for match in numbers)
        where = f" -d {data}" if data else ""
        metrics = {_plain(name): name for name in registry.names("metric")}
        named = dict.fromkeys(metrics[_plain(word)] for word in rest if _plain(word) in metrics)
        pair = " ".join(named) if len(named) == 2 else "METRIC OTHER"
        raise UserError(
            f"The claim has two numbers ({first} and {second}). To test whether one metric is better than another, "
            f"type 'metaeval compare {pair}{where}', or 'metaeval compare FIRST.csv SECOND.csv{where}' with two "
            "files of scores; to check one of the numbers, give it alone."
        )
    if len(numbers) != 1:
        raise UserError(
            f'Cannot read the claim {shown(text)}; write NUMBER MEASURE on DATA SET, as in "0.71 AUC on WiCE".'
        )
    left = [word for word in rest if not _NUMBER.fullmatch(word) and word.casefold().strip(".%") not in _LEADING]
    if measure is None:
        raise unknown("measure of a claim", _left(left, text, 0), [*BINARY, *GRADED])
    if data is None and not left:
        raise UserError(f'The claim {shown(text)} names no data set; add it, as in "0.71 AUC on WiCE".')
    if data is None:
        raise unknown("data set", _left(left, text, -1), datasets.values(), registry.LIST_COMMAND["dataset"])
    percent = bool(numbers[0][2]) or "%" in rest
    return _claim(text, Decimal(numbers[0][1]), percent, measure, data)


def _claim(text: str, number: Decimal, percent: bool, measure: str, data: str) -> PublishedClaim:
    digits = max(0, -int(number.as_tuple().exponent))
    if percent or abs(number) > 1:
        number, digits = number / 100, digits + 2
    if abs(number) > 1:
        raise UserError(
            f"The claim {text!r} is impossible: {measure} lies between -1 and 1 (100 %): correct the number."
        )
    return PublishedClaim(text, float(number), digits, measure, data)


def _left(words: Sequence[str], text: str, place: int) -> str:
    """Return the words, not numbers, of `text` before its only "on" (place 0) or behind it (-1); else all `words`."""
    behind = re.split(r"\son\s", text.casefold())
    if len(behind) == 2:
        known = [word for word in _WORD.findall(behind[place]) if not _NUMBER.fullmatch(word) and word != "%"]
        return " ".join(known)
    return " ".join(words).casefold()


def _plain(text: str) -> str:
    return _PLAIN.sub("", text.casefold())


def _longest(words: Sequence[str], known: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """Return the value of the longest run of words that is a key of `known`, or None, and the words outside the run.

    known: values by lower-case text without spaces and signs. A run has at most `_MOST_WORDS` words.
    """
    for length in range(_MOST_WORDS, 0, -1):
        for start in range(len(words) - length + 1):
            if not all(map(_plain, words[start : start + length])):  # a sign such as % belongs to a number
                continue
            if (value := known.get(_plain("".join(words[start : start + length])))) is not None:
                return value, [*words[:start], *words[start + length :]]
    return None, [*words]
