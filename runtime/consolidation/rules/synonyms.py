"""Everyday words that mean the same in a statement about somebody's life, and phrases that stand for one word."""
# ruff: noqa: E501  (a pattern or table reads best on one line)

from __future__ import annotations

import re

SAME = (
    "fridge: refrigerator; flat: apartment; mum: mom mother mama mummy; dad: father papa daddy; "
    "grandma: grandmother granny gran nana; grandpa: grandfather grandad granddad; vet: veterinarian veterinary; "
    "doctor: physician gp; physio: physiotherapist; phone: mobile cellphone smartphone telephone; bike: bicycle; "
    "car: automobile; sofa: couch; tv: television telly; holiday: vacation; tap: faucet; coriander: cilantro; "
    "aubergine: eggplant; courgette: zucchini; rubbish: trash garbage; buy: purchase acquire; "
    "intern: internship; work: employ employed employment; fix: repair mend; live: reside dwell residence; "
    "finish: complete completion; start: begin commence; due: deadline; fly: flight flights; "
    "leave: depart departure; arrive: arrival; weigh: weight; owe: debt; deep: depth; long: length; high: height; wide: width; born: birth birthday; marry: marriage wedding; "
    "allergic: allergy allergies; break: fracture; give: donate donation; "
    "afraid: scared frightened fear terrified frighten; colleague: coworker workmate; boss: supervisor; "
    "flatmate: roommate housemate; shop: supermarket; big: large; trip: journey; photo: photograph; company: firm; "
    "salary: wage wages; uni: university; thesis: dissertation; lawyer: attorney solicitor; sick: ill; "
    "film: movie; cost: price; steal: theft; try: attempt; insure: insurance; renew: renewal; appointment: appt; "
    "cat: kitty; dog: puppy; baby: infant; kitchen: kitchenette; boyfriend: bf; girlfriend: gf; choir: chorus; "
    "luggage: baggage; garden: yard; trainers: sneakers; jumper: sweater pullover; sweets: candy; tyre: tire; "
    "pay: payment; move: relocate relocation; choose: choice; apply: application; book: reservation; "
    "sleep: asleep; die: dead death; engage: engagement; graduate: graduation; retire: retirement; "
    "promote: promotion; hire: recruit; doc: document; info: information; translate: translator translation"
)
"""`word: others that mean the same`; whole classes are kept small, for two things taken for one hide a fact."""

PHRASES: tuple[tuple[str, str], ...] = (
    (r"\b(?:came|come|comes|ran|bumped|stumbled) (?:across|upon|into)\b", "saw"),
    (r"\b(?:gets?|got|getting) up\b", "wake"),
    (r"\b(?:wakes?|waking|woke) up\b", "wake"),
    (r"\b(?:rises?|rising)\b(?= at)", "wake"),
    (r"\b(?:came|come|took|take|finished) (?:in )?first(?: place)?\b", "won"),
    (r"\b(?:turned|turns|showed|shows) up\b", "found"),
    (r"\b(?:runs?|ran|running) out\b(?= (?:on|in|at|by)\b)", "ends"),
    (r"\b(?:was|were|got) (?:given|handed) birth\b", "born"),
    (r"\bgot through\b(?= (?:the|my|their|his|her)\b[^.]{0,30}\b(?:test|exam))", "passed"),
    (r"\bto phone\b(?= (?:the|a|my|mum|dad|[A-Z]))", "call"),
    (r"\bto ring\b(?= (?:the|a|my|mum|dad|[A-Z]))", "call"),
    (r"\bcurrent account\b", "giro"),
    (r"\bwent (?:out|off)\b(?= (?:today|yesterday|this|in the|by|on)\b)", "sent"),
    (r"\b(?:two|2) times\b", "twice"),
    (r"\bpass(?:ed|es) away\b", "died"),
    (r"\bturn(?:ed|s|ing)\b(?= (?:\d|[a-z]+(?:ty|teen)\b))", "born"),
    (
        r"\b(?:more|older|longer) than\b(?= (?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|[a-z]+ty|[a-z]+teen)\b))",
        "over",
    ),
    (r"\byears old\b|\byears of age\b|\baged\b", "age"),
    (r"\bin charge of\b", "responsible"),
    (r"\b(?:came|come|comes|brought|gave|given) back\b", "returned"),
    (r"\b(?:the )?first of (?=[JFMASOND][a-z]+\b)", "1 "),
    (r"-years?-old\b", " age"),
    (r"\bin front of\b", "outside"),
    (r"\bended up\b|\bends up\b|\bhas to\b|\bhad to\b|\bhave to\b|\bneeds? to\b", ""),
    (r"\b(?:works?|is employed|working|am employed) as\b(?= (?:an?|the) [\w-]+(?: [\w-]+)?\.?$)", ""),
    (r"\b(?:lie|sleep)s? in\b", "sleep"),
    (r"\bon the way to\b", "to"),
    (r"\b(?:shares?|sharing) a (?:flat|house|room|apartment) with\b", "flatmates"),
    (r"\b(?:goes|go|going) by (?:the name (?:of )?)?(?=[A-Z])", ""),
    (r"\bcell phone\b|\bmobile phone\b", "phone"),
    (r"\b(?:gave|gives|giving|give) up\b", "quit"),
)
"""A pattern and the one shorter word that is read in its place."""
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in PHRASES)


def fold_phrases(text: str) -> str:
    """The text with phrases replaced by one word each and padded, so that every place stays where it was."""
    for pattern, word in _COMPILED:
        text = pattern.sub(lambda match, word=word: word.ljust(len(match[0])), text)  # type: ignore[misc]
    return text


def table() -> dict[str, str]:
    """From a word to the one that stands for its class."""
    found: dict[str, str] = {}
    for entry in SAME.split(";"):
        base, _, forms = entry.partition(":")
        found.update({form: base.strip() for form in forms.split()})
    return found
