"""Being asked to end: whatever asks, what was started is ended, and what was made is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """A CI job that is cancelled sends SIGTERM, a closed terminal SIGHUP: agents must not go on, and spend, without us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for one in asked:
        signal.signal(one, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for one in asked:
            signal.signal(one, signal.SIG_DFL)
