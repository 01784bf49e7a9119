"""How much memory is free, so that a job that does not fit is refused and not killed in the middle of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from gpmnet.errors import OutOfMemoryError

# torch has no type of its own for memory that a CPU refuses.
_REFUSED = re.compile(r"can't allocate memory|out of memory|std::bad_alloc", re.IGNORECASE)
_ASKED = re.compile(r"([0-9.]+ ?(?:bytes|[KMGT]iB))")

_FILES = {  # limit, usage, and what of the usage the kernel gives back when asked
    "v2": ("memory.max", "memory.current", "inactive_file"),
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available_bytes(device: str) -> int:
    """Return the memory that is free on a device; on a CPU no more than the limits of its control group leave."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    import psutil

    free = int(psutil.virtual_memory().available)
    limit = group_bytes()
    return free if limit is None else min(free, limit)


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
