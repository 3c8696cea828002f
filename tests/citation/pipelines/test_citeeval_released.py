"""Numbers that CiteEval's released scripts print, on made sets, against plain re-implementations of their rules.

The rules are those of amazon-science/CiteEval at commit 88f567d (evaluate_metric.py, evaluate_system.py), in our words.
"""

import json
import random
from itertools import product

import pytest
from scipy import stats

import metaeval
from metaeval.citation.chat_models import recording
from metaeval.citation.citeeval.baselines import BASELINES
from metaeval.citation.citeeval.evaluate_responses import inquiries_of
from metaeval.citation.citeeval.judge import Asking, questions_of
from metaeval.citation.citeeval.options_and_values import PROFILES
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.pipelines.meta.run import META, MetaEvaluation
from metaeval.citation.pipelines.meta.tables import meta_sheets
from metaeval.citation.readers.answer_files import gather
from metaeval.llm.messages import read_reply

CORRELATIONS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
QUICK = ("interval.resamples=0", "comparison.permutations=0", "controls=false", "splitter=rules")


def f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mean_or(ratings, otherwise=None):
    """The mean of what is there; equal means tie, in whatever order their numbers are added."""
    known = [one for one in ratings if one is not None]
    return round(sum(known) / len(known), 12) if known else otherwise


class MadeBench:
    """Responses with citations, people's ratings, verdicts of the baselines' judges, and the values of these."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.cited, self.people, self.says = {}, {}, {}
        self.names_in = {1: [], 2: []}
        self.values = {}
        for number in range(24):
            name, uncited = f"r{number}", chance.random() < 0.3
            for passage in (1, 2):
                self.names_in[passage] += [name] * (chance.random() < 0.5)
            marks = [[] if uncited else chance.choice([[], [1], [2], [1, 2]]) for _ in range(chance.randint(1, 4))]
            self.cited[name] = marks
            quarters = (0, 0.25, 0.5, 0.75, 1, None)
            self.people[name] = [tuple(chance.choices(quarters, k=3)) for _ in marks]
            for place, own in enumerate(marks, start=1):
                said = {"support": chance.choice(["full", "partial", "none"]), "needs_citation": chance.choice("yn")}
                said["relevance"] = [chance.random() < 0.6 for _ in own]
                said["label"] = [chance.choice(["Attributable", "Contradictory", "Extrapolatory"]) for _ in own]
                self.says[name, place] = said
                for key, value in self._values(name, own, said).items():
                    self.values.setdefault(key, {}).setdefault(name, []).append(value)

    def _values(self, name, own, said):
        """The values of a statement. A passage entails it if it has the response's name, and so does each with it."""
        hits = [name in self.names_in[number] for number in own]
        recall, precision = float(any(hits)), mean_or(hits, 0.0)
        found = {"autoais:precision": precision, "autoais:recall": recall, "autoais:f1": f1(precision, recall)}
        support = {"full": 1.0, "partial": 0.5, "none": 0.0}[said["support"]]
        recall = support if own else float(said["needs_citation"] == "n")
        precision = mean_or(said["relevance"], 0.0)
        found |= {"lqac:precision": precision, "lqac:recall": recall, "lqac:f1": f1(precision, recall)}
        for mode, half in (("strict", 0.0), ("relaxed", 0.5)):
            worth = {"Attributable": 1.0, "Contradictory": 0.0, "Extrapolatory": half}
            found[f"attrscore:{mode}"] = mean_or([worth[label] for label in said["label"]], 0.0)
        return found

    def replies(self, inquiries, names):
        """Answer the questions of LQAC and AttrScore. names: of the responses."""
        replies = []
        for each in inquiries:
            said, of = self.says[names[each.response], each.statement + 1], each.citation or 0
            word = {
                "support": said["support"],
                "needs_citation": {"y": "yes", "n": "no"}[said["needs_citation"]],
                "relevance": "relevant" if said["relevance"][of : of + 1] == [True] else "irrelevant",
                "label": "".join(said["label"][of : of + 1]),
            }[each.kind.field]
            message = {"content": json.dumps({"thinking": "", each.kind.field: word})}
            replies.append(read_reply(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})))
        return replies

    def correlations(self, cited_only, in_place):
        """All correlations of the baselines by (measure, level, name), as the released script computes them.

        People's rating of a statement is the mean of those who gave one, if two of three did. In the scenario of cited
        statements people's ratings of the others are removed; a response that loses all of its ratings thereby is 0.
        A response is the mean of what it has, else 1; a statement without a rating takes its response's. Ratings of the
        baselines stay. in_place: what one measure removes is gone for the next, so that nothing is lost there.
        """
        kept = {
            name: [mean_or(three) if three.count(None) < 2 else None for three in own]
            for name, own in self.people.items()
        }
        found, pipeline = {}, ""
        for measure in self.values:
            if measure.partition(":")[0] != pipeline:
                pipeline, shared = measure.partition(":")[0], {name: [*own] for name, own in kept.items()}
            ratings = shared if in_place else {name: [*own] for name, own in kept.items()}
            columns = {"statements": ([], []), "responses": ([], [])}
            for name, own in ratings.items():
                before = sum(one is not None for one in own)
                if cited_only:
                    own[:] = [one if marks else None for one, marks in zip(own, self.cited[name], strict=True)]
                left = sum(one is not None for one in own)
                response = 0.0 if before and not left else mean_or(own, 1.0)
                ours = self.values[measure][name]
                columns["responses"][0].append(response)
                columns["responses"][1].append(mean_or(ours))
                columns["statements"][0].extend(response if one is None else one for one in own)
                columns["statements"][1].extend(ours)
            for (level, (theirs, ours)), (key, of) in product(columns.items(), CORRELATIONS.items()):
                found[measure, level, key] = of(theirs, ours).statistic
        return found


@pytest.fixture
def bench(citebench, tmp_path):
    """A made benchmark, and what `cite meta` prints of its baselines under a profile, by scenario."""
    made = MadeBench(3)
    responses = {
        name: [(marks, [2, 2, 2], three) for marks, three in zip(own, made.people[name], strict=True)]
        for name, own in made.cited.items()
    }
    texts = [f"{word}. 1 2 3 4 says {' '.join(made.names_in[n])}" for n, word in ((1, "First"), (2, "Second"))]
    statements, people = citebench(responses, [{"title": "", "text": text} for text in texts])
    read, replies = read_human_set([statements], human=people), tmp_path / "judge.jsonl"
    answers = [own.answer for own in read.answers]
    splits = [answer.split for answer in answers]
    questions = inquiries_of(answers, splits, Asking(model="t"), BASELINES)
    said = made.replies(questions, [answer.id for answer in answers])
    recording(lambda _: said, replies)([each.request for each in questions])

    def printed(profile):
        given = {"files": (statements,), "human": people, "replay": replies, "profile": profile, "nli": ("overlap",)}
        given |= {"pipelines": ("autoais", "lqac", "attrscore"), "threshold": "0.9", "results": tmp_path / "results"}
        found = MetaEvaluation(META.options_of(given, QUICK)).compare()
        (table,) = [sheet for sheet in meta_sheets(found) if sheet.name == "citebench"]
        return {
            (one["scenario"], one["measure"].removesuffix(":overlap"), one["level"], key): one[key]
            for one in table.records
            for key in CORRELATIONS
        }, found

    return made, printed


def test_the_table_of_the_baselines_is_right_and_the_released_one_comes_with_its_profile(bench, hold):
    made, printed = bench
    (right, _), (released, run) = printed("paper"), printed("released")
    hold("meta-baselines", [each for each in meta_sheets(run) if each.name != "citebench"])
    assert len(right) == 2 * 8 * 2 * 3  # scenarios, measures, levels, correlations
    for profile, found in ((False, right), (True, released)):
        for scenario in ("full", "cited"):
            expected = made.correlations(scenario == "cited", in_place=profile)
            assert {key[1:]: value for key, value in found.items() if key[0] == scenario} == pytest.approx(
                expected, abs=1e-12
            )
    # Of the 30 values of AutoAIS and AttrScore the first measure of each is the same, 2 times 6, and no other is.
    same = [key for key, value in right.items() if key[0] == "cited" and value == pytest.approx(released[key])]
    of_two = [key for key in same if not key[1].startswith("lqac")]
    assert (len(of_two), {key[1] for key in of_two}) == (12, {"autoais:precision", "attrscore:strict"})
    signed = {each.name: each.fields["profile"] for each in run.measured}
    assert set(signed.values()) == {"released"}


PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
ABLATED = {
    "a1": "The Oder is 840 kilometres long [1]. Barges sing there loudly. It is a fine river indeed.",
    "a2": "Ships sail on the water daily.",
    "a3": "No answer was found.",
}
# What the judge says of each statement: context, stars, edits.
ADDED = {"action": "add", "citation": 2, "reason": "evidence"}
SAID = {
    "a1": [("retrieval", 4, []), ("retrieval", 2, [ADDED]), ("model", 5, [])],
    "a2": [("retrieval", 3, [])],
    "a3": [("response", 1, [])],
}

# (ratings of a1, a2, a3 in the scenario full, in cited), by what uncited statements are worth and profile. By the
# released rating rules (stars - 1) / 4; a response without any is 1 there, and has no value here. Cited: uncited ones
# are masked, and a response that loses all of its ratings is 0.
ABLATIONS = {
    ("by context", "paper"): ((0.75 / 2, 0, None), (0.75, 0, None)),
    ("by context", "released"): ((0.75 / 2, 0, 1), (0.75, 0, 1)),
    ("fails", "paper"): ((0.75 / 3, 0, None), (0.75, 0, None)),
    ("fails", "released"): ((0.75 / 3, 0, 1), (0.75, 0, 1)),
    ("rated", "paper"): ((2 / 3, 0.5, 0), (0.75, 0, 0)),
    ("rated", "released"): ((2 / 3, 0.5, 0), (0.75, 0, 0)),
    ("left out", "paper"): ((0.75, None, None), (0.75, None, None)),
    ("left out", "released"): ((0.75, 1, 1), (0.75, 1, 1)),
}


@pytest.fixture
def cite(tmp_path):
    """Write answers and a judge's replies to what is asked of them; return the questions, and what is found."""

    def made(rows, said, uncited="by context", profile="released", **options):
        file, replies = tmp_path / "answers.jsonl", tmp_path / "judge.jsonl"
        file.write_text("".join(json.dumps({"passages": PASSAGES, **row}) + "\n" for row in rows))
        answers = gather([file])
        splits = [split_response(one, PROFILES[profile]) for one in answers]
        questions, answered = list(questions_of(answers, splits, Asking(model="t", uncited=uncited))), []
        for each in questions:
            entries = []
            for statement in each.part:
                context, stars, edits = said[answers[each.response].id][statement.number - 1]
                own = {"context": context} if each.module == "attribution" else {"edits": edits, "rating": stars}
                if None not in own.values():
                    entries.append({"id": statement.number, "thinking": "", **own})
            message = {"content": json.dumps({"statements": entries})}
            answered.append(read_reply(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})))
        recording(lambda _: answered, replies)([each.request for each in questions])
        settings = {"results": tmp_path / "results", "splitter": "rules", "profile": profile, "uncited": uncited}
        return questions, metaeval.cite.citeeval(file, replay=replies, **settings, **options)

    return made


@pytest.mark.parametrize(("uncited", "profile"), ABLATIONS)
def test_uncited_statements_are_worth_what_one_setting_says(cite, hold, uncited, profile):
    rows = [{"id": name, "text": text} for name, text in ABLATED.items()]
    for scenario, expected in zip(("full", "cited"), ABLATIONS[uncited, profile], strict=True):
        questions, found = cite(rows, SAID, uncited, profile, scenario=scenario)
        if profile == "paper":
            rated = [*found.rows.values(), found["citeeval-omission"], found["judging"]]
            hold(f"citeeval-uncited-{uncited.replace(' ', '-')}-{scenario}", rated)
        assert [row["rating"] for row in found.rows["answers"]] == pytest.approx(expected), scenario
        # What was asked: contexts by context alone; the rating of uncited statements only where it counts.
        asked = [(each.response, each.module) for each in questions]
        shown = {
            "by context": [(0, "attribution"), (0, "editing"), (1, "attribution")],
            "rated": [(0, "editing"), (1, "editing"), (2, "editing")],
        }
        assert asked == shown.get(uncited, [(0, "editing")])
        texts = [each.request.body["messages"][0]["content"] for each in questions]
        assert any("Barges sing" in text for text in texts) == (uncited != "left out")
        assert any("cite nothing are judged as well" in text for text in texts) == (uncited == "rated")
        assert (f",uncited={uncited}" in found.signatures[0], "uncited@" in found.signatures[0]) == (
            True,
            uncited == "rated",
        )
        states = [row["state"] for row in found.rows["statements"]]
        words = {"by context": "needs none", "fails": "lacks a citation", "rated": "rated", "left out": "left out"}
        assert (states[0], states[2]) == ("rated", words[uncited])
        if uncited == "rated":
            edited = [row["edit_distance"] for row in found.rows["statements"]]
            # Of the three, the second adds one citation for want of evidence, worth 0 with the intercept.
            assert edited[:3] == pytest.approx([1, -0.010901728784493359, 1])


class MadeSystems:
    """Answers of systems, what a judge says of them, and what the released script makes of that."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.rows, self.said, self.cites = [], {}, {}
        names = ("g_asqa_gtr_10_psgs", "g_eli5_bm25_10_psgs", "g_lfrqa_colbert_10_psgs", "one")
        for number in range(28):
            system = names[number % 4]
            name, size = f"{system}_{number}", chance.randint(1, 5)
            if system == "one":  # its ids alone tell the data set
                name = f"one_{chance.choice(['asqa_gtr', 'msmarco_bing'])}_10_psgs_{number}"
            self.cites[name] = [chance.choice([[], [1], [1, 2]]) for _ in range(size)]
            texts = [
                f"Ships of fleet {number} sail on river {place}{''.join(f' [{n}]' for n in own)}."
                for place, own in enumerate(self.cites[name])
            ]
            contexts, stars = ("retrieval", "model", None), (1, 2, 3, 4, 5, None)
            self.said[name] = [(chance.choice(contexts), chance.choice(stars), []) for _ in texts]
            self.rows.append({"id": name, "system": system, "text": " ".join(texts)})

    def released(self, names, cited_only):
        """What the released script says of responses: statements, responses, length, share of cited ones.

        One file holds the ratings, the other the edit distances; each is averaged, and then both. A cited statement
        without a rating has 1, one without edits too. An uncited one is 0 if it rests on the passages (also where its
        context is not known), else N/A. N/A takes the response's value, the mean of the others, 1 without any. In the
        scenario of cited statements uncited ratings become N/A, and a response that loses all of its ratings is 0.
        """
        both = []
        for worth in (lambda stars: 1.0 if stars is None else (stars - 1) / 4, lambda stars: 1.0):
            statements, responses = [], []
            for name in names:
                pairs = list(zip(self.said[name], self.cites[name], strict=True))
                lacks = [None if context == "model" else 0.0 for (context, *_), _ in pairs]
                ratings = [worth(said[1]) if own else bare for (said, own), bare in zip(pairs, lacks, strict=True)]
                kept = [one if own or not cited_only else None for one, (_, own) in zip(ratings, pairs, strict=True)]
                lost = any(ratings[n] is not None and one is None for n, one in enumerate(kept))
                response = mean_or(kept, 0.0 if lost else 1.0)
                responses.append(response)
                statements += [response if one is None else one for one in kept]
            both.append((mean_or(statements), mean_or(responses)))
        cites = [self.cites[name] for name in names]
        length = mean_or([len(own) for own in cites])
        return *map(mean_or, zip(*both, strict=True)), length, mean_or([mean_or(list(map(bool, own))) for own in cites])


# Queries of CiteBench's test sets, as the released script has them.
QUERIES = {"asqa": 632, "eli5": 684, "lfrqa": 1000, "msmarco": 684}


@pytest.mark.parametrize("scenario", ["full", "cited"])
def test_the_system_values_are_those_of_the_released_script(cite, hold, scenario):
    made = MadeSystems(5)
    _, found = cite(made.rows, made.said, scenario=scenario, interval={"resamples": 100, "fewest": 2})
    rows = {row["system"]: row for row in found["citeeval-released"]}
    hold(
        f"citeeval-released-{scenario}", [found[f"citeeval-{name}"] for name in ("released", "omission", "differences")]
    )
    by_system = {}
    for row in made.rows:
        data_set = next(name for name in QUERIES if f"_{name}_" in row["id"])
        by_system.setdefault(row["system"], {}).setdefault(data_set, []).append(row["id"])
    for system, parts in by_system.items():
        expected = made.released([name for own in parts.values() for name in own], scenario == "cited")
        found_values = [rows[system][key] for key in ("statements", "responses", "length", "cited")]
        assert found_values == pytest.approx(expected, abs=1e-12)
        assert rows[system]["statements_low"] < rows[system]["statements"] < rows[system]["statements_high"]
    one = by_system["one"]
    g = {name: own for system, parts in by_system.items() if system != "one" for name, own in parts.items()}
    for label, parts in (("g (asqa, eli5, lfrqa)", g), ("one (asqa, msmarco)", one)):
        total = sum(QUERIES[name] for name in parts)
        weighted = [
            sum(QUERIES[name] * made.released(own, scenario == "cited")[place] for name, own in parts.items()) / total
            for place in (0, 1)
        ]
        row = rows[label]
        assert [row["statements"], row["responses"], row["length"]] == [*map(pytest.approx, weighted), None]
        assert row["statements_low"] < row["statements"] < row["statements_high"]
    # The value of the main table is that of responses; the released script prints that of statements in its place.
    main = next(one for one in found["citeeval"] if (one["system"], one["measure"]) == ("one", "auto"))
    assert main["value"] == pytest.approx(rows["one"]["responses"])
    assert rows["one"]["statements"] != pytest.approx(rows["one"]["responses"], abs=1e-3)
    assert "citeeval-released" not in cite(made.rows, made.said, profile="paper")[1]


def test_data_sets_of_other_passages_are_not_weighed_together(cite):
    parts = ("asqa_gtr_10", "eli5_bm25_10", "asqa_gtr_5", "lfrqa_colbert_5", "asqa_oracle_10", "msmarco_oracle_10")
    systems = [*(f"g_{part}_psgs" for part in parts), "h_asqa_gtr_10_psgs"]
    rows = [{"id": f"{one}_1", "system": one, "text": f"Ships of {one} sail daily [1]."} for one in systems]
    said = {row["id"]: [("retrieval", 1 + place % 5, [])] for place, row in enumerate(rows)}
    _, found = cite(rows, said, interval={"resamples": 0})
    # Ratings 0, .25, .5, .75, 1, 0, each with an edit distance of 1; queries 632, 684, 632, 1,000, 632, 684.
    expected = {
        "g (asqa, eli5)": (632 * 0.5 + 684 * 0.625) / 1316,
        "g, 5_psgs (asqa, lfrqa)": (632 * 0.75 + 1000 * 0.875) / 1632,
        "g, oracle (asqa, msmarco)": (632 * 1 + 684 * 0.5) / 1316,
    }
    weighted = {row["system"]: row["statements"] for row in found["citeeval-released"] if row["data_sets"]}
    assert weighted == pytest.approx(expected)
