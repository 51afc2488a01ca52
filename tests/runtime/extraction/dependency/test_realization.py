"""Surface rules of realisation: first person, agreement, requests, questions, supplied subjects, quotations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engrain.runtime.extraction.dependency.inflection import third_person


@pytest.mark.parametrize(
    ("verb", "form"),
    [("live", "lives"), ("try", "tries"), ("play", "plays"), ("watch", "watches"), ("go", "goes"), ("have", "has"),
     ("'m", "is"), ("'ve", "has"), ("do", "does"), ("Do", "does"), ("fix", "fixes"), ("were", "was")],
)  # fmt: skip
def test_third_person(verb: str, form: str) -> None:
    assert third_person(verb) == form


@pytest.mark.parametrize(
    ("turn", "entry"),
    [
        ("I want to learn Japanese.", "User wants to learn Japanese."),
        ("I play the cello and teach chess to kids.", "User plays the cello and teaches chess to kids."),
        ("I've moved to Porto and I'm looking for a flat.", "User has moved to Porto and User is looking for a flat."),
        ("I have a van but am selling it in May.", "User has a van but is selling it in May."),
        ("My brother sold me his car.", "User's brother sold User his car."),
        ("I taught myself to sew.", "User taught themselves to sew."),
        ("We all need new passports.", "User needs new passports."),
        ("I'd rather travel to Oslo by train.", "User would rather travel to Oslo by train."),
        ("I quit my job at the bank in 2019.", "User quit their job at the bank in 2019."),
        ("I actually really like post-rock.", "User likes post-rock."),
        ("Please add the invoice to the list.", "User asks to add the invoice to the list."),
        ("Could you please not call me before nine?", "User asks not to call User before nine."),
        ("I was hoping you could help me plan a trip to Rome.", "User asks to help plan a trip to Rome."),
        ("Let's meet at the station on Friday.", "User suggests to meet at the station on Friday."),
        ("Do you think the ferry runs on Sundays?", "User asks if the ferry runs on Sundays."),
        ("I was wondering, where does the bus to Ghent stop?", "User asks where the bus to Ghent stops."),
        ("Started piano lessons yesterday.", "User started piano lessons yesterday."),
        ("Working from Lisbon until June.", "User is working from Lisbon until June."),
        ("Two cats and a tortoise.", "User noted: two cats and a tortoise."),
        ('My favourite song is "I Want You".', 'User\'s favourite song is "I Want You".'),
        ("I study World War I.", "User studies World War I."),
        ("The US sent us a letter.", "The US sent User a letter."),
        ("Lisbon is sunny in May.", "User noted: Lisbon is sunny in May."),
        ("What are some of the risks of frying in oil?", "User asks about the risks of frying in oil."),
        ("What are the kids doing tomorrow?", "User asks: what are the kids doing tomorrow?"),
        ("Do you have any tips for pests on herbs?", "User asks for tips for pests on herbs."),
        ("Where does the bus to Ghent stop?", "User asks where the bus to Ghent stops."),
        ("How do I get to the station?", "User asks: how does User get to the station?"),
        ("Could you tell me more about the history of Rome?", "User asks for more about the history of Rome."),
        ("Mostly just painting the fence this week.", "User is mostly painting the fence this week."),
        ("I used to row, but lately, I swim much more often.", "User used to row, but lately User swims more often."),
        ("It's like how I spent $12.93 on lunch today.", "User spent $12.93 on lunch today."),
    ],
)  # fmt: skip
def test_statements(entry_of: Callable[[str], str], turn: str, entry: str) -> None:
    assert entry_of(turn) == entry
