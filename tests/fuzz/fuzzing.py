"""Fuzz a reader for some time: `python tests/fuzz/fuzzing.py table|network [seconds] [folder of a corpus]`.

With atheris (`pip install atheris`) by coverage, else by mutations of a few seeds. What is found is written to
`found-TARGET-DIGEST` in the working folder, and belongs as a file into `tests/fuzz/found/TARGET/`, where
`tests/fuzz/test_fuzz.py` tries it ever after.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

TABLES = (
    b"a,b,c\n1,2.5,x\n3,4.5,y\n5,6.5,x\n",
    b'name;"val; ue";date\n"a ""q""";1,5;01.02.2020\nb;2,25;03.04.2021\n',
    b"\xef\xbb\xbfid\tx\ty\n1\tNA\t1e300\n2\t-0\t5e-324\n3\tinf\tnan\n",
    b"# comment\n x  y \n1 2\n3 4\n",
    b"0,1,2\n007,1.10,true\n8,1.1,false\n--4,5,yes\n",
    "ä,ß\n1,ü\n2,é\n".encode("utf-16"),
)


def seeds(target: str) -> list[bytes]:
    """Return the first inputs of a target."""
    import fuzz_targets as targets

    if target == "table":
        plain = [bytes([k]) + table for table in TABLES for k in (0, 1, 2)]
        return plain + [b"\x03" + gzip.compress(table) for table in TABLES]
    text, arrays = targets.saved_network()
    return [b"\x01" + text.encode(), b"\x00" + arrays]


def mutated(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Return an input with some of its bytes flipped, cut, repeated, or taken from another."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at, size = rng.randrange(len(found) + 1), rng.choice((1, 1, 2, 8, 64))
        kind = rng.randrange(6)
        if kind == 0 and found:
            found[at % len(found)] = rng.randrange(256)
        elif kind == 1:
            del found[at : at + size]
        elif kind == 2:
            found[at:at] = found[at : at + size] * rng.choice((1, 2, 50))
        elif kind == 3:
            found[at:at] = rng.choice(
                (b"\0", b'"', b",", b"\n", b"\r", b"=", b"-", b"1e999", b"\xff", b"9" * 400, b"[" * 99)
            )
        elif kind == 4:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            found[at : at + size] = other[start : start + size]
        elif found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
    return bytes(found)


def without_atheris(target: Callable[[bytes], bool], first: list[bytes], seconds: float) -> int:
    """Try mutations until the time is over; return how many were tried. A fault is raised."""
    rng, end, tried, pool = random.Random(0), time.monotonic() + seconds, 0, list(first)
    while time.monotonic() < end:
        data = mutated(rng.choice(pool), rng, pool)
        if target(data) and len(pool) < 2000:
            pool.append(data)
        tried += 1
    return tried


def main() -> None:
    """Fuzz what the command line names."""
    name, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    import fuzz_targets as targets

    target = {"table": targets.read_table, "network": targets.network_from}[name]
    first = seeds(name)

    def one(data: bytes) -> bool:
        try:
            return target(data)
        except Exception:
            path = Path(f"found-{name}-{hashlib.sha256(data).hexdigest()[:12]}")
            path.write_bytes(data)
            traceback.print_exc()
            raise

    try:
        import atheris
    except ImportError:
        print(f"{without_atheris(one, first, seconds):,} mutations tried without atheris, no fault")
        return
    import gpmnet.network.store
    import gpmnet.table.text

    for module in (
        gpmnet.table.text,
        gpmnet.table.parse,
        gpmnet.table.read,
        gpmnet.table.files,
        gpmnet.network.store,
    ):
        for value in list(vars(module).values()):
            if (
                callable(value)
                and getattr(value, "__module__", "") == module.__name__
                and hasattr(value, "__code__")
            ):
                setattr(module, value.__name__, atheris.instrument_func(value))
    corpus = Path(sys.argv[3] if len(sys.argv) > 3 else f"corpus-{name}")
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(first):
        (corpus / f"seed-{number}").write_bytes(data)
    atheris.Setup(
        [sys.argv[0], str(corpus), f"-max_total_time={seconds:.0f}", "-max_len=8192", "-timeout=60"], one
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
