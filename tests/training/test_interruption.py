from __future__ import annotations

import signal
import threading
from contextlib import nullcontext

import pytest

from builder.training.interruption import Interrupted, Interruption


def interrupted_work(*numbers: int, anywhere: bool = False) -> list[str]:
    """Let signals come while work is done; return what was done before it ended."""
    interruption = Interruption()
    done = []

    def work() -> None:
        for number in numbers:
            signal.raise_signal(number)
            done.append("went on")
        interruption.check()
        done.append("never")

    def save_and_leave() -> None:
        with interruption.watching():
            try:
                with interruption.anywhere() if anywhere else nullcontext():
                    work()
            except Interrupted:
                done.append("saved")
                raise

    with pytest.raises((KeyboardInterrupt, SystemExit)) as stop:
        save_and_leave()
    return [*done, f"{stop.type.__name__} {getattr(stop.value, 'code', '')}".strip()]


def test_the_first_signal_waits_for_a_check() -> None:
    assert interrupted_work(signal.SIGINT) == ["went on", "saved", "KeyboardInterrupt"]
    assert interrupted_work(signal.SIGTERM) == ["went on", "saved", "SystemExit 143"]


def test_a_second_signal_acts_at_once() -> None:
    assert interrupted_work(signal.SIGINT, signal.SIGINT) == ["went on", "KeyboardInterrupt"]


def test_inside_anywhere_the_first_does_not_wait() -> None:
    assert interrupted_work(signal.SIGINT, anywhere=True) == ["saved", "KeyboardInterrupt"]


def test_a_signal_that_no_check_saw_ends_after_the_body() -> None:
    for number, stop in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)):
        with pytest.raises(stop), Interruption().watching():
            signal.raise_signal(number)


def test_a_signal_on_the_way_into_anywhere_does_not_wait() -> None:
    class Late(Interruption):
        def check(self) -> None:
            super().check()
            signal.raise_signal(signal.SIGINT)

    late = Late()
    with pytest.raises(KeyboardInterrupt), late.watching(), late.anywhere():
        pytest.fail("the body ran")


def test_without_a_signal_nothing_happens_and_handlers_return() -> None:
    before = signal.getsignal(signal.SIGINT)
    interruption = Interruption()

    with interruption.watching(), interruption.anywhere():
        interruption.check()
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_leaves_signals_alone() -> None:
    seen = []

    def work() -> None:
        with Interruption().watching():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [signal.getsignal(signal.SIGINT)]
