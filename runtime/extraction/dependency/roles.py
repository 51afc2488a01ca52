"""Role tables, one a label set: which role group of SLICE-Mem equation 2 a parser's label belongs to.

Tables are data. `REVERSED` lists labels whose head is the function word or modifier (DM, PAS): the edge is turned
round. `MARKED` lists the labels of prepositions and subordinating conjunctions that are predicates of their own: their
two arguments become one edge, whose role comes from the marker (`PREPOSITIONS`, `CONJUNCTIONS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from engrain.runtime.extraction.dependency.parse import Role

P, A, T, U, L = Role.PATIENT, Role.ACTOR, Role.TIME, Role.PURPOSE, Role.LOCATION
M, N, C, F, X = Role.MODIFIER, Role.NOMINAL, Role.COORDINATION, Role.FUNCTION, Role.APART


class RoleTable(NamedTuple):
    """How the labels of one format are read; a label in none of the tables is a modifier."""

    roles: Mapping[str, Role]
    reversed: Mapping[str, Role] = MappingProxyType({})
    marked: Mapping[str, str] = MappingProxyType({})
    """Label of a marker's governor to the label of its object."""
    dropped: frozenset[str] = frozenset()


PSD = RoleTable(
    roles={
        **dict.fromkeys(("PAT-arg", "EFF-arg", "ADDR-arg", "ORIG-arg"), P),
        "ACT-arg": A,
        **dict.fromkeys(("TWHEN", "TPAR", "THL", "TSIN", "TTILL", "TFHL", "TFRWH", "TOWH", "THO"), T),
        **dict.fromkeys(("AIM", "CAUS", "COND", "INTT", "CNCS"), U),
        **dict.fromkeys(("LOC", "LOC-arg", "DIR1", "DIR2", "DIR3", "DIR3-arg", "DIR1-arg", "DIR2-arg"), L),
        **dict.fromkeys(("MANN", "MEANS", "ACMP", "EXT", "REG", "COMPL", "BEN", "CPR", "CRIT", "DIFF", "SUBS"), M),
        **dict.fromkeys(("RSTR", "APP", "NE", "DESCR", "ID", "MAT", "AUTH"), N),
        **dict.fromkeys(("CONJ.member", "DISJ.member", "APPS.member", "ADVS.member", "CSQ.member", "REAS.member"), C),
        **dict.fromkeys(("RHEM", "CM", "DPHR", "CPHR"), F),
        **dict.fromkeys(("PAR", "PARTL", "VOCAT", "DENOM", "PREC", "ATT"), X),
    },
)

DM = RoleTable(
    roles={
        "ARG1": A,
        **dict.fromkeys(("ARG2", "ARG3", "ARG4"), P),
        **dict.fromkeys(("loc", "dir"), L),
        "temp": T,
        **dict.fromkeys(("compound", "poss", "of", "part", "measure"), N),
        **dict.fromkeys(("mwe", "times", "plus"), F),
        **dict.fromkeys(("_and_c", "_or_c", "_but_c", "conj", "subord"), C),
        **dict.fromkeys(("appos", "discourse"), N),
        "parenthetical": X,
    },
    reversed={"BV": F, "neg": F},
    marked={"ARG1": "ARG2"},
)

PAS = RoleTable(
    roles={
        "verb_ARG1": A,
        **dict.fromkeys(("verb_ARG2", "verb_ARG3", "verb_ARG4"), P),
        **dict.fromkeys(("coord_ARG1", "coord_ARG2"), C),
        "app_ARG1": N,
        "app_ARG2": N,
        "adj_ARG2": P,
    },
    reversed={
        **dict.fromkeys(("det_ARG1", "aux_ARG2", "comp_ARG1", "det_arg_ARG1", "quote_ARG1", "relative_ARG1"), F),
        **dict.fromkeys(("noun_ARG1", "poss_ARG2", "poss_ARG1", "app_ARG1"), N),
        "adj_ARG1": M,
        "verb_MOD": U,
        "aux_MOD": M,
    },
    marked={"prep_ARG1": "prep_ARG2", "conj_ARG1": "conj_ARG2"},
    dropped=frozenset({"aux_ARG1", "punct_ARG1", "punct_ARG2", "lparen_ARG1"}),
)

SPACY = RoleTable(
    roles={
        **dict.fromkeys(("nsubj", "csubj", "agent", "control"), A),
        **dict.fromkeys(("dobj", "attr", "acomp", "oprd", "ccomp", "xcomp", "dative", "nsubjpass", "csubjpass"), P),
        **dict.fromkeys(("advmod", "npadvmod", "advcl", "prep", "pcomp"), M),
        **dict.fromkeys(("amod", "compound", "nummod", "nmod", "quantmod", "appos", "acl", "relcl", "pobj", "poss"), N),
        "conj": C,
        **dict.fromkeys(("aux", "auxpass", "neg", "det", "case", "mark", "prt", "predet", "cc", "preconj", "expl"), F),
        **dict.fromkeys(("intj", "parataxis", "meta", "dep", "punct"), X),
    },
)

MODIFIER_HEADS = ("RB", "MD", "CD", "JJ", "DT", "PDT", "UH")
"""Tags of words that DM and PAS make the head of what they modify: their first argument is turned round."""

TABLES: dict[str, RoleTable] = {"sdp/psd": PSD, "sdp/dm": DM, "sdp/pas": PAS, "spacy": SPACY}

PREPOSITIONS: dict[str, Role] = {
    **dict.fromkeys(("in", "at", "near", "inside", "outside", "behind", "beside", "under", "above", "across"), L),
    **dict.fromkeys(("to", "from", "into", "onto", "toward", "towards", "through", "along", "around", "between"), L),
    **dict.fromkeys(("on", "over", "off", "beyond", "beneath", "below", "opposite", "past"), L),
    **dict.fromkeys(("during", "since", "until", "till", "before", "after", "by"), T),
    **dict.fromkeys(("for", "because", "due", "despite"), U),
}
"""Role of a prepositional phrase at a verb, unless its object is a date or time; others are modifiers."""

CONJUNCTIONS: dict[str, Role] = {
    **dict.fromkeys(("because", "since", "as", "so", "if", "unless", "although", "though", "whereas", "lest"), U),
    **dict.fromkeys(("provided", "in case", "even", "whether", "to"), U),
    **dict.fromkeys(("when", "while", "before", "after", "until", "till", "once", "whenever"), T),
    **dict.fromkeys(("where", "wherever"), L),
}
"""Role of an adverbial clause by its marker; `to` stands for a bare purpose infinitive."""

TIME_ENTITIES = frozenset({"DATE", "TIME"})
PLACE_ENTITIES = frozenset({"GPE", "LOC", "FAC"})


def phrase_role(preposition: str, is_time: bool, is_place: bool, at_noun: bool) -> Role:
    """Role of a prepositional phrase from its preposition and what its object is."""
    if at_noun:
        return Role.NOMINAL
    if is_time:
        return Role.TIME
    role = PREPOSITIONS.get(preposition, Role.MODIFIER)
    if role is Role.TIME and is_place:
        return Role.LOCATION
    return role
