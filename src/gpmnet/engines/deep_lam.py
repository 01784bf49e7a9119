"""Lambda of the deep engine: as it was given, by held-out loss along a path, or by what subsamples of the rows agree on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.engines.deep_models import Models, Start
from gpmnet.jobs.crew import Crew
from gpmnet.selection.path import N_SUBSAMPLES, best_lam, stars_lam, subsample_size

LAMBDAS = tuple(float(x) for x in np.geomspace(6.0, 1.0, 8))
"""Lambdas of the path, in units of a gradient's noise."""
STARS_LAMBDAS = tuple(float(x) for x in np.geomspace(4.0, 0.25, 12))
"""Those of the path along which subsamples are asked whether they agree."""
_STRETCH = 3  # lambdas of a task: to begin anew takes as long as one of the quick ones, the last ones are never asked for


def lam_of(crew: Crew) -> float:
    """Return lambda by the options, or by the rule of what decides on edges; the base of the crew is a `Start`."""
    start: Start = crew.base
    recipe = start.models.recipe
    given = recipe.options.lam
    if isinstance(given, str):
        return _kept(start.models, lambda: _agreed_lam(crew))
    if given is not None:
        return given
    return 1.0 if recipe.decide == "omega" else _kept(start.models, lambda: _held_out_lam(start))


def _kept(models: Models, choose: Callable[[], float]) -> float:
    """Return lambda, or what a stopped fit has of it, with how solvers ended."""
    told = len(models.stops)

    def chosen() -> list[Any]:
        lam = choose()
        return [lam, models.n_iter, models.stops[told:]]

    lam, models.n_iter, stops = models.problem.shelf.kept_data("penalty", chosen)
    models.stops[told:] = [(solver, worst) for solver, worst in stops]
    return float(lam)


def _held_out_lam(start: Start) -> float:
    """Return the lambda with the least held-out loss of the pairwise family.

    Every fit of the path begins where the last one ended, and where the path ends is known only then: it is one task.
    """
    h, models = start.h, start.models
    h = h[torch.randperm(len(h), generator=models.generator("path rows")).to(h.device)]
    kept = len(h) - max(1, int(models.recipe.options.held_out * len(h)))
    sparse, _ = models.sparse(h[:kept], "path")
    progress = models.problem.progress

    def fit(lam: float) -> None:
        progress("penalty", LAMBDAS.index(lam), len(LAMBDAS))
        models.fit_sparse(sparse, lam, "FISTA along the path of lambda")

    # A loss 0.02 a variable worse than the best is past the turn of the path.
    worse = 0.02 * models.coordinates.n_variables
    lam, _ = best_lam(LAMBDAS, fit, lambda: sparse.held_out(h[kept:]), worse)
    progress("penalty", len(LAMBDAS), len(LAMBDAS))
    return lam


def _agreed_lam(crew: Crew) -> float:
    """Return the weakest lambda at which the pairwise families of subsamples of the rows agree."""
    start: Start = crew.base
    stages = _elsewhere(crew) if crew.is_elsewhere else _here(start)

    def noted() -> list[_Stage]:
        found = next(stages)
        for stage in found:
            start.models.n_iter = max(start.models.n_iter, stage.n_iter)
            start.models.stops += stage.stops
        return found

    noted()  # without interactions
    return stars_lam(STARS_LAMBDAS, lambda lam: np.array([stage.support for stage in noted()]))[0]


@dataclass(frozen=True, eq=False)
class _Stage:
    """Where a subsample is on its path.

    Attributes
    ----------
    support : ndarray of bool, shape (m,)
        Which pairs have an interaction.
    n_iter : int
        Steps of its slowest solver, and
    stops : list of (str, int)
        solvers that ended at their cap, since the stage before.
    """

    support: NDArray[np.bool_]
    n_iter: int
    stops: list[tuple[str, int]]


class _Walk:
    """A subsample on its path, which begins without interactions."""

    def __init__(self, start: Start, number: int) -> None:
        self.models, name = start.models.anew(), f"subsample {number}"
        order = torch.randperm(len(start.h), generator=self.models.generator(name))
        rows = order[: subsample_size(len(start.h))].to(start.h.device)
        self.sparse, _ = self.models.sparse(start.h[rows], name)

    def stage(self) -> _Stage:
        """Return where it is."""
        models, upper = self.models, np.triu_indices(self.models.coordinates.n_variables, 1)
        found = _Stage((self.sparse.norms() > 0).cpu().numpy()[upper], models.n_iter, models.stops)
        models.n_iter, models.stops = 0, []
        return found

    def to(self, lam: float) -> _Stage:
        """Go to a lambda from where it is."""
        self.models.fit_sparse(self.sparse, lam, "FISTA of subsamples")
        return self.stage()

    def jump(self, state: dict[str, Tensor]) -> None:
        """Go to where another one with the same rows was: first estimates are those of the beginning."""
        self.models.penalty(STARS_LAMBDAS[0], self.sparse)
        self.sparse.load_state(state)
        self.stage()  # of which the other one has told


def _here(start: Start) -> Iterator[list[_Stage]]:
    """Yield the stages of all subsamples, in step: no farther along the path than is asked."""
    walks = [_Walk(start, number) for number in range(N_SUBSAMPLES)]
    yield [walk.stage() for walk in walks]
    for at, lam in enumerate(STARS_LAMBDAS):
        found = []
        for number, walk in enumerate(walks):
            done = at * N_SUBSAMPLES + number
            start.models.problem.progress("penalty", done, len(STARS_LAMBDAS) * N_SUBSAMPLES)
            found.append(walk.to(lam))
        yield found


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Part of the path, from one of its lambdas on, and where each subsample is before it; None at the beginning."""

    first: int
    states: list[dict[str, NDArray[Any]]] | None


def _elsewhere(crew: Crew) -> Iterator[list[_Stage]]:
    """Yield the same, a stretch of the path at a time: nobody elsewhere knows where the others make it end."""
    states = None
    for first in range(0, len(STARS_LAMBDAS), _STRETCH):
        work, kept_as = _Stretch(first, states), f"subsamples, lambda {first}"
        said = [*crew.each(subsample_task, work, N_SUBSAMPLES, "penalty", kept_as)]
        states = [{name: value.numpy() for name, value in _under("state", one).items()} for one in said]
        yield from (list(stages) for stages in zip(*map(_heard, said), strict=True))


def subsample_task(start: Start, work: _Stretch, number: int) -> dict[str, Tensor]:
    """Return the stages of a subsample along a stretch, and where it is in the end."""
    walk = _Walk(start, number)
    stages = []
    if work.states is None:
        stages.append(walk.stage())
    else:
        walk.jump({name: torch.tensor(value) for name, value in work.states[number].items()})
    stages += [walk.to(lam) for lam in STARS_LAMBDAS[work.first : work.first + _STRETCH]]
    ends = json.dumps([[stage.n_iter, stage.stops] for stage in stages]).encode()
    return {
        "supports": torch.tensor(np.array([stage.support for stage in stages])),
        "ends": torch.frombuffer(bytearray(ends), dtype=torch.uint8),
        **{f"state/{name}": value for name, value in walk.sparse.state().items()},
    }


def _heard(said: dict[str, Tensor]) -> Iterator[_Stage]:
    ends = json.loads(said["ends"].numpy().tobytes())
    for support, (n_iter, stops) in zip(said["supports"].numpy(), ends, strict=True):
        yield _Stage(support, n_iter, [(solver, worst) for solver, worst in stops])


def _under(group: str, said: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.partition("/")[2]: value for name, value in said.items() if name.startswith(f"{group}/")}
