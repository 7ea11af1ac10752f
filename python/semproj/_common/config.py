"""What this installation is and what it uses."""

from __future__ import annotations

import logging
import platform
import sys
from importlib import metadata
from typing import Any

from .. import _core
from .resources import available_memory, available_threads

log = logging.getLogger("semproj")
log.addHandler(logging.NullHandler())  # whoever wants to read it adds another


def show_config(*, quiet: bool = False) -> dict[str, Any]:
    """Print and return what a bug report needs: versions, instruction sets, threads, memory in bytes.

    Parameters
    ----------
    quiet : bool, default False
        Do not print.

    Examples
    --------
    >>> import semproj as sj
    >>> sorted(sj.show_config(quiet=True))[:3]
    ['active_isa', 'compiler', 'machine']
    """
    config: dict[str, Any] = {
        "semproj": _core.__version__,
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "compiler": _core.compiler(),
        "active_isa": _core.active_isa(),
        "supported_isas": _core.supported_isas(),
        "threads": available_threads(),
        "memory": available_memory(),
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "safetensors")},
    }
    if not quiet:
        width = max(map(len, config))
        for key, value in config.items():
            print(f"{key:<{width}}  {', '.join(value) if isinstance(value, list) else value}")
    return config
