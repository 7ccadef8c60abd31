"""What can be added to hookviewer: a registry for each kind of thing.

A registry is a dictionary that refuses to overwrite. A new item is a new file in the folder of
its kind, decorated with the registry, and one line in that folder's ``__init__``.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from hookviewer.engine.cancel import CancelToken
from hookviewer.engine.errors import HookviewerError
from hookviewer.engine.plan import Intervention, Target

T = TypeVar("T")
Item = TypeVar("Item")


class Registry(Generic[T]):
    """Named items of one kind, in the order they were added."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[Item], Item]:
        """Return a decorator that files its argument, a ``T``, under ``name``.

        It gives back what it was given, so that editors know the item's own signature.

        Raises:
            ValueError: The name is taken; that is a mistake in the program, not of its user.
        """

        def add(item: Item) -> Item:
            if name in self._items:
                raise ValueError(f"There is already a {self._kind} '{name}'.")
            self._items[name] = cast("T", item)
            return item

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name]
        except KeyError:
            known = ", ".join(self._items)
            raise HookviewerError(
                f"There is no {self._kind} '{name}'. There are: {known}."
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)


Source = Callable[[str, CancelToken], Any]
"""Turns a spec into a ``LoadedModel``, or into None when it is of another kind."""

sources: Registry[Source] = Registry("source")
targets: Registry[Callable[..., Target]] = Registry("target")
interventions: Registry[Callable[..., Intervention]] = Registry("intervention")
