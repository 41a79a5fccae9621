"""Ctrl-C and SIGTERM into an orderly end: the update in progress is finished, then saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn


class Interrupted(BaseException):
    """A signal asks for the end, at a place where all that counts can be saved."""


class Interruption:
    """Holds back the first signal until `check`, or lets it through inside `anywhere`.

    A second signal acts at once. Outside the main thread signals are left as they are.
    """

    def __init__(self) -> None:
        self._signal: int | None = None
        self._anywhere = False
        self._before: dict[int, Callable[..., Any] | int | None] = {}

    def check(self) -> None:
        """Raise `Interrupted` if a signal has come."""
        if self._signal is not None:
            raise Interrupted

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Let a signal end the body wherever it is; the body changes nothing that is saved."""
        self._anywhere = True
        try:
            self.check()
            yield
        finally:
            self._anywhere = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take the signals over while the body runs; they are given back after it.

        A signal that came ends as KeyboardInterrupt (Ctrl-C) or SystemExit(143) (SIGTERM), even
        if the body took no notice of it.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        try:
            with suppress(Interrupted):
                yield
        finally:
            self._restore()
        if self._signal is not None:
            self._leave()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self._restore()
        self._signal = number
        if self._anywhere:
            raise Interrupted

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _leave(self) -> NoReturn:
        if self._signal == signal.SIGTERM:
            raise SystemExit(143) from None
        raise KeyboardInterrupt from None
