"""The judges' prompts.

Their structure is the base paper's (arXiv 2406.15264, Appendix A, Table 5): one block that starts with
"Instruction:", then "Let's think step by step.", then Statement, Citation and Prediction. The wording of the
instructions is this project's own, not the paper's. Whoever has the paper's text at hand puts it in a file with the
places {statement} and {citation}, and names the file in the option `prompt_file`.
"""

from __future__ import annotations

from metaeval.llm.exchange import Prompt

_FRAME = """Instruction: {instruction}

Let's think step by step.

Statement: {statement}

Citation: {citation}

Prediction:"""

PLACES = ("statement", "citation")

DISCRETE = Prompt(
    Prompt(_FRAME).fill(
        instruction="Judge how far the citation supports the statement. Use the citation alone, nothing that you know "
        "from elsewhere. There are three levels. 2, full support: the citation states, or leaves no doubt about, "
        "everything that the statement says. 1, partial support: the citation backs a part of the statement, and the "
        "rest is not backed by it. 0, no support: the citation backs no part of the statement, or contradicts it. "
        "End your answer with a line that gives the level, exactly one of 0, 1 and 2, in the form Prediction: LEVEL"
    )
)

CONTINUOUS = Prompt(
    Prompt(_FRAME).fill(
        instruction="Judge how far the citation supports the statement. Use the citation alone, nothing that you know "
        "from elsewhere. The score is a number from 0 to 1. 1 means full support: the citation states, or leaves no "
        "doubt about, everything that the statement says. 0 means no support: the citation backs no part of the "
        "statement, or contradicts it. Values between them mean partial support, the higher the more of the statement "
        "is backed. End your answer with a line that gives the score in the form Prediction: SCORE"
    )
)
