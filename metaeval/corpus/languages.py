"""The language of texts, the words of a text by the rules of its language, and the stems of words."""

from __future__ import annotations

import importlib
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from heapq import nsmallest
from importlib.util import find_spec
from itertools import accumulate, groupby
from typing import Literal, get_args

from metaeval.core.errors import UserError, install_extra
from metaeval.corpus.sentences import language_note

# ISO 639-1 codes. auto: the language of the job's texts; other: another language, or several.
Language = Literal[
    "auto", "en", "ar", "bn", "cs", "da", "de", "el", "es", "fa", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "ko",
    "lt", "nl", "no", "pl", "pt", "ro", "ru", "sv", "ta", "te", "th", "tr", "ur", "zh", "other",
]  # fmt: skip

# Function words by language, which the metric overlap leaves out of statements; it has the English ones itself.
FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    "de": frozenset(
        """aber alle als also am an auch auf aus bei beim bis da das dass dann dem den der des die dies diese dieser
        dieses doch durch ein eine einem einen einer eines er es für hat haben hatte ich ihm ihn ihr ihre im in ist
        kann kein keine mit nach nicht noch nur ob oder ohne sein seine sich sie sind so über um und uns unter vom von
        vor war waren was weil wenn wer werden wie wird wurde wurden zu zum zur zwischen""".split()
    ),
    "es": frozenset(
        """a al ante aunque como con cual cuando de del desde donde durante e el ella ellos en entre era es esa ese eso
        esta este esto están fue fueron ha han hasta hay la las le les lo los más me mi muy ni no o para pero por
        porque que qué se ser si sin sobre son su sus también te tu un una unas uno unos y ya""".split()
    ),
    "fr": frozenset(
        """à au aux avec c ce ces cet cette comme d dans de des donc du elle elles en est et été être eu il ils j je l
        la le les leur leurs lui ma mais me même n ne nos notre nous on ont ou où par pas pour qu que qui s sa se ses
        si son sont sur ta te tu un une vous y""".split()
    ),
    "hi": frozenset(
        """और का की के को में है हैं था थी थे से पर ने यह वह इस उस एक कि जो तो भी ही या हो हुआ हुई हुए कर करता करते करने किया
        गया गई गए जा जाता जाती जाते तक तथा लिए साथ अपने उनके इसके नहीं रहा रही रहे होता होती होते द्वारा कुछ ये वे""".split()
    ),
}

_STEMMERS: Mapping[str, str] = {
    **{"ar": "arabic", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish", "fa": "persian"},
    **{"fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian"},
    **{"lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian"},
    **{"ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
# The language that a script is taken for where nothing else is known.
_SCRIPTS: Mapping[str, str] = {
    **{"ARABIC": "ar", "BENGALI": "bn", "CJK": "zh", "CYRILLIC": "ru", "DEVANAGARI": "hi", "GREEK": "el"},
    **{"HANGUL": "ko", "HEBREW": "he", "HIRAGANA": "ja", "KATAKANA": "ja", "TAMIL": "ta", "TELUGU": "te", "THAI": "th"},
}
_JOINERS = "\u200c\u200d"
# Thai, Lao, Burmese, Khmer, Kana and Han: each character is a word.
_WITHOUT_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Soft hyphens, zero-width spaces and joiners, signs of direction and variants of letters; not operators.
_INVISIBLE = (
    *(0xAD, 0x34F, 0x61C, *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060),
    *(*range(0x2066, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF, *range(0xE0000, 0xE1000)),
)
# Kinds of characters that NFKC takes for plain ones though they mean something else: 10² is not 102, 1½ not 11/2.
_OTHER_MEANING = frozenset({"<super>", "<sub>", "<fraction>", "<circle>"})
# The pattern of a word in English, and in a text of unknown language without combining marks.
ENGLISH = re.compile(r"\w+")
_READ = 250  # statements, and as many sources, from which the language of a job is told
_CLEAR = 0.8  # share of the letters that a language must have, or the texts are in several
_log = logging.getLogger("metaeval")


@lru_cache(maxsize=8)  # for the metrics of a job
def language_of(texts: tuple[str, ...]) -> str:
    """Return the language of texts: a value of `Language`, never auto.

    It is English unless the texts hold much that is not (`language_note`), whatever a detector says: a few words are
    no evidence. Other languages are detected by py3langid, text by text, weighted by length: "other" where none has
    80 % of the characters, or `Language` lacks it. Without that package the most frequent script decides, with a
    warning: a Latin one is called English.
    """
    some = [fold(text) for text in texts if text.strip()]
    if not language_note(some):
        return "en"
    if find_spec("py3langid") is None:
        scripts = Counter(unicodedata.name(c, "LATIN").split()[0] for text in some for c in text if c.isalpha())
        most = (_SCRIPTS.get(name, "other") for name, _ in scripts.most_common(1) if name != "LATIN")
        language = "ja" if scripts["HIRAGANA"] + scripts["KATAKANA"] else next(most, "en")
        _warn(language)
        return language
    classify = importlib.import_module("py3langid").classify
    letters: Counter[str] = Counter()
    for text in some:
        letters[str(classify(text)[0])] += len(text)
    ((language, count),) = letters.most_common(1)
    return language if count >= _CLEAR * letters.total() and language in get_args(Language) else "other"


def language_of_pairs(statements: Collection[str], sources: Collection[str]) -> str:
    """Return the language of a job's texts, from its alphabetically first 250 statements and 250 sources."""
    return language_of((*nsmallest(_READ, statements), *nsmallest(_READ, sources)))


@cache
def _warn(language: str) -> None:
    _log.warning(
        "The texts do not look English. Without py3langid their language is taken from the script (%s): type %s, or "
        "set the metrics' option language.",
        *(language, install_extra("languages")),
    )


@cache
def marks() -> str:
    """Return all combining marks (vowel signs, accents) as ranges, for a class of characters in a regular expression.

    Python's \\w does not match them, and so cuts Hindi words.
    """
    every = (*range(0x20000), *range(0xE0100, 0xE01F0))  # no other plane has marks
    codes = [code for code in every if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda at: at[1] - at[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word in any language but English; in scripts without spaces each character is one."""
    inside = marks()
    spaced = f"(?![{_WITHOUT_SPACES}])"
    return re.compile(rf"[{_WITHOUT_SPACES}][{inside}]*|{spaced}\w(?:{spaced}[\w{inside}{_JOINERS}])*")


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{marks()}]")


def has_marks(text: str) -> bool:
    """Return whether a text holds a combining mark, such as a Hindi vowel sign; a composed letter (é) is none."""
    return not text.isascii() and _mark().search(text) is not None


def ends_in_word(text: str) -> bool:
    """Return whether the last character of a text is a letter, a mark on a letter, or a digit."""
    return text[-1:].isalnum() or has_marks(text[-1:])


def words_of(text: str, language: str = "", english: re.Pattern[str] = ENGLISH) -> list[str]:
    """Return the words of a text in lower case, by `english` in an English text, else by `word_pattern`.

    language: of the text; "": a text with combining marks (`has_marks`) is not English, every other one is.
    """
    lower = text.lower()
    if language == "en" or (not language and not has_marks(lower)):
        return english.findall(lower)
    return word_pattern().findall(plain_word(lower))


def plain_word(word: str) -> str:
    """Return a word in Unicode's composed form (NFC), without zero-width joiners, so that equal words are equal."""
    return unicodedata.normalize("NFC", word).translate(dict.fromkeys(map(ord, _JOINERS)))


@cache
def _plain_forms() -> dict[int, str]:
    forms = dict.fromkeys(_INVISIBLE, "")
    for code in range(0x20000):  # no other plane has compatibility characters
        kind, *parts = unicodedata.decomposition(chr(code)).split() or [""]
        if kind.startswith("<") and kind not in _OTHER_MEANING:
            plain = "".join(forms.get(int(part, 16), chr(int(part, 16))) for part in parts)
            if len(plain) == 1 or not any(map(str.isdecimal, plain)):  # 1⒈ is not 11.
                forms[code] = plain
    return forms


def fold(text: str) -> str:
    """Return a text in the form in which words are compared: texts that differ in Unicode form alone become equal.

    That is NFKC without invisible characters (soft hyphens, zero-width ones), but powers, indices, fractions and
    numbers in circles or brackets stay: ² is not 2.
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_plain_forms()))


def unfolded(text: str) -> Callable[[int, int], tuple[int, int]]:
    """Return a function from start and end of some characters of `fold(text)` to start and end of theirs in `text`."""
    # Both texts have the same letters and marks in NFD, up to the order of marks on a letter.
    origins = [place for place, char in enumerate(text) for _ in unicodedata.normalize("NFD", fold(char))]
    ends = [0, *accumulate(len(unicodedata.normalize("NFD", char)) for char in fold(text))]
    return lambda start, end: (origins[ends[start]], origins[ends[end] - 1] + 1)


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return a function from a word to its Snowball stem; `UserError` for English and languages without one.

    Raises `UserError` also where the package snowballstemmer is missing.
    """
    if language not in _STEMMERS:
        known = ", ".join(("en", *sorted(_STEMMERS)))
        raise UserError(f"There is no stemmer for the language {language}: leave stem out, or set language to {known}.")
    if find_spec("snowballstemmer") is None:
        raise UserError(f"Stems of {language} need the package snowballstemmer: type {install_extra('languages')}.")
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(_STEMMERS[language]).stemWord
    return cache(stem)
