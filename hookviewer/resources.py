"""Find the files that come with hookviewer: its model, its pictures."""

from pathlib import Path

from hookviewer.engine.errors import HookviewerError


def path_of(*parts: str) -> Path:
    """Return the path of a file in ``resources/``.

    An installed package carries the folder inside itself; in a checkout it lies beside the package.

    Raises:
        HookviewerError: There is no such file, so the installation is incomplete.
    """
    package = Path(__file__).parent
    for folder in (package / "resources", package.parent / "resources"):
        path = folder.joinpath(*parts)
        if path.exists():
            return path
    name = "/".join(("resources", *parts))
    raise HookviewerError(f"hookviewer's own file {name} is missing; please install it again.")
