"""What the window remembers until it is opened again."""

from PySide6.QtCore import QByteArray, QSettings


class Settings:
    """Typed access to a store of settings."""

    def __init__(self, store: QSettings) -> None:
        self._store = store

    @property
    def dark(self) -> bool:
        """Whether the dark theme is on."""
        return bool(self._store.value("theme/dark", False, bool))

    @dark.setter
    def dark(self, dark: bool) -> None:
        self._store.setValue("theme/dark", dark)

    @property
    def folder(self) -> str:
        """The folder of the last file that was opened."""
        return str(self._store.value("files/folder", ""))

    @folder.setter
    def folder(self, folder: str) -> None:
        self._store.setValue("files/folder", folder)

    def sync(self) -> None:
        """Write everything down now."""
        self._store.sync()

    def layout(self, part: str) -> QByteArray:
        """Return the layout stored for ``part``; empty when there is none."""
        value = self._store.value(f"layout/{part}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_layout(self, part: str, state: QByteArray) -> None:
        """Store the layout of ``part``."""
        self._store.setValue(f"layout/{part}", state)
