"""Little memory for a process that may ask for too much, also where AddressSanitizer owns the address space."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Its shadow alone is terabytes of addresses: limited to gigabytes, the sanitizer itself ends the process.
ADDRESS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def limit_memory(gigabytes: int) -> None:
    """Let this process fail to get more; under AddressSanitizer its own max_allocation_size_mb stands in."""
    if not ADDRESS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))


@contextmanager
def little_more_memory(gigabytes: int) -> Iterator[None]:
    """So much beyond what this process has: who asks for all there is gets an error, and the machine goes on."""
    if ADDRESS_SANITIZED:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    enough = pages * resource.getpagesize() + (gigabytes << 30)
    resource.setrlimit(resource.RLIMIT_AS, (enough if soft < 0 else min(soft, enough), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
