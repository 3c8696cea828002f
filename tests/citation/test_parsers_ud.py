"""Universal Dependencies converted: on hand-written UD trees of the paper's sentences, the paper's claims come out.

The trees follow the UD guidelines for English (names headed by their first word, function words as leaves); the claims
are the captions of the paper's Figures 6, 7, 9, 10, 12, 13 and the claims of its Figure 1 and Appendix B as the golden
records give them.
"""

import json
from pathlib import Path

import pytest

from metaeval.citation.aliice.claims import read_sentences
from metaeval.citation.aliice.profile import PAPER
from metaeval.citation.parsers.parse import Parse, UDToken, find_parser, from_ud, read_conllu, stored_parser
from metaeval.errors import UserError

GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_parser.json"


@pytest.fixture(scope="module")
def golden():
    content = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return {sentence["id"]: sentence for sentence in content["sentences"]}


def tree(compact):
    """form>head:label[:sub][/TAG], one per token, heads from 1."""
    tokens = []
    for item in compact.split():
        edge, _, tag = item.partition("/")
        form, _, rest = edge.partition(">")
        head, _, label = rest.partition(":")
        tokens.append(UDToken(form, int(head), label, tag))
    return tokens


FIGURE_5 = tree("""In>4:case the>4:det plane>4:compound crash>14:obl on>7:case Greys>7:compound Anatomy>4:nmod ,>4:punct
    the>10:det characters>14:nsubj who>12:nsubj die>10:acl:relcl are>14:cop Dr>0:root Lexie>14:flat Grey>14:flat
    and>18:cc Dr>14:conj Mark>18:flat Sloan>18:flat""")
FIGURE_8 = tree("""Some>2:det brands>9:nsubj ,>7:punct such>7:case as>4:fixed Export>7:compound As>2:nmod ,>7:punct
    come>0:root in>11:case packs>9:obl of>13:case 25>11:nmod ,>19:punct while>19:mark standard>17:amod packs>19:nsubj
    typically>19:advmod contain>9:advcl 20>21:nummod cigarettes>19:obj""")
FIGURE_11 = tree("""Queen>3:nsubj Victoria>1:flat became>0:root Queen>3:xcomp of>8:case the>8:det United>8:amod
    Kingdom>4:nmod on>11:case 20>11:nummod June>3:obl 1837>11:nummod ,>17:punct while>17:mark Queen>17:nsubj
    Anne>15:flat became>3:advcl Queen>17:xcomp of>20:case England>18:nmod ,>22:punct Scotland>20:conj ,>25:punct
    and>25:cc Ireland>20:conj on>28:case 8>28:nummod March>17:obl 1702>28:nummod""")
FIGURE_1 = tree("Cups>4:nsubj:pass can>4:aux be>4:aux:pass made>0:root of>6:case glass>4:obl or>8:cc plastic>6:conj")
APPENDIX_B = tree("""Filming>2:nsubj began>0:root in>5:case late>5:amod May>2:obl 2015>5:nummod ,>12:punct and>12:cc
    the>10:det movie>12:nsubj:pass was>12:aux:pass released>2:conj on>14:case March>12:obl 25>14:nummod ,>14:punct
    2016>14:nummod""")


@pytest.mark.parametrize(
    ("tokens", "record"),
    [
        (FIGURE_5, "paper_fig5"),
        (FIGURE_8, "paper_fig8"),
        (FIGURE_11, "paper_fig11"),
        (FIGURE_1, "paper_fig1_A2"),
        (APPENDIX_B, "paper_appB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_converted_tree_gives_the_paper_s_claims(golden, tokens, record):
    sentence = golden[record]
    stored = sentence["commas_kept"]
    parser = stored_parser({stored["parser_input"]: from_ud(tokens)})
    (read,) = read_sentences([sentence["sentence"]], parser, PAPER)
    assert [(claim.text, list(claim.citations)) for claim in read.claims] == [
        (claim["claim"], claim["citations"]) for claim in stored["claims"]
    ]


def test_without_conversion_the_same_trees_lose_the_claims(golden):
    # What the conversion is for: in bare UD the citation sits on the root of "... are Dr Lexie Grey".
    sentence = golden["paper_fig1_A2"]
    bare = Parse(
        tuple(token.form for token in FIGURE_1),
        tuple("ROOT" if token.head == 0 else token.label for token in FIGURE_1),
        tuple(place if token.head == 0 else token.head - 1 for place, token in enumerate(FIGURE_1)),
    )
    parser = stored_parser({sentence["commas_kept"]["parser_input"]: bare})
    (read,) = read_sentences([sentence["sentence"]], parser, PAPER)
    assert [claim.text for claim in read.claims] == ["Cups can be made of glass", "Cups can be made or plastic"]


def edges(parse):
    return [
        f"{token} {label} {parse.tokens[head]}"
        for token, label, head in zip(parse.tokens, parse.labels, parse.heads, strict=True)
    ]


def test_an_adjective_gives_its_place_to_the_copula_and_keeps_what_compares_it():
    steel = tree("Steel>3:nsubj is>3:cop stronger>0:root/ADJ than>5:case iron>3:obl")
    assert "; ".join(edges(from_ud(steel))) == (
        "Steel nsubj is; is ROOT is; stronger acomp is; than prep stronger; iron pobj than"
    )


def test_coordinated_phrases_are_coordinated_at_their_prepositions():
    found = tree("""found>0:root in>4:case the>4:det north>1:obl ,>8:punct in>8:case the>8:det south>4:conj and>12:cc
        in>12:case the>12:det west>4:conj""")
    parse = from_ud(found)
    assert edges(parse)[1] == "in prep found"
    assert parse.heads[5] == 1  # the second "in" hangs on the first, the third on the second, as conjuncts
    assert parse.heads[9] == 5
    assert parse.labels[5] == parse.labels[9] == "conj"
    assert parse.heads[4] == 1  # the comma and the conjunction hang on the left of what they part
    assert parse.heads[8] == 5


def test_a_possessive_s_is_no_preposition_and_two_prepositions_are_stacked():
    out = tree("out>4:case of>4:case Marys>4:nmod:poss house>5:obl came>0:root she>5:nsubj 's>3:case")
    assert "; ".join(edges(from_ud(out))) == (
        "out prep came; of prep out; Marys poss house; house pobj of; came ROOT came; she nsubj came; 's case Marys"
    )


def test_several_roots_are_joined_under_the_first():
    parse = from_ud(tree("Rain>2:nsubj falls>0:root Wind>4:nsubj blows>0:root"))
    assert parse.heads == (1, 1, 3, 1)
    assert parse.roots == (1,)


CONLLU = """\
# sent_id = 1
# text = Cups don't break
1\tCups\tcup\tNOUN\tNNS\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tbreak\tbreak\tVERB\tVB\t_\t0\troot\t_\t_
4.1\tit\t_\t_\t_\t_\t_\t_\t_\t_
"""


def test_conllu_text_is_read(tmp_path):
    parses = read_conllu(CONLLU)
    assert parses["Cups don't break"].tokens == ("Cups", "do", "n't", "break")
    assert parses["Cups don't break"].heads == (3, 3, 3, 3)
    path = tmp_path / "mine.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    parser = find_parser(f"ud:{path}")
    assert parser.name == "ud:mine.conllu"
    assert parser.parse(["Cups don't break"]) == [parses["Cups don't break"]]
    with pytest.raises(UserError, match="hold none of 'Cups break'"):
        parser.parse(["Cups break"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tCups\t0\n", "here, line 1: 3 columns; CoNLL-U has 10"),
        (CONLLU.replace("\t4\tnsubj", "\tx\tnsubj"), "here, line 3: head 'x'"),
        (CONLLU.replace("\t4\tnsubj", "\t9\tnsubj"), "here, sentence before line 9: Token 0 has head 8"),
        (CONLLU.replace("\t0\troot", "\t1\troot"), "here, sentence before line 9: The heads of token 0 go in a circle"),
    ],
)
def test_a_broken_file_is_named_with_its_line(text, message):
    with pytest.raises(UserError, match=message):
        read_conllu(text, "here")
