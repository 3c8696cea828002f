"""Parsers by name (stored parses, spaCy, UD), and what they give: tokens with their edge's label and head's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.errors import UserError
from metaeval.reading import read_object, read_text

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

ROOT = "ROOT"


@dataclass(frozen=True, slots=True)
class Parse:
    """A dependency parse in the labels of spaCy's English models (nsubj, prep, pobj, advcl, cc, conj ...).

    tokens, labels, heads: one entry per token, in text order. A root's head is its own place. There can be several
    roots, where the parser saw several sentences, and none, where the text holds no token.
    Raises `ValueError` for columns of different lengths, a head that is no place, and heads that go in a circle.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if (len(self.labels), len(self.heads)) != (count, count):
            raise ValueError(
                f"A parse has one label and one head per token: {count} tokens, {len(self.labels)} labels, "
                f"{len(self.heads)} heads."
            )
        for place, head in enumerate(self.heads):
            if not 0 <= head < count:
                raise ValueError(f"Token {place} has head {head}; allowed are 0 to {count - 1}.")
        for place in range(count):
            above, steps = place, 0
            while self.heads[above] != above:
                above, steps = self.heads[above], steps + 1
                if steps > count:
                    raise ValueError(f"The heads of token {place} go in a circle; they must lead to a root.")

    @property
    def roots(self) -> tuple[int, ...]:
        """Places of the roots, in order."""
        return tuple(place for place, head in enumerate(self.heads) if head == place)


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser by name. parse: texts to their parses, in order, a batch at a time.

    name: what a result says about who parsed: backend, model and version.
    """

    name: str
    parse: Callable[[Sequence[str]], list[Parse]]


def under_one_root(parse: Parse) -> Parse:
    """The parse with every further root hung on the first one, without a label."""
    if len(parse.roots) < 2:
        return parse
    first, *others = parse.roots
    heads = tuple(first if place in others else head for place, head in enumerate(parse.heads))
    labels = tuple("" if place in others else label for place, label in enumerate(parse.labels))
    return Parse(parse.tokens, labels, heads)


def stored_parser(parses: Mapping[str, Parse], name: str = "stored") -> Parser:
    """A parser that looks its texts up; a text that is not there raises `UserError`."""

    def parse(texts: Sequence[str]) -> list[Parse]:
        for text in texts:
            if text not in parses:
                raise UserError(
                    f"The stored parses hold none of {text!r}: they were made from other sentences, or with another "
                    "profile. Parse again with the parser 'small' or 'spacy:NAME'."
                )
        return [parses[text] for text in texts]

    return Parser(name, parse)


_LABELS = {
    "nsubj:pass": "nsubjpass",
    "csubj:pass": "csubjpass",
    "aux:pass": "auxpass",
    "obj": "dobj",
    "iobj": "dative",
    "obl": "npadvmod",
    "obl:tmod": "npadvmod",
    "obl:unmarked": "npadvmod",
    "obl:npmod": "npadvmod",
    "obl:agent": "agent",
    "nmod:poss": "poss",
    "acl:relcl": "relcl",
    "advcl:relcl": "relcl",
    "compound:prt": "prt",
    "det:predet": "predet",
    "flat": "compound",
    "flat:name": "compound",
    "discourse": "intj",
    "cc:preconj": "preconj",
    "root": ROOT,
}
# What belongs to the clause, not to its predicate noun or adjective.
_OF_CLAUSE = frozenset(
    """nsubj nsubj:pass nsubj:outer csubj csubj:pass aux aux:pass advcl mark expl ccomp parataxis discourse
    vocative""".split()
)


@dataclass(frozen=True, slots=True)
class UDToken:
    """One word of a UD tree. head: its head's place from 1, 0 for the root, as CoNLL-U counts."""

    form: str
    head: int
    label: str
    tag: str = ""


@dataclass(slots=True)
class _Edges:
    """The edges while they are being changed."""

    heads: list[int]
    labels: list[str]

    def children(self, node: int) -> list[int]:
        return [place for place, head in enumerate(self.heads) if head == node and place != node]

    def subtree(self, node: int) -> list[int]:
        below = [node]
        for found in below:
            below.extend(self.children(found))
        return below

    def replace(self, old: int, new: int, label: str) -> None:
        """`new` takes the place of `old` in the tree, and `old` hangs on it with the label."""
        self.heads[new] = new if self.heads[old] == old else self.heads[old]
        self.labels[new] = self.labels[old]
        self.heads[old], self.labels[old] = new, label


def from_ud(tokens: Sequence[UDToken]) -> Parse:
    """A Universal Dependencies tree in the labels and shapes of spaCy's English models, which the ALiiCE rules read.

    UD hangs function words on content words; the rules want the opposite. Five changes, in this order: the last word of
    a name is its head; a copula takes its predicate's place; commas at the edge of a phrase move to the phrase's
    governor; prepositions take their noun's place; conjuncts form a chain from left to right, with conjunctions and
    commas on the left one. Several roots are joined under the first one.

    Raises `ValueError` where `Parse` does.
    """
    heads = [place if token.head == 0 else token.head - 1 for place, token in enumerate(tokens)]
    forms = tuple(token.form for token in tokens)
    labels = tuple(token.label for token in tokens)
    checked = under_one_root(Parse(forms, labels, tuple(heads)))
    edges = _Edges(list(checked.heads), list(checked.labels))
    _head_names_last(edges)
    _raise_copulas(edges, tokens)
    _raise_commas(edges, forms)
    _raise_prepositions(edges)
    _chain_conjuncts(edges, forms)
    return Parse(forms, tuple(_LABELS.get(label, label) for label in edges.labels), tuple(edges.heads))


def _head_names_last(edges: _Edges) -> None:
    for first in range(len(edges.labels)):
        parts = [child for child in edges.children(first) if edges.labels[child] in ("flat", "flat:name")]
        if not parts or parts[0] < first:
            continue
        last = parts[-1]
        edges.replace(first, last, "compound")
        for child in edges.children(first):
            edges.heads[child] = last


def _raise_copulas(edges: _Edges, tokens: Sequence[UDToken]) -> None:
    for verb in [place for place, label in enumerate(edges.labels) if label.split(":")[0] == "cop"]:
        predicate = edges.heads[verb]
        adjective = tokens[predicate].tag == "ADJ"
        edges.replace(predicate, verb, "acomp" if adjective else "attr")
        for child in edges.children(predicate):
            label = edges.labels[child]
            clause = label == "conj" and any(
                edges.labels[below].startswith(("nsubj", "csubj", "cop")) for below in edges.children(child)
            )
            if label in _OF_CLAUSE or clause or (label in ("advmod", "cc", "punct", "obl") and child < verb):
                edges.heads[child] = verb


def _raise_commas(edges: _Edges, forms: Sequence[str]) -> None:
    for comma in [place for place, form in enumerate(forms) if form == ","]:
        phrase = edges.heads[comma]
        if phrase == comma or edges.heads[phrase] == phrase or edges.labels[phrase] == "conj":
            continue
        others = [place for place in edges.subtree(phrase) if place != comma]
        if comma < min(others) or comma > max(others):
            edges.heads[comma] = edges.heads[phrase]


def _raise_prepositions(edges: _Edges) -> None:
    for noun in range(len(edges.labels)):
        # A case word behind its noun is a possessive 's.
        before = [child for child in edges.children(noun) if edges.labels[child] == "case" and child < noun]
        for preposition in reversed(before):
            top = noun if preposition == before[-1] else before[before.index(preposition) + 1]
            was = edges.labels[top]
            edges.replace(top, preposition, "pobj" if top == noun else "prep")
            if was not in ("conj", "root"):
                edges.labels[preposition] = "agent" if was == "obl:agent" else "prep"


def _chain_conjuncts(edges: _Edges, forms: Sequence[str]) -> None:
    for first in range(len(edges.labels)):
        left = first
        for conjunct in [child for child in edges.children(first) if edges.labels[child] == "conj"]:
            # Of a prepositional phrase its noun is what the next conjunct hangs on.
            noun = next((child for child in edges.children(conjunct) if edges.labels[child] == "pobj"), None)
            # "in the north and in the south": the prepositions are what is coordinated.
            to = edges.heads[left] if edges.labels[left] == "pobj" and noun is not None else left
            edges.heads[conjunct] = to
            inner = [conjunct, *edges.children(conjunct)]
            for link in [child for node in inner for child in edges.children(node)]:
                if left < link < conjunct and (edges.labels[link] == "cc" or forms[link] == ","):
                    edges.heads[link] = to
            left = conjunct if noun is None else noun


_COLUMNS = 10


def read_conllu(text: str, origin: str = "CoNLL-U text") -> dict[str, Parse]:
    """Sentence text (its `# text =` line, else its words with spaces between) -> its converted parse.

    Multi-word tokens (1-2) and empty nodes (1.1) are passed over. Raises `UserError` with origin and line.
    """
    parses: dict[str, Parse] = {}
    sentence, tokens = "", list[UDToken]()
    # An empty line closes a sentence; one is added for a file that ends without.
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.startswith("# text ="):
            sentence = line.partition("=")[2].strip()
        elif line.startswith("#"):
            continue
        elif line.strip():
            token = _token(line, f"{origin}, line {number}")
            tokens.extend([token] if token else [])
        elif tokens:
            try:
                parses[sentence or " ".join(token.form for token in tokens)] = from_ud(tokens)
            except ValueError as error:
                raise UserError(f"{origin}, sentence before line {number}: {error}") from error
            sentence, tokens = "", []
    return parses


def stanza_parser(one_root: bool) -> Parser:
    """stanza's parser of English, which fetches its weights at first use.

    one_root: each text is one sentence for the tokenizer. Otherwise its sentences are joined under the first root.
    """
    try:
        stanza = import_module("stanza")
    except ModuleNotFoundError as error:
        raise UserError("The parser 'ud:stanza' needs stanza: type 'pip install stanza'.") from error
    pipeline = stanza.Pipeline(
        "en", processors="tokenize,mwt,pos,lemma,depparse", tokenize_no_ssplit=one_root, verbose=False
    )

    def parse(texts: Sequence[str]) -> list[Parse]:
        return [from_ud(_of_stanza(pipeline(text).to_dict())) if text.strip() else Parse((), (), ()) for text in texts]

    return Parser(f"ud:stanza {stanza.__version__} (en)", parse)


def _of_stanza(sentences: Sequence[Sequence[dict[str, object]]]) -> list[UDToken]:
    tokens: list[UDToken] = []
    for sentence in sentences:
        before = len(tokens)
        for word in sentence:
            if "head" not in word:  # the surface line of a multi-word token
                continue
            head = int(str(word["head"]))
            tokens.append(
                UDToken(str(word["text"]), head and head + before, str(word["deprel"]), str(word.get("upos", "")))
            )
    return tokens


def _token(line: str, where: str) -> UDToken | None:
    fields = line.split("\t")
    if len(fields) != _COLUMNS:
        raise UserError(f"{where}: {len(fields)} columns; CoNLL-U has {_COLUMNS}, with tabs between.")
    place, form, _, tag, _, _, head, label, _, _ = fields
    if not place.isdecimal():
        return None
    if not head.isdecimal() or len(head) > 9 or head == place:
        raise UserError(f"{where}: head {head!r}; it is the number of another word, 0 for the root.")
    return UDToken(form, int(head), label, tag)


def read_parses(path: Path) -> dict[str, Parse]:
    """Read {text: [{"text", "dep", "head"}, ...]} (one entry per token, in order); `UserError` when it is not that."""
    content = read_object(path, "stored parses are an object of texts and their tokens")
    try:
        return {text: parse_of(tokens) for text, tokens in content.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"The stored parses {path} are not lists of tokens with 'text', 'dep' and 'head': {error!r}."
        ) from error


def parse_of(tokens: Sequence[Mapping[str, Any]]) -> Parse:
    """Token objects ("text", "dep", "head") to a parse. Raises `TypeError` where one holds another kind of value."""
    columns = [[token[name] for token in tokens] for name in ("text", "dep", "head")]
    for values, kind in zip(columns, (str, str, int), strict=True):
        if not isinstance(tokens, list) or any(type(value) is not kind for value in values):
            raise TypeError("text and dep are text, and head is a whole number")
    forms, labels, heads = map(tuple, columns)
    return Parse(forms, labels, heads)


SMALL = Path(__file__).parents[1] / "models" / "en_support_parser"
_INSTALL = "type 'pip install \"metaeval[citation]\"'"
_NOT_NEEDED = ("ner", "lemmatizer", "attribute_ruler", "tagger", "morphologizer", "senter", "textcat")


def _spacy_parser(source: str, name: str, one_root: bool) -> Parser:
    language, release = _load(source)

    def prepared(text: str) -> Doc:
        doc = language.make_doc(text)
        # The parser's transition system may not break between tokens that are marked so beforehand.
        for place, token in enumerate(doc if one_root else ()):
            token.is_sent_start = place == 0
        return doc

    def parse(texts: Sequence[str]) -> list[Parse]:
        return [
            Parse(tuple(token.text for token in doc), tuple(token.dep_ for token in doc), tuple(t.head.i for t in doc))
            for doc in language.pipe(map(prepared, texts), batch_size=256)
        ]

    return Parser(f"{name} ({release})", parse)


@cache
def _load(source: str) -> tuple[Language, str]:
    try:
        import spacy
    except ModuleNotFoundError as error:
        raise UserError(f"Parsing sentences needs spaCy: {_INSTALL}.") from error
    try:
        language = spacy.load(source, exclude=list(_NOT_NEEDED))
    except OSError as error:
        raise UserError(
            f"spaCy has no pipeline {source!r}: type 'python -m spacy download {source}', or use the parser 'small'."
        ) from error
    except Exception as error:  # what a broken file of a pipeline makes of each part's own reader
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"The spaCy pipeline {source!r} cannot be loaded ({type(error).__name__}: {reason}): install it again, or "
            "use the parser 'small'."
        ) from error
    if "parser" not in language.pipe_names:
        raise UserError(f"The spaCy pipeline {source!r} has no dependency parser; its parts: {language.pipe_names}.")
    meta = language.meta
    return language, f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {version('spacy')}"


def find_parser(name: str = "small", one_root: bool = True) -> Parser:
    """The parser of that name: "small" is the shipped English one, which works offline wherever spaCy is installed.

    one_root: where it parses anew, each text is one sentence for it, whatever it would have seen.

    Raises `UserError` for an unknown name, a missing file, or a library that is not installed.
    """
    kind, _, argument = name.partition(":")
    if name == "small":
        return _spacy_parser(str(SMALL), name, one_root)
    if name == "ud:stanza":
        return stanza_parser(one_root)
    if argument and kind == "spacy":
        return _spacy_parser(argument, name, one_root)
    if argument and kind == "stored":
        return stored_parser(read_parses(Path(argument)), f"stored:{Path(argument).name}")
    if argument and kind == "ud":
        return stored_parser(read_conllu(read_text(path := Path(argument)), str(path)), f"ud:{path.name}")
    raise UserError(f"Unknown parser {name!r}. Known: small, spacy:NAME, stored:FILE.json, ud:FILE.conllu, ud:stanza.")
