"""Find what a run holds of a tap, or why there is nothing, without searching all of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from hookviewer.engine.capture import Capture
from hookviewer.engine.plan import Tap

Absences = Mapping[tuple[Tap, int | None, str | None], str]
"""Why there is nothing, by tap, call and leaf; None stands for all of them."""
_Missing = list[tuple[int, str | None, str]]  # the how-manieth absence, its leaf and its reason


class RunIndex:
    """The captures and absences of a run by tap and call, as they were when it was made.

    Attributes:
        paths: Every path that something was asked for at.
    """

    def __init__(
        self, taps: Iterable[Tap], captures: Iterable[Capture], absences: Absences
    ) -> None:
        self.paths = frozenset(tap.path for tap in taps)
        self._captures: dict[Tap, tuple[Capture, ...]] = {}
        self._leaves: dict[tuple[Tap, int], set[str]] = defaultdict(set)
        self._missing: dict[Tap, _Missing] = defaultdict(list)
        self._missing_in: dict[tuple[Tap, int | None], _Missing] = defaultdict(list)
        self._call_counts: dict[str, int] = {}
        self._note_captures(captures)
        self._note_absences(absences)

    def captures(self, tap: Tap) -> tuple[Capture, ...]:
        """Return all captures of ``tap``, in the order of the run's."""
        return self._captures.get(tap, ())

    def has(self, tap: Tap, call: int | None, leaf: str | None) -> bool:
        """Whether there is a capture of ``tap``; None stands for any call or leaf."""
        if call is None:
            return any(leaf in (None, capture.leaf) for capture in self.captures(tap))
        found = self._leaves.get((tap, call), ())
        return bool(found) if leaf is None else leaf in found

    def reason(self, tap: Tap, call: int | None, leaf: str | None) -> str | None:
        """Return the first absence noted for ``tap``; None stands for any call or leaf."""
        if call is None:
            missing = self._missing.get(tap, [])
        else:
            of_all_calls = self._missing_in.get((tap, None), [])
            missing = sorted([*self._missing_in.get((tap, call), []), *of_all_calls])
        fitting = (reason for _, of, reason in missing if None in (leaf, of) or leaf == of)
        return next(fitting, None)

    def call_count(self, path: str) -> int:
        """Return how many calls of the node at ``path`` something is known of."""
        return self._call_counts.get(path, 0)

    def _note_captures(self, captures: Iterable[Capture]) -> None:
        found: dict[Tap, list[Capture]] = defaultdict(list)
        for capture in captures:
            found[capture.tap].append(capture)
            self._leaves[capture.tap, capture.call].add(capture.leaf)
            if not capture.tap.quantity.is_of_parameters:
                self._count(capture.tap.path, capture.call)
        self._captures = {tap: tuple(of_tap) for tap, of_tap in found.items()}

    def _note_absences(self, absences: Absences) -> None:
        for number, ((tap, call, leaf), reason) in enumerate(absences.items()):
            self._missing[tap].append((number, leaf, reason))
            self._missing_in[tap, call].append((number, leaf, reason))
            if call is not None and not tap.quantity.is_of_parameters:
                self._count(tap.path, call)

    def _count(self, path: str, call: int) -> None:
        self._call_counts[path] = max(self.call_count(path), call + 1)
