"""Little memory for a process that may ask for too much, also where AddressSanitizer owns the address space."""

from __future__ import annotations

import os
import resource

# Its shadow alone is terabytes of addresses: limited to gigabytes, the sanitizer itself ends the process.
ADDRESS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def limit_memory(gigabytes: int) -> None:
    """Let this process fail to get more; under AddressSanitizer its own max_allocation_size_mb stands in."""
    if not ADDRESS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
