"""A bar for what takes long, in terminals and in notebooks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


class Bar:
    """Shows steps as they are done, in words of ``told``. It appears after half a second, and is gone when all is done."""

    def __init__(self, show: bool | None, told: Callable[[int, int, str], str]):
        self._told = told
        self._notebook = _display() if show is not False else None
        self._shown = show if show is not None else self._notebook is not None or sys.stderr.isatty()
        self._begun, self._last, self._handle = time.monotonic(), 0.0, None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, done: int, most: int, what: str) -> None:
        now = time.monotonic()
        if not self._shown or now - self._begun < 0.5 or now - self._last < 0.1:
            return
        self._last = now
        text = self._told(done, most, what)
        if self._notebook is not None:
            self._show_html(done, most, text)
        else:
            filled = 20 * done // max(most, 1)
            sys.stderr.write(f"\r\x1b[K{'█' * filled}{'░' * (20 - filled)} {text}")
            sys.stderr.flush()

    def _show_html(self, done: int, most: int, text: str) -> None:
        html = _Html(f"<progress value='{done}' max='{most}'></progress> <small>{text}</small>")
        if self._handle is None:
            self._handle = self._notebook(html, display_id=True)  # type: ignore[misc]
        else:
            self._handle.update(html)

    def close(self) -> None:
        """Takes it away."""
        if self._handle is not None:
            self._handle.update(_Html(""))
        elif self._shown and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _Html:
    def __init__(self, html: str):
        self._html = html

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return ""


def epochs(done: int, most: int, epoch: str) -> str:
    """How learning goes."""
    found: dict[str, Any] = json.loads(epoch)
    right = "" if found.get("accuracy") is None else f", {100 * found['accuracy']:.1f} % right"
    return f"epoch {done} of {most} at most, loss {found['loss']:.4f}{right}"


def rows(done: int, most: int, _: str) -> str:
    """How many examples are evaluated."""
    return f"{done:,} of {most:,} examples"


def _display() -> Any:
    """IPython's `display`, in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or type(shell).__name__ == "TerminalInteractiveShell":
        return None
    from IPython.display import display  # type: ignore[import-not-found]

    return display
