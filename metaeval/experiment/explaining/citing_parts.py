"""Pieces of the citation commands' recipes: the chat model and what it is asked with, the parser, the splitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.sentences import find_sentence_splitter
from metaeval.experiment.explaining.choices import changed
from metaeval.experiment.explaining.command_line import Recipe
from metaeval.experiment.explaining.meanings import CHUNKS
from metaeval.experiment.explaining.prompts import is_here, prompt_setting, prompt_words

_UNKNOWN = "NAME"
_APART = ("model", "base_url")  # said by options of the command


def chat_model(made: Recipe, fields: Mapping[str, str], name: str = "", replayed: bool = True) -> None:
    """Say the chat model. name: where the signature has it in no field of its own. replayed: by the command itself."""
    model = name or fields.get("model", _UNKNOWN)
    made.words += ["--model", model]
    if replayed:
        made.caveats.append(
            "The server's address (--base-url) is not in the signature; replies that --record kept need none: --replay "
            f"REPLIES for --model {model}."
        )
    else:
        made.caveats.append("Replies that are still in the reply store are not asked for again.")
    answered = fields.get("answered_as", model)
    if answered != model:
        made.caveats.append(f"The replies came under the name {answered}, as the server calls the model.")


def choices(made: Recipe, given: Mapping[str, str], defaults: Mapping[str, str], but: Sequence[str] = _APART) -> None:
    """Say the choices that are not the default, each behind --set."""
    for name, value in changed(given, defaults).items():
        if name not in but:
            made.words += ["--set", f"{name}={value}"]


def prompts(made: Recipe, given: Mapping[str, str]) -> None:
    """Say which prompts are not those here: a file's, or another version's."""
    for name, value in given.items():
        if prompt_words(name, value) and not is_here(name, value):
            setting = prompt_setting(name)
            told = f": a file of one's own (--set {setting}=FILE), or another version's" if setting else ""
            made.caveats.append(f"The prompt {name} has to be the wording {value.partition('@')[2] or value}{told}.")


def parser(made: Recipe, name: str, setting: bool = False) -> None:
    """Say a parser that is not the shipped one. setting: there is no flag for it."""
    known_as = name.split(" ")[0]
    if known_as and known_as != "small":
        made.words += ["--set", f"parser={known_as}"] if setting else ["--parser", known_as]


def splitter(made: Recipe, name: str, setting: bool = False) -> None:
    """Say the splitter where another one would be taken here. setting: there is no flag for it."""
    if name in ("", "as published", find_sentence_splitter("auto").name):
        return
    wish = "nltk" if name.startswith("nltk") else "rules"
    made.words += ["--set", f"splitter={wish}"] if setting else ["--splitter", wish]
    if wish == "nltk" or find_sentence_splitter("rules").name != name:
        made.caveats.append(f"The splitter has to be {name}.")


def premise(made: Recipe, text: str, setting: bool = False) -> None:
    """Say how passages are one premise, where they are not joined. setting: there is no flag for it."""
    if text in ("", "joint"):
        return
    made.words += ["--set", "premise=chunks"] if setting else ["--premise", "chunks"]
    if found := CHUNKS.fullmatch(text.rpartition(" ")[2]):
        made.setting("chunk.size", found["size"], 150)
        made.setting("chunk.mode", found["mode"], "sentences")
