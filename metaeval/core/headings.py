"""The headings of people's tables by role: one vocabulary for every command; and how a command reads tables.

A kind of table (`SCORES`, `RATINGS`, `PAIRS`, `CITATIONS`, `LABELS`) maps its roles to their usual headings, best
first. Headings are compared without case, accents, spaces and what stands in brackets: "Réponse (bot)" is "reponse".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from metaeval.core.errors import UserError, did_you_mean, shown

Headings = Mapping[str, Sequence[str]]

ROLES = ("question", "answer", "passages", "statement", "source", "id", "group", "system", "score", "gold", "annotator")
"""The roles that `--map` takes in every command; some commands have further ones (pair, stratum ...)."""

LEVELS = ("full", "partial", "none")
"""Levels of support, of which `--map` takes words in place of a column: full=WORD,WORD."""

# What a role is called in one kind of table, and its other names, which are accepted there.
_OTHER_NAMES = {
    "gold": ("level",),
    "level": ("gold",),
    "pair_id": ("id",),
    "source": ("passages",),
    "answer": ("text",),
    "text": ("answer",),
}

_SYSTEM = "system model generator modell modele modelo modello systeme sistema".split()
_HUMAN = [f"human_{word}" for word in "label level verdict rating judgement judgment".split()]
_GOLD = [*_HUMAN, *"urteil bewertung jugement juicio valoracion giudizio valutazione".split(), "evaluation humaine"]
_LABELLED = "gold_label ground_truth human_annotation human_score".split()
_JUDGED = "annotation judgement judgment verdict".split()
_ANNOTATOR = "bewerter annotateur annotatrice evaluateur anotador evaluador annotatore anotadora".split()
_QUESTION = "question frage pregunta domanda pergunta vraag".split()
_GROUP = "gruppe groupe grupo gruppo groep".split()

SCORES: Headings = {
    "pair_id": ("pair_id", "pair", "rating_id", "citation_id", "id", "item"),
    "score": ("score", "scores", "value", "prediction"),
    **{name: (name,) for name in ("status", "tokens", "cut")},
}

RATINGS: Headings = {
    "id": ("id", "rating_id", "item_id", "item"),
    "gold": ("gold", "human", *_HUMAN, *_LABELLED, "level", "label", "rating", *_GOLD, *_JUDGED),
    "group": ("group", "article", "document", "query", "input", "question_id", *_QUESTION, *_GROUP),
    "pair": ("pair", "pair_id"),
    "system": _SYSTEM,
    "subset": ("subset",),
    "text": ("text",),
    "annotator": ("annotator", "rater", "coder", "worker", "worker_id", "annotator_id", *_ANNOTATOR),
}

TEXTS: Headings = {
    "source": (
        "source passage document evidence retrieved_contexts retrieved_context retrieval_context contexts context "
        "reference page premise snippet quelle beleg fundstelle textstelle "
        "fuente pasaje fonte brano extrait bron"
    ).split(),
    "statement": (
        "statement claim sentence hypothesis assertion fact aussage behauptung satz affirmation enonce phrase "
        "afirmacion enunciado oracion affermazione afirmacao bewering stelling"
    ).split(),
}
"""The two texts of a pair."""

PLURALS = (*(f"{name}s" for name in TEXTS["source"]), "quellen", "belege", "fundstellen", "textstellen", "fonti")
"""Headings of a column that lists passages."""

PAIR_FIELDS = frozenset(("citation_level", "chunk", "held", "statement", "kind", "original"))
"""Headings that 'metaeval pairs' writes, of columns that are never read as scores."""

PAIRS: Headings = {"id": (*RATINGS["id"], "pair_id"), **TEXTS}

CITATIONS: Headings = {
    "id": "id item item_id citation_id pair_id citation key nr no number nummer numero".split(),
    **{role: TEXTS[role] for role in ("statement", "source")},
    "group": ("group", *_GROUP, "question_id"),
    "question": (*_QUESTION, "query", "prompt", "topic", "user_input", "input"),
    "answer": ("answer_id", "response_id", "answer"),
    "system": _SYSTEM,
}
"""Citations to label or judge, one in each row."""

ANSWERS = "text answer response output actual_output antwort reponse respuesta risposta resposta antwoord".split()
"""Headings of a column of answers with citation marks."""

LABELS: Headings = {
    "id": CITATIONS["id"],
    "level": (
        *"level label support verdict judgement judgment annotation rating gold human decision supported".split(),
        *_GOLD,
    ),
    "probability": ("probability", "selection_probability", "p_selected", "inclusion_probability", "pi"),
    "stratum": ("stratum", "strata"),
    "unit": ("unit", "drawn"),
    "annotator": ("annotator", "rater", "judge", "coder", "annotator_id", "labelled_by", "who", *_ANNOTATOR),
}


def read_columns(columns: object, *kinds: Headings) -> object:
    """Return {role: heading} from ROLE=COLUMN texts or a mapping.

    kinds: tables whose roles are allowed, beside `ROLES`, `LEVELS`, text and level. Raises `UserError` for an unknown
    role. A value of another type is returned unchanged, so that validation refuses it.
    """
    pairs = [f"{role}={heading}" for role, heading in columns.items()] if isinstance(columns, Mapping) else columns
    if not isinstance(pairs, list | tuple) or not all(isinstance(pair, str) for pair in pairs):
        return columns
    known = list(dict.fromkeys((*ROLES, *LEVELS, "text", "level", *(role for kind in kinds for role in kind))))
    headings = {}
    for pair in pairs:
        role, equals, heading = (part.strip() for part in pair.partition("="))
        if not equals or not role or not heading:
            raise UserError(f"--map {pair}: allowed: ROLE=COLUMN, for example --map level=Verdict.")
        if role not in known:
            listed = ", ".join(shown(name, 30) for name in known)
            raise UserError(f"--map {pair}: unknown role.{did_you_mean(role, known)} Roles: {listed}.")
        headings[role] = heading
    return headings


def mapped(kind: Headings, columns: Mapping[str, str]) -> dict[str, str]:
    """Return {role: heading} for the roles of a kind of table that `columns` maps, by any name of the role."""
    named = {role: [name for name in (role, *_OTHER_NAMES.get(role, ())) if name in columns] for role in kind}
    return {role: columns[names[0]] for role, names in named.items() if names}


READING: ContextVar[tuple[str, bool]] = ContextVar("metaeval-tables", default=("", False))
"""How the running command reads tables: the encoding of CSV files, and whether bad cells are skipped."""


@contextmanager
def reading_tables(encoding: str = "", skip_bad_cells: bool = False) -> Iterator[None]:
    """Set how tables are read in this block. encoding: of CSV files ("": UTF-8, or what is detected).

    skip_bad_cells: leave cells that are not numbers blank, in columns of numbers, instead of an error.
    """
    token = READING.set((encoding, skip_bad_cells))
    try:
        yield
    finally:
        READING.reset(token)
