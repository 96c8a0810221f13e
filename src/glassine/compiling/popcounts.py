"""Numbers of ones in words, by one machine instruction where there is one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


class Popcount:
    """Number of ones of a word: of compiled kernels one machine instruction, where there is one."""

    @cached_property
    def _numba_type_(self) -> Any:
        # Built when a kernel that calls it is compiled: to import Numba takes longer than a small fit.
        from numba.core import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        def ctpop(_context: Any, word: Any) -> tuple[Any, Any]:
            def build(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
                return builder.ctpop(args[0])

            return types.uint64(word), build

        instruction, context = intrinsic(ctpop), cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(instruction)

    def __call__(self, word: Any) -> Any:
        """Return the number of ones."""
        return np.bitwise_count(word)


popcount: Any = Popcount()
