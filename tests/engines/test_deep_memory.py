"""What the deep engine says it needs, against what it takes."""

import subprocess
import sys

import numpy as np
import pytest

from gpmnet.energies import MLP
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_memory import model_bytes
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalEngine

# Torch's memory is not Python's: a process of its own is watched from a thread.
SCRIPT = """
import sys, threading, time
import numpy as np, psutil, torch
from gpmnet.energies import Coordinates
from gpmnet.engines.base import Problem
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.deep_models import Models
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.omega import generalised_precision
from gpmnet.solvers.proximal import PairMasks

torch.set_num_threads(1)
n, dc, v, m, energy = *map(int, sys.argv[1:5]), sys.argv[5]
g = torch.Generator().manual_seed(0)
codes = torch.randint(0, m, (n, v), generator=g)
coordinates = Coordinates.from_codes(dc, (m,) * v, codes)
none = torch.zeros((dc + v, dc + v), dtype=torch.bool)
torch.autograd.backward((torch.randn(64, 64, requires_grad=True) @ torch.randn(64, 64)).sum())
process, peak, running = psutil.Process(), 0, True
before = process.memory_info().rss

def watch():
    global peak
    while running:
        peak = max(peak, process.memory_info().rss - before)
        time.sleep(0.001)

thread = threading.Thread(target=watch)
thread.start()
try:
    h = coordinates.encode(torch.randn(n, dc, generator=g), codes)
    engine = DeepEngine(DeepOptions(steps=2, lam=6.0), energy)
    models = Models(engine, coordinates, PairMasks(none, none), Problem(None))
    folds, _ = models.folds(h, 6.0)
    generalised_precision(models.energy(h, 6.0, "all rows"), h)
finally:
    running = False
    thread.join()
print(peak)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dc", "v", "m", "energy"), [(1000, 150, 0, 2, "pairwise"), (400, 20, 10, 20, "mlp")]
)
def test_what_the_models_take_is_what_was_said_within_a_factor_of_two(n, dc, v, m, energy):
    arguments = [sys.executable, "-c", SCRIPT, *map(str, (n, dc, v, m)), energy]
    taken = int(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
    levels = np.array([0] * dc + [m] * v)
    said = model_bytes(DeepEngine(DeepOptions(), energy), n, levels)
    assert 0.5 < said / taken < 2


def test_the_estimate_has_the_local_engine_in_it_and_grows_with_what_costs():
    levels, none = np.zeros(50, dtype=np.intp), np.zeros(0, dtype=np.intp)
    engine = DeepEngine()

    def needed(n=1000, levels=levels, **changes):
        return engine.with_params(**changes).memory(n, levels)

    assert needed() > LocalEngine().memory(1000, levels)
    assert needed(n=20_000) > 5 * (needed() - needed(levels=none))
    # Interactions of 300 functions more, in matrices of single precision.
    wide = needed(options__base="normal", energy="pairwise", levels=np.zeros(150, dtype=np.intp))
    assert wide > needed(energy="pairwise") + 4 * 10 * (450**2 - 150**2)
    assert needed(energy=MLP(hidden=5000)) > needed() + 4 * 5 * 4936 * 50
    assert needed(levels=np.full(50, 10)) > needed(levels=np.full(50, 2))
