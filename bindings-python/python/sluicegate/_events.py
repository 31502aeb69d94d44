"""Events of limiters, on their way to `logging`.

Handlers run on a thread of Python: one that is at work when the interpreter ends does not return to frames of Rust, which the
interpreter cannot unwind.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import deque

__all__ = ["finish", "hand_on"]

_LOG = logging.getLogger("sluicegate")
# So many lines wait to be written at most; further ones are dropped.
_MOST = 1000


class _Outbox:
    """Lines that a thread writes, which ends when there are none left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: deque[tuple[int, str, str]] = deque()
        self._is_writing = False

    def put(self, line: tuple[int, str, str]) -> None:
        with self._changed:
            if len(self._lines) < _MOST:
                self._lines.append(line)
            if self._is_writing:
                return
            self._is_writing = True
        try:
            threading.Thread(target=self._write, name="sluicegate-log", daemon=True).start()
        except (RuntimeError, MemoryError):
            # They wait for the next line, or the end.
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()

    def finish(self, timeout: float) -> None:
        """Has all lines written, for so many seconds at most; what is left then is dropped."""
        end = time.monotonic() + timeout
        with self._changed:
            self._changed.wait_for(lambda: not self._is_writing, timeout)
            is_left = not self._is_writing
        # No thread could be started for these.
        while is_left and time.monotonic() < end and (line := self._next()) is not None:
            _log(line)
        with self._changed:
            self._lines.clear()

    def _write(self) -> None:
        while (line := self._next()) is not None:
            _log(line)

    def _next(self) -> tuple[int, str, str] | None:
        with self._changed:
            if self._lines:
                return self._lines.popleft()
            self._is_writing = False
            self._changed.notify_all()
            return None


def _log(line: tuple[int, str, str]) -> None:
    """Logs a line, whatever a handler raises, or what reports that: the lines after it are to be written."""
    level, message, event = line
    with contextlib.suppress(BaseException):
        try:
            _LOG.log(level, "%s", message, extra={"event": event})
        except BaseException:  # noqa: BLE001
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


_outbox = _Outbox()


def _renew() -> None:
    """In a forked child: its parent's thread is missing, and may have held the lock."""
    global _outbox  # noqa: PLW0603
    _outbox = _Outbox()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def hand_on(level: int, message: str, event: str) -> None:
    """Has a line written, with the name of its event."""
    _outbox.put((level, message, event))


def finish(timeout: float) -> None:
    """Ends the writing of lines; see `_Outbox.finish`."""
    _outbox.finish(timeout)
