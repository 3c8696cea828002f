"""CiteEval (arXiv 2506.01829): a chat model says what each statement rests on, edits its citations and rates them.

Source: "CiteEval: Principle-Driven Citation Evaluation for Source Attribution" and what its released code does, each
a profile. The wording of the prompts is this project's own; the official files can be named in their place.
"""
