"""Classes of words that announce a change, an end, a completion or a correction; the classes are data, in any order.

A verb is given as the start that its forms share, or as its forms where they share none.
"""
# ruff: noqa: E501  (a table reads best on one line an entry)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording


def _any(*groups: str) -> str:
    """One alternative of all words of the groups; a star stands for any ending, an underscore for a space."""
    words = sorted({word for group in groups for word in group.split()}, key=len, reverse=True)
    return "|".join(word.replace("*", r"\w*").replace("_", r"\s+") for word in words)


TURN = (
    "chang* mov* switch* swap* exchang* trad* shift* transfer* transition* convert* replac* rescheduled reschedul* rebook* "
    "postpon* delay* pushed push* brought put_back put_off put_forward moved_up advanc* defer* extend* shorten* rais* "
    "increas* lower* reduc* cut bump* upp* went_up went_down gone_up gone_down goes_up goes_down rose risen fell climbed "
    "dropped_to drop_to jumped doubled halved updat* revis* adjust* amend* alter* modif* upgrad* downgrad* renam* becam* "
    "become becomes turned_into now_called took_over takes_over taken_over reassign* relocat* rearrang* reseated renumbered rerouted set_to reset relabel* promot*"
)
"""Verbs for one value going and another coming."""
NOWADAYS = (
    "now nowadays these_days from_now_on from_now henceforth as_of starting_from since_then instead "
    "nowadays currently at_present onwards going_forward for_good"
)
"""Words that put another value into the present."""
TURN_CUE = re.compile(rf"\b(?:{_any(TURN)})\b", re.IGNORECASE)
NOW_CUE = re.compile(rf"\b(?:{_any(NOWADAYS)})\b", re.IGNORECASE)

HENCEFORTH = re.compile(r"\b(?:from now on|from here on|henceforth|going forward|instead)\b(?! of)", re.IGNORECASE)
"""A new value as plainly as a verb of change says it."""
MEND = (
    "correct correction corrected corrects correcting typo misread misspoke mistake mistaken mistakenly was_wrong were_wrong "
    "mix-up mixup mixed_up mixing_up confused sorry error misremembered mistyped miscounted misheard scratch_that strike_that "
    "make_that to_be_precise turns_out turned_out it_was_actually rather_than got_that_wrong had_it_wrong got_it_wrong "
    "wrong_about in_fact in_reality contrary_to not_quite_right slip oops whoops rectify rectified amend amendment "
    "wrongly no_wait had_said had_told had_written had_noted had_put had_given had_thought apologies i_was_off checked_again looked_again counted_again measured_again double-checked"
)
"""Words that take back what was said before."""
MEND_CUE = re.compile(
    rf"\b(?:{_any(MEND)})\b|\b(?:got|read|heard|noted|wrote|remembered|understood|copied|counted|typed) (?:\w+ ){{0,4}}wrong(?:ly)?\b|\bactually\b|^no,|\bmeant\b(?! to (?!say))",
    re.IGNORECASE,
)

ENDING = (
    "stopped quit quits ceased dropped ended abandoned gave_up given_up giving_up discontinued swore_off sworn_off cut_out "
    "kicked packed_in came_off come_off coming_off weaned_off withdrew_from dropped_out_of pulled_out_of stepped_down_from resigned_from "
    "got_out_of finished_with done_with through_with had_enough_of cancelled canceled terminated let_go_of parted_with "
    "disposed_of got_rid_of unsubscribed_from opted_out_of signed_off called_off scrapped shelved axed binned ditched "
    "backed_out_of decided_against"
)
OVER = (
    "over ended finished off cancelled canceled called_off scrapped shelved axed gone dead closed history expired dissolved "
    "terminated discontinued sold lost broken_up no_more stolen given_away suspended abandoned dropped withdrawn "
    "replaced superseded phased_out out_of_the_question not_happening not_going_ahead not_taking_place not_going_to_happen"
)
"""What is said of a thing that is no more."""

SETTLED = (
    "done finished completed sorted sorted_out settled taken_care_of dealt_with out_of_the_way ticked_off checked_off "
    "crossed_off handled complete over wrapped_up accomplished behind_me in_the_bag"
)
"""What is said of a task that is no task any more."""
SETTLED_CUE = re.compile(rf"\b(?:{_any(SETTLED)})\b", re.IGNORECASE)
BYGONE = (
    "no_longer came_to_nothing comes_to_nothing fell_through bowed_out called_it_quits called_time_on is_history are_history "
    "a_thing_of_the_past withdrew pulled_out dropped_out signed_out wound_down wound_up ran_out lapsed expired came_to_an_end "
    "shut_down packed_it_in gave_it_up moved_out resigned retired handed_back gave_back turned_down said_goodbye_to "
    "no_more nothing_came_of put_an_end_to stepped_down finished_with broke_off cut_ties parted_ways sold gave_away given_away"
)
"""More ways of being over, which need the whole statement beside them."""
ENDING_WORDS, OVER_WORDS, BYGONE_WORDS = _any(ENDING), _any(OVER), _any(BYGONE)
_LOOSE = wording.words("off gone dead closed dropped sold lost stolen kicked signed_off")
"""Too common to need no object of their own."""
_SURE = " ".join(sorted(wording.words(f"{ENDING} {OVER} {BYGONE}") - _LOOSE))
END_CUE = re.compile(rf"\b(?:{_any(_SURE)})\b", re.IGNORECASE)

PARTLY = re.compile(
    r"\b(?:half(?:way)?|part(?:ly)?|partially|some of|most of|almost|nearly|one of|first (?:part|half|chapter|draft|step|version)|"
    r"chapter|started|begun|began|draft(?:ed)?|tried|attempted|forgot|failed|unable|still|not yet|only|except|another|"
    r"again|essay|exercise|module|section|page)\b",
    re.IGNORECASE,
)
"""A part done is not the whole done."""
MANY = wording.words(
    "colleagu friend neighbour neighbor pet hobbi project cousin sister brother aunt uncl niec nephew client student plant "
    "skill languag allergi grandchild son daughter task interest"
)
"""What one has several of: another one takes no place."""
SCOPES = wording.words(
    "weekend weekday winter summer spring autumn morn even afternoon night home offic week month year quarter "
    "lunch dinner breakfast privat person profession other holiday secondari backup guest joint"
)
"""Words that narrow what a statement is about: with one on one side only, two statements are of two things."""
EXCLUSIVE = re.compile(
    r"\b(?:favou?rite|liv(?:e|es|ing)|works? (?:at|for|in|from|as)|working (?:at|for)|driv(?:e|es|ing)|banks? with|stay(?:s|ing)?|"
    r"sleeps?|rents?|reports? to|commut\w+|insured|studies at|weighs?|earns?|costs?|pays?|wakes?|is the|"
    r"(?:user|[A-Z]\w+)'s [\w -]+ (?:is|are|was)|my [\w -]+ (?:is|are)|led by|managed by|runs on|goes to bed|gets up|lead|based)\b|:\s",
    re.IGNORECASE,
)
"""What has one value at a time."""
