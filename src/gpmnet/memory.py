"""How much memory is free, so that a job that does not fit is done in smaller blocks or refused, not killed half-way.

What is computed in blocks asks `block_size` how large one may be. Inside `smaller_blocks` they are smaller: the same
sums in more pieces, the same answer up to rounding, in more time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gpmnet.errors import InputError, OutOfMemoryError, quote

# torch has no type of its own for memory that a CPU refuses.
_REFUSED = re.compile(r"can't allocate memory|out of memory|std::bad_alloc", re.IGNORECASE)
_ASKED = re.compile(r"([0-9.]+ ?(?:bytes|[KMGT]iB))")

_FILES = {  # limit, usage, and what of the usage the kernel gives back when asked
    "v2": ("memory.max", "memory.current", "inactive_file"),
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


MOST_HALVINGS = 6
"""How often blocks can be halved: beyond that, they are not what takes the memory."""
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGT]?)(I?)B)\s*", re.IGNORECASE)

_halvings: ContextVar[int] = ContextVar("halvings", default=0)


def block_size(numbers: int) -> int:
    """Return how many numbers a block may have that has so many where there is enough memory."""
    return max(1, numbers >> _halvings.get())


def present_halvings() -> int:
    """Return how often blocks are halved now."""
    return _halvings.get()


@contextmanager
def smaller_blocks(halvings: int) -> Iterator[None]:
    """Run the body with blocks that are halved so often."""
    before = _halvings.set(halvings)
    try:
        yield
    finally:
        _halvings.reset(before)


def check_memory(memory: Any) -> int | None:
    """Return a number of bytes from the parameter memory; None where there is no budget.

    >>> check_memory("4GB"), check_memory("1.5 GiB"), check_memory(10**9)
    (4000000000, 1610612736, 1000000000)
    """
    if memory is None:
        return None
    found = 0
    if isinstance(memory, str):
        said = _SIZE.fullmatch(memory)
        if said:
            found = int(float(said[1]) * (1024 if said[3] else 1000) ** _UNITS[said[2].upper()])
    elif isinstance(memory, int | np.integer) and memory is not True:
        found = int(memory)
    if found <= 0:
        raise InputError(
            f"memory must be a size such as '4GB', a number of bytes, or None; got {quote(memory)}"
        )
    return found


def available_bytes(device: str, budget: int | None = None) -> int:
    """Return the memory that a fit may take on a device: what is free there, and what a budget leaves.

    On a CPU no more than the limits of the process and of its control group leave, and a budget is for the whole process:
    what it holds already counts.
    """
    if device.startswith("cuda"):
        import torch

        left = [int(torch.cuda.mem_get_info(device)[0]), budget]
    else:
        import psutil

        held = psutil.Process().memory_info()
        own = None if budget is None else max(0, budget - int(held.rss))
        left = [int(psutil.virtual_memory().available), group_bytes(), _limit_bytes(int(held.vms)), own]
    return min(value for value in left if value is not None)


def _limit_bytes(held: int) -> int | None:
    """Return what the limit on the address space of this process (`ulimit -v`) leaves; None where there is none."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else max(0, limit - held)


@contextmanager
def refusals_told() -> Iterator[None]:
    """Turn whatever NumPy and torch raise where the system refuses memory into one error with one line."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, OutOfMemoryError) or not (
            isinstance(error, MemoryError) or _REFUSED.search(str(error))
        ):
            raise
        asked = _ASKED.search(str(error))
        much = asked[1] if asked else "more memory"
        raise OutOfMemoryError(
            f"the system refused {much}; take fewer columns or rows, or give the process more"
        ) from error


def group_bytes(root: Path = Path("/")) -> int | None:
    """Return what the memory limits of this process's control group (v1 or v2) and of those above it leave.

    None where there is no limit. `root` is where /proc and /sys are.
    """
    table = root / "proc/self/cgroup"
    if not table.is_file():
        return None
    left = []
    for line in table.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            version, top = "v2", root / "sys/fs/cgroup"
        elif "memory" in controllers.split(","):
            version, top = "v1", root / "sys/fs/cgroup/memory"
        else:
            continue
        inside = PurePosixPath(path.lstrip("/"))
        # In a container the path may be the host's, of which only the top is mounted.
        left += [_left(top / folder, *_FILES[version]) for folder in (inside, *inside.parents)]
    return min((value for value in left if value is not None), default=None)


def _left(folder: Path, limit_name: str, usage_name: str, given_back: str) -> int | None:
    """Return limit minus usage of one control group, None without a limit."""
    if not (folder / limit_name).is_file() or not (folder / usage_name).is_file():
        return None
    text = (folder / limit_name).read_text().strip()
    if not text.isdigit():  # "max"
        return None
    used = int((folder / usage_name).read_text())
    statistics = folder / "memory.stat"
    if statistics.is_file():
        entries = dict(line.split(None, 1) for line in statistics.read_text().splitlines() if " " in line)
        used -= int(entries.get(given_back, 0))
    return max(0, int(text) - max(0, used))
