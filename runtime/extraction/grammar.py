"""The language of answers: extraction JSON as a finite automaton over bytes, built from small expressions.

The schema (DimMem section 3.1) has no recursion, so what may follow any beginning of an answer is decided by a finite
automaton; no parser, no library. States are sets of places in the expression, made as they are reached (Thompson's
construction, lazily determinised). Each state also knows how many bytes the shortest ending needs, so that an answer
can be closed before its budget runs out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engrain.runtime.schema import MemoryType

State = frozenset[int]
_NEVER = 1 << 20


@dataclass
class Automaton:
    """Places joined by byte edges and free moves. `start` and `final` are set by `compile_answer`."""

    edges: list[dict[int, int]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    start: State = frozenset()
    final: int = 0
    _steps: dict[tuple[State, int], State] = field(default_factory=dict)
    _distance: list[int] = field(default_factory=list)

    def place(self) -> int:
        """A new place."""
        self.edges.append({})
        self.free.append([])
        return len(self.edges) - 1

    def step(self, state: State, byte: int) -> State:
        """The state after one more byte; the empty state when no answer goes on so."""
        found = self._steps.get((state, byte))
        if found is None:
            found = self._closed(self.edges[place][byte] for place in state if byte in self.edges[place])
            self._steps[state, byte] = found
        return found

    def accepts(self, state: State) -> bool:
        """Whether the answer may end here."""
        return self.final in state

    def bytes_to_end(self, state: State) -> int:
        """Bytes of the shortest ending."""
        return min((self._distance[place] for place in state), default=_NEVER)

    def finish(self, start: int, final: int) -> None:
        """Fix where answers begin and end, and measure every place's way to the end."""
        self.start, self.final = self._closed([start]), final
        backwards: list[list[tuple[int, int]]] = [[] for _ in self.edges]
        for place, targets in enumerate(self.edges):
            for target in set(targets.values()):
                backwards[target].append((place, 1))
            for target in self.free[place]:
                backwards[target].append((place, 0))
        self._distance = [_NEVER] * len(self.edges)
        self._distance[final] = 0
        waiting = deque([final])
        while waiting:
            place = waiting.popleft()
            for before, cost in backwards[place]:
                if self._distance[place] + cost < self._distance[before]:
                    self._distance[before] = self._distance[place] + cost
                    waiting.append(before)

    def _closed(self, places: Iterable[int]) -> State:
        found, stack = set[int](), list(places)
        while stack:
            place = stack.pop()
            if place not in found:
                found.add(place)
                stack.extend(self.free[place])
        return frozenset(found)


# An expression adds its places to the automaton behind `place` and returns where it ends.
def literal(automaton: Automaton, place: int, text: str) -> int:
    """Exactly these bytes."""
    for byte in text.encode():
        place = one_of(automaton, place, (byte,))
    return place


def one_of(automaton: Automaton, place: int, allowed: Iterable[int]) -> int:
    """One byte of these."""
    end = automaton.place()
    automaton.edges[place] |= dict.fromkeys(allowed, end)
    return end


def either(automaton: Automaton, place: int, texts: Iterable[str]) -> int:
    """One of these texts."""
    end = automaton.place()
    for text in texts:
        begin = automaton.place()
        automaton.free[place].append(begin)
        automaton.free[literal(automaton, begin, text)].append(end)
    return end


def skippable(automaton: Automaton, begin: int, end: int) -> int:
    """Make what lies between two places optional; returns a place behind both ways."""
    after = automaton.place()
    automaton.free[begin].append(after)
    automaton.free[end].append(after)
    return after


def listed(automaton: Automaton, place: int, item: Callable[[Automaton, int], int]) -> int:
    """No item, or items with commas between them."""
    begin = automaton.place()
    automaton.free[place].append(begin)
    end = item(automaton, begin)
    automaton.free[literal(automaton, end, ",")].append(begin)
    return skippable(automaton, place, end)


_DIGITS = tuple(b"0123456789")
_HEX = tuple(b"0123456789abcdefABCDEF")
_PLAIN = tuple(byte for byte in range(0x20, 0x7F) if byte not in (0x22, 0x5C))
"""ASCII that needs no escape inside a JSON string."""
_LEADS = (range(0xC2, 0xE0), (*range(0xE1, 0xED), 0xEE, 0xEF), range(0xF1, 0xF4))
"""First bytes of UTF-8 sequences of 2, 3 and 4 bytes; those that not every byte may follow are below."""
_NARROW = (
    (0xE0, range(0xA0, 0xC0), 1),
    (0xED, range(0x80, 0xA0), 1),
    (0xF0, range(0x90, 0xC0), 2),
    (0xF4, range(0x80, 0x90), 2),
)
_FOLLOWING = tuple(range(0x80, 0xC0))


def text_value(automaton: Automaton, place: int, *, filled: bool = False) -> int:
    """A JSON string with its quotes; `filled` refuses the empty one, and one that begins with a space."""
    place = literal(automaton, place, '"')
    inside = automaton.place()
    if filled:
        _characters(automaton, place, inside, tuple(byte for byte in _PLAIN if byte != 0x20))
    else:
        automaton.free[place].append(inside)
    _characters(automaton, inside, inside, _PLAIN)
    escaped = one_of(automaton, inside, b"\\")
    automaton.edges[escaped] |= dict.fromkeys(b'"\\/bfnrt', inside)
    code = one_of(automaton, escaped, b"u")
    for _ in range(3):
        code = one_of(automaton, code, _HEX)
    automaton.edges[code] |= dict.fromkeys(_HEX, inside)
    return literal(automaton, inside, '"')


def _characters(automaton: Automaton, place: int, end: int, ascii_bytes: Iterable[int]) -> None:
    """One character in UTF-8 from `place` to `end`: of these ASCII ones, or any other."""
    automaton.edges[place] |= dict.fromkeys(ascii_bytes, end)
    tails = [end]  # Places that want 0, 1 and 2 more bytes.
    for _ in range(3):
        tails.append(automaton.place())
        automaton.edges[tails[-1]] |= dict.fromkeys(_FOLLOWING, tails[-2])
    for missing, leads in enumerate(_LEADS, start=1):
        automaton.edges[place] |= dict.fromkeys(leads, tails[missing])
    for lead, following, rest in _NARROW:
        second = automaton.place()
        automaton.edges[place][lead] = second
        automaton.edges[second] |= dict.fromkeys(following, tails[rest])


def time_value(automaton: Automaton, place: int) -> int:
    """A JSON string that is empty, or a time of the schema: a year up to an ISO datetime, or start/end of such."""
    place = literal(automaton, place, '"')
    start = _moment(automaton, place)
    end = _moment(automaton, literal(automaton, start, "/"))
    both = skippable(automaton, start, end)
    return literal(automaton, skippable(automaton, place, both), '"')


def _moment(automaton: Automaton, place: int) -> int:
    year = place
    for _ in range(4):
        year = one_of(automaton, year, _DIGITS)
    months = [f"-{number:02d}" for number in range(1, 13)]
    days = [f"-{number:02d}" for number in range(1, 32)]
    sixty = [f"{number:02d}" for number in range(60)]
    month = either(automaton, year, months)
    day = either(automaton, month, days)
    hour = either(automaton, literal(automaton, day, "T"), sixty[:24])
    clock = either(automaton, literal(automaton, hour, ":"), sixty)
    whole = skippable(automaton, clock, either(automaton, literal(automaton, clock, ":"), sixty))
    known = skippable(automaton, whole, _offset(automaton, whole, sixty))
    ends = automaton.place()
    for place in (year, month, day, known):
        automaton.free[place].append(ends)
    return ends


def _offset(automaton: Automaton, place: int, sixty: list[str]) -> int:
    hours = either(automaton, place, [f"{sign}{number:02d}:" for sign in "+-" for number in range(15)])
    end = either(automaton, place, ["Z"])
    automaton.free[either(automaton, hours, sixty)].append(end)
    return end


def compile_answer() -> Automaton:
    """The automaton of `{"memories":[…]}` as `render_records` writes it, with or without its empty dimensions."""
    automaton = Automaton()
    start = automaton.place()
    opened = literal(automaton, start, '{"memories":[')
    final = literal(automaton, listed(automaton, opened, _record), "]}")
    automaton.finish(start, final)
    return automaton


def _record(automaton: Automaton, place: int) -> int:
    number = one_of(automaton, literal(automaton, place, '{"source_id":'), _DIGITS[1:])
    for _ in range(2):
        number = skippable(automaton, number, one_of(automaton, number, _DIGITS))
    content = text_value(automaton, literal(automaton, number, ',"content":'), filled=True)
    place = literal(automaton, content, ',"dimension":{"memory_type":')
    place = either(automaton, place, [f'"{name.value}"' for name in MemoryType])
    place = skippable(automaton, place, time_value(automaton, literal(automaton, place, ',"time":')))
    for name in ("location", "reason", "purpose"):
        place = skippable(automaton, place, text_value(automaton, literal(automaton, place, f',"{name}":')))
    words = listed(automaton, literal(automaton, place, ',"keywords":['), _keyword)
    return literal(automaton, skippable(automaton, place, literal(automaton, words, "]")), "}}")


def _keyword(automaton: Automaton, place: int) -> int:
    return text_value(automaton, place, filled=True)
