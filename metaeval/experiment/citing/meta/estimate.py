"""What asking the chat model of a meta-evaluation would still cost."""

from __future__ import annotations

from metaeval.citation.chat.opening import estimate_for
from metaeval.citation.citeeval.judge import questions_of
from metaeval.citation.scifi.sentences import read_sentences
from metaeval.citation.scifi.with_model import requests_for
from metaeval.experiment.citing.meta.run import splits_of
from metaeval.experiment.citing.meta.settings import MetaPrepared
from metaeval.report.grid import count


def estimate_meta(prepared: MetaPrepared) -> str:
    """A line for each pipeline that asks; sends nothing, and needs no key.

    What SCiFi asks secondly depends on the replies to its first requests, which alone are reckoned.
    """
    chat = prepared.chat
    if chat is None:
        return "No pipeline here asks a chat model: nothing is sent, and nothing is paid."
    if prepared.choice.replay is not None:
        return f"The replies are in {prepared.choice.replay}: no chat model is asked, and nothing is paid."
    lines = []
    if "citeeval" in prepared.names and prepared.asking is not None:
        asked = [one.request for one in questions_of(prepared.answers, splits_of(prepared), prepared.asking)]
        lines.append(f"citeeval, {count(len(prepared.answers), 'answer')} to judge: {estimate_for(asked, chat)}")
    if "scifi" in prepared.names and prepared.scifi.facts == "model":
        options, splitter = prepared.scifi, prepared.splitter
        asked = requests_for(prepared.answers, options, chat, splitter)
        read = [read_sentences(answer, options, splitter) for answer in prepared.answers]
        several = sum(options.map_all or len(one.groups) > 1 for own in read for one in own)
        line = f"scifi, {count(len(asked), 'sentence')} to decompose: {estimate_for(asked, chat)}"
        if several:
            line += f"; then one request more for each fact of {count(several, 'sentence')}"
            line += "" if options.map_all else " with several citations"
        lines.append(line)
    return "\n".join(lines)
