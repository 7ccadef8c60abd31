"""Hold a run against the calls of a twin: every value, every gradient, every absence."""

from collections import Counter
from dataclasses import dataclass, field

import torch

from hookviewer.engine.plan import Quantity

_VALUES = {Quantity.INPUT: "given", Quantity.OUTPUT: "returned"}
_GRADIENTS = {Quantity.GRAD_INPUT: (0, "given"), Quantity.GRAD_OUTPUT: (1, "returned")}


@dataclass(slots=True, eq=False)
class Row:
    """What was compared for one model, and what did not agree.

    Attributes:
        name: The model.
        values: How many inputs and outputs were compared.
        gradients: How many gradients were compared.
        by_full_hooks: How many of these with torch's full backward hooks; tensor hooks else.
        nonzero: How many of these are not all zero.
        absences: How many gradients neither has, named as the twin says.
        mismatches: A sentence for each thing that is not as the twin has it.
        seconds: What it took, by step.
    """

    name: str
    values: int = 0
    gradients: int = 0
    by_full_hooks: int = 0
    nonzero: int = 0
    absences: int = 0
    mismatches: list = field(default_factory=list)
    seconds: Counter = field(default_factory=Counter)


class Comparison:
    """Fills a row from a finished run and a finished twin."""

    def __init__(self, row, run, twin):
        self._row, self._twin = row, twin
        self._found = {(c.tap.quantity, c.tap.path, c.call, c.leaf): c.tensor for c in run.captures}
        self._absent = {
            (tap.quantity, tap.path, call, leaf): reason
            for (tap, call, leaf), reason in run.absences.items()
        }

    def fill(self):
        """Compare everything that either of them has."""
        for path, module in self._twin.model.named_modules(remove_duplicate=False):
            calls = self._twin.calls.get(module, [])
            if not calls:
                self._expect_nothing(path, module)
            for number, call in enumerate(calls):
                self._compare(path, number, call)
        for key in self._found:
            self._differ("has what the twin has not", *key)

    def _compare(self, path, number, call):
        for quantity, name in _VALUES.items():
            wanted = getattr(call, name)
            for leaf, tensor in wanted.items():
                self._compare_value((quantity, path, number, leaf), tensor)
            if not wanted:
                self._expect_absence((quantity, path, number, None), "no tensors")
        for quantity, (side, name) in _GRADIENTS.items():
            wanted = getattr(call, name)
            for leaf in wanted:
                gradient, by_full_hook = call.gradient(side, leaf)
                self._row.by_full_hooks += by_full_hook
                self._compare_gradient((quantity, path, number, leaf), gradient, call)
            if not wanted:
                self._expect_absence((quantity, path, number, None), "no tensors")

    def _compare_value(self, key, wanted):
        self._row.values += 1
        found = self._found.pop(key, None)
        if found is None:
            self._differ(f"absent ({self._reason(key)})", *key)
        elif found.dtype != wanted.dtype or not torch.equal(found, wanted):
            self._differ("another value", *key)

    def _compare_gradient(self, key, wanted, call):
        found = self._found.pop(key, None)
        if wanted is None:
            self._expect_absence(key, call.absence(key[0] is Quantity.GRAD_OUTPUT, key[3]))
            if found is not None:
                self._differ("a gradient where there is none", *key)
            return
        self._row.gradients += 1
        self._row.nonzero += bool(wanted.any())
        if not wanted.isfinite().all():
            self._differ("the twin's gradient is not finite", *key)
        elif found is None:
            self._differ(f"gradient absent ({self._reason(key)})", *key)
        elif not _close(found, wanted):
            self._differ(f"another gradient ({_distance(found, wanted)})", *key)

    def _expect_nothing(self, path, module):
        has_forward = type(module).forward is not torch.nn.Module.forward
        for quantity in (*_VALUES, *_GRADIENTS):
            reason = "not called" if has_forward else "container"
            self._expect_absence((quantity, path, None, None), reason)

    def _expect_absence(self, key, wanted):
        self._row.absences += 1
        reason = self._reason(key)
        if reason != wanted:
            self._differ(f"absence is {reason!r}, not {wanted!r}", *key)

    def _reason(self, key):
        quantity, path, call, _ = key
        keys = (key, (quantity, path, call, None), (quantity, path, None, None))
        return next((self._absent[each] for each in keys if each in self._absent), None)

    def _differ(self, what, quantity, path, call, leaf):
        self._row.mismatches.append(f"{quantity} of {path or 'the root'}, {call}, {leaf}: {what}")


def _close(found, wanted):
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    largest = wanted.abs().max().item() if wanted.numel() else 0.0
    return torch.allclose(found, wanted, rtol=1e-3, atol=1e-6 * largest)


def _distance(found, wanted):
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{tuple(found.shape)} {found.dtype}, not {tuple(wanted.shape)} {wanted.dtype}"
    return f"off by {(found - wanted).abs().max():.1e} of {wanted.abs().max():.1e}"
