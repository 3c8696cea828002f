"""What each option of the citation commands decides, in a plain sentence, and what else it could have been."""

from __future__ import annotations

from collections.abc import Mapping

from metaeval.citation.aliice.rewriter import RewriteOptions
from metaeval.citation.chat.options import ChatOptions
from metaeval.citation.citeeval.asking import Asking
from metaeval.citation.citeeval.baseline_options import BaselineOptions
from metaeval.citation.citeeval.options import CiteEvalOptions
from metaeval.citation.generation.options import GenerationOptions
from metaeval.citation.marks import MarkStyles
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.experiment.citing.meta.ratings import MetaOptions
from metaeval.experiment.explaining.choices import others

OWNERS: tuple[type, ...] = (
    *(ScifiOptions, CiteEvalOptions, BaselineOptions, Asking, GenerationOptions, MetaOptions, MarkStyles),
    *(ChatOptions, RewriteOptions),
)
"""Every class whose options signatures name."""

UNNAMED = frozenset(
    "attribution_file editing_file decomposition_file mapping_file answer_file summary_file selection_file prompt_file "
    "api_key_env replies concurrency requests_per_minute timeout retries backoff price_in price_out budget".split()
)
"""Options that no signature names: of prompts it names the wording, and how an endpoint is treated changes nothing."""


def option_words(name: str, value: str, chat: bool = False) -> str:
    """What the option decides, with its value, and what else it could have been; empty for one that is not known.

    chat: of a command whose chat model is asked with `ChatOptions`.
    """
    if name not in _WORDS:
        return ""
    else_ = others((ChatOptions, *OWNERS) if chat else OWNERS, name, value)
    said = _WORDS[name].format(value="none" if value == "None" else value)
    return f"{said} (else {else_})" if else_ else said


_SCIFI: Mapping[str, str] = {
    "facts": "who makes facts of sentences: {value}",
    "styles": "citation marks that are read: {value}",
    "leading": "what becomes of marks that open a sentence, as they do after a full stop: {value}",
    "marks": "a chat model sees sentences with their citation marks {value}",
    "map_all": "a chat model is asked for the segments of all facts, also where one citation leaves no choice: {value}",
    "likeness": "a segment that is not in its sentence is looked for by likeness, from {value} on (1: not at all)",
    "twice": "a segment that stands several times in its sentence is the {value} of them",
    "unmapped": "a fact whose segment is not found counts with its whole sentence, or not: {value}",
    "distance": "how far a citation is from the end of a fact's segment is counted in {value}",
    "tie": "of two citations at the same distance a fact takes the one {value} its segment's end",
    "own_group": "a parser's fact keeps the citations that it was cut out for, whatever is nearest: {value}",
    "group": "of marks that stand together: the best passage, all as one premise, or the first alone: {value}",
    "out_of_range": "a fact whose citations are no passages has the value 0, or none: {value}",
    "window": "a passage is cut into chunks of at most {value}, the best of which decides",
    "window_unit": "a chunk is measured in {value}: words, or the tokens of a tokenizer",
    "overlap": "how much of a chunk the next one starts back by: {value}",
    "titles": "every chunk opens with its passage's title: {value}",
    "entailment": "a fact's value is the backend's score, or its decision at a threshold: {value}",
    "average": "the headline is the mean over all {value}",
    "coverage": "the premise of coverage is the {value}, the other one its hypothesis",
    "density_over": "citations are counted over {value} sentences",
}

_MARKS: Mapping[str, str] = {
    "lists": "[1, 2] is read: {value}",
    "ranges": "[1-3] is read: {value}",
    "carets": "[^1] is read: {value}",
    "corners": "\N{LEFT BLACK LENTICULAR BRACKET}1\N{RIGHT BLACK LENTICULAR BRACKET} is read: {value}",
    "longest_range": "a range stands for at most {value} numbers",
    "unclosed": "a mark is '[' and digits, closed or not: {value}",
}

_CITEEVAL: Mapping[str, str] = {
    "highest": "the highest number that cites is {value} (none: the number of passages)",
    "no_answer": "where a response that says that it found no answer is taken for one: {value}",
    "merge_below": "a sentence of fewer than {value} characters joins the one before (0: none does)",
    "missing_context": "a statement whose context the judge left out: {value}",
    "missing_rating": "a cited statement that the judge did not rate: {value}",
    "missing_edits": "a cited statement of whose edits the judge says nothing: {value}",
    "bad_edits": "a statement with an edit that cannot be, by edit distance: {value}",
    "index_shift": "citations are counted one too high, as the released code does: {value}",
    "weight": "the rating makes up {value} of CiteEval-Auto, the edit distance the rest",
    "nothing_rated": "a response none of whose statements needs a rating: {value}",
    "none_cited": "in the scenario of cited statements a response without one is 0: {value}",
    "stops": "an empty line, and a reason that does not exist, end the run, as they end the released code's: {value}",
    "otherwise": "a reply to AttrScore without any of its three labels: {value}",
    "baseline_max_tokens": "a reply to a baseline's question has at most {value} tokens",
}

_ASKING: Mapping[str, str] = {
    "model": "the chat model that was asked: {value}",
    "base_url": "the address of its server: {value}",
    "temperature": "temperature {value} (none: the server's own)",
    "top_p": "top_p {value} (none: the server's own)",
    "seed": "the seed that was sent with each request: {value} (none: none was)",
    "max_tokens": "a reply has at most {value} tokens, reasoning included",
    "max_tokens_name": "the limit was sent under the name {value}",
    "output": "how the form of a reply was asked for: {value}",
    "attribution_tag": "the tag that a statement's context stands in, where replies are in tags: {value}",
    "contexts": "whether it is asked what a statement rests on: {value}",
    "role": "the role of the one message: {value}",
    "extra": "further fields of the request: {value}",
    "statements_per_request": "a response of more than {value} statements is judged in parts (none: never)",
    "prompt": "whose prompt it is, and the hash of its wording: {value} (own: the one that comes with metaeval)",
}

_WRITING: Mapping[str, str] = {
    "strategy": "what of the documents the model is shown: {value}",
    "context_words": "a request shows at most {value} words of all documents",
    "document_words": "of each document the first {value} words",
    "preview_words": "of each document first {value} words, by which the model says which it needs",
    "summary_words": "a summary is asked to have at most {value} words",
    "answer_words": "an answer is asked to have at most {value} words",
}

_META: Mapping[str, str] = {
    "none": "a statement to which one side gives no value is left out, or takes its response's: {value}",
    "unrated": "a response none of whose statements has a value: {value}",
    "responses": "what a measure says of a response, its own value or the mean over rated statements: {value}",
    "tested": "which measures are tested against each other: {value}",
    "profile": "whose reading of the pipeline: {value}",
    "parser": "what parses the sentences: {value}",
    "splitter": "what cuts texts into sentences: {value}",
    "premise": "what the passages of a citation group are as one premise: {value}",
}

_WORDS: Mapping[str, str] = {**_SCIFI, **_MARKS, **_CITEEVAL, **_ASKING, **_WRITING, **_META}
