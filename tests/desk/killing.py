"""A process that kills itself at a step of its own, as a machine that loses power stops at any."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


class Steps:
    """Steps of a process, of which it does not live through one."""

    def __init__(self, last: int) -> None:
        self.last, self.count = last, 0

    def step(self) -> None:
        """Count a step; end the process at the last one."""
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with a step before it and one behind it."""

        def call(*arguments: Any, **options: Any) -> Any:
            self.step()
            result = original(*arguments, **options)
            self.step()
            return result

        return call
