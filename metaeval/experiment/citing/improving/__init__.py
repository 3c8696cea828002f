"""Answers with CiteEval's edits done, judged before and after."""
