"""Who acts in a record: what another person did finishes, ends or sells nothing of the user's."""

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import normalise

_ACTS = re.compile(
    r"\W*(?P<name>[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)?(?:,[^,]{2,40},)? (?:has|have|had|is|was|no longer|does|did|will|got|gave|sold|left|took|"
    r"made|went|sent|wrote|paid|bought|quit|met|said|says|thinks|wants|finally|already|just|[a-z]+ed)\b"
)
_OWN = frozenset(
    ["User", "I", "We", "My", "Our", "The", "A", "An", "This", "That", "These", "Those", "It", "They", "He", "She", "There", "Here", "Today", "Yesterday", "Now", "Then", "After", "Before", "Since", "All", "Both", "Some", "No", "Not", "Just", "Also", "And", "But", "So", "Finally", "Got", "Turns", "Correction", "Update", "Done", "Finished", "Everything", "Nobody", "Someone", "What", "Which", "As", "In", "On", "At", "For", "From", "With"]
)


def other_agent(older: Reading, newer: Reading, clause: Clause) -> bool:
    """Whether the sentence around a clause of the newer record tells what somebody else did, unknown to the older."""
    sentence = next((s for s in newer.sentences if s.start <= clause.start < s.end), None)
    found = _ACTS.match(sentence.masked) if sentence is not None else None
    if found is None or re.split("['’]", found["name"])[0] in _OWN:
        return bool(sentence and _relative(sentence) - older.norms)
    return normalise(found["name"].casefold().removesuffix("'s")) not in older.norms


def _relative(sentence: Clause) -> frozenset[str]:
    """`User's brother sold the car`: the person before the verb."""
    found = re.match(r"\W*(?:User's|My|The user's) (?:[\w-]+ )?(?P<who>[\w-]+)(?: [A-Z]\w+)? ", sentence.masked)
    who = normalise(found["who"].casefold()) if found else ""
    return frozenset({who}) & wording.PEOPLE
