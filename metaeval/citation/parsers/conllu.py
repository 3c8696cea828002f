"""UD parses from CoNLL-U text, and from stanza, as parsers."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from metaeval.citation.parsers.parse import Parse, Parser
from metaeval.citation.parsers.stored import stored_parser
from metaeval.citation.parsers.ud import UDToken, from_ud
from metaeval.errors import UserError

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


def conllu_parser(path: Path) -> Parser:
    """A parser that looks its texts up in a CoNLL-U file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"The parses {path} cannot be read: {error.strerror}.") from error
    return stored_parser(read_conllu(text, str(path)), f"ud:{path.name}")


def stanza_parser(one_root: bool = True, language: str = "en") -> Parser:
    """stanza's parser, which fetches its weights at first use.

    one_root: each text is one sentence for the tokenizer. Otherwise its sentences are joined under the first root.
    """
    try:
        stanza = import_module("stanza")
    except ModuleNotFoundError as error:
        raise UserError("The parser 'ud:stanza' needs stanza: type 'pip install stanza'.") from error
    pipeline = stanza.Pipeline(
        language, processors="tokenize,mwt,pos,lemma,depparse", tokenize_no_ssplit=one_root, verbose=False
    )

    def parse(texts: Sequence[str]) -> list[Parse]:
        return [from_ud(_of_stanza(pipeline(text).to_dict())) if text.strip() else Parse((), (), ()) for text in texts]

    return Parser(f"ud:stanza {stanza.__version__} ({language})", parse)


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
    if not head.isdecimal():
        raise UserError(f"{where}: head {head!r}; it is a whole number, 0 for the root.")
    return UDToken(form, int(head), label, tag)
