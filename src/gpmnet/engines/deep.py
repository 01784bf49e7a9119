"""The deep engine: a penalty level, models of the folds and of all rows, tests of the pairs, Omega."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gpmnet import __version__
from gpmnet.energies import ENERGIES, Coordinates, DeepKernel, Energy, Normal, Pairwise, Sum
from gpmnet.energies.grids import edge_shapes
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import Description, LocalEngine, Searched
from gpmnet.errors import InputError, quote
from gpmnet.objectives import OBJECTIVES
from gpmnet.omega import generalised_precision, table_order
from gpmnet.penalties import PENALTIES, Adaptive, Penalty
from gpmnet.searching.neighborhoods import packed
from gpmnet.selection.pair_rule import ends, union
from gpmnet.selection.path import best_level
from gpmnet.solvers.adam import OmegaPenalty, Report, train
from gpmnet.solvers.checkpoint import load_state, save_state
from gpmnet.solvers.proximal import SparsePairwise
from gpmnet.table import Encoded
from gpmnet.testing.double_residual import combine
from gpmnet.testing.learned import Fold, LearnedTest, strongest

Progress = Callable[..., None]
LEVELS = tuple(float(x) for x in np.geomspace(6.0, 1.0, 8))
"""Penalty levels of the path, in units of a gradient's noise."""


@dataclass(frozen=True, eq=False)
class DeepResult:
    """Pairs that were tested (first < second), each array of shape (m,), and the model of all rows.

    Attributes
    ----------
    precision : ndarray of shape (d, d)
        Omega of all pairs.
    energy : Energy
    rows : Tensor of shape (n, D)
        The rows as the energy sees them.
    order : ndarray of shape (d,)
        Position of each variable of the table in the energy's coordinates.
    lam : float
        The penalty level that was used.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    p_value: NDArray[np.float64]
    strength: NDArray[np.float64]
    sign: NDArray[np.float64]
    precision: NDArray[np.float64]
    energy: Energy
    rows: Tensor
    order: NDArray[np.intp]
    lam: float

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and shapes of the energy; see `Description`. Omega does not depend on which pairs are edges."""
        return Description(
            self.precision[self.first, self.second],
            self.precision.diagonal().copy(),
            edge_shapes(
                self.energy, self.rows, self.order[self.first[shown]], self.order[self.second[shown]]
            ),
        )


class DeepEngine:
    """Fits one energy to an encoded table and tests its pairs.

    Parameters
    ----------
    options : DeepOptions
    energy : str
        A key of `ENERGIES`, trained on top of the base; "pairwise" is a sparse pairwise family with nothing on top.
    objective, penalty : str
        Keys of `OBJECTIVES` and `PENALTIES`.
    seed : int
    device : str

    Notes
    -----
    Time, for n rows and d continuous variables of K functions: a step of the pairwise family n (d K)^2, of the deep
    energy B d H for its loss and b d^2 H for the penalty (b = omega_rows), n_folds + 1 times; a tested pair 49 n H.
    Memory 49 n H for the test.
    """

    def __init__(
        self,
        options: DeepOptions,
        energy: str = "mlp",
        objective: str = "mixed",
        penalty: str = "scad",
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        for name, value, known in (
            ("energy", energy, ENERGIES),
            ("objective", objective, OBJECTIVES),
            ("penalty", penalty, PENALTIES),
        ):
            if value not in tuple(known):
                raise InputError(f"{name}={quote(value)} is not one of {', '.join(known)}")
        self.options, self.seed, self.device = options, seed, device
        self.energy, self.objective, self.penalty = energy, objective, penalty

    def fit(
        self,
        encoded: Encoded,
        forbidden: NDArray[np.intp] | None = None,
        required: NDArray[np.intp] | None = None,
        progress: Progress | None = None,
        level: float = 0.0,
    ) -> DeepResult:
        """Return the tested pairs and the model.

        Parameters
        ----------
        forbidden, required : ndarray of shape (m, 2), optional
            Pairs without a pairwise interaction that are never tested, and pairs that are neighbors from the start and
            whose pairwise interaction is not penalised.
        progress : callable, optional
            Called with (phase, done, total, note).
        level : float
            P-value up to which pairs must get the full test.
        """
        report = progress or (lambda *_: None)
        order = table_order(encoded.is_discrete)
        coordinates, h = self._rows(encoded)
        d, n = coordinates.n_variables, len(h)
        closed, free = (_mask(pairs, order, d, self.device) for pairs in (forbidden, required))
        fit = _Fit(self, coordinates, closed, free, report, self._folder(encoded, forbidden, required))
        lam = self.options.lam if self.options.lam is not None else fit.level(h)
        parts = torch.randperm(n, generator=self.generator("folds")).to(h.device).chunk(self.options.n_folds)
        folds = []
        for k, rows in enumerate(parts):
            rest = torch.cat([*parts[:k], *parts[k + 1 :]])
            folds.append(Fold(rows, fit(h[rest], lam, f"fold {k + 1}")))
        whole = fit(h, lam, "all rows")
        local = LocalEngine(self.options.local, self.seed, self.device)
        found = local.search(encoded, forbidden, required, report, level)
        learned = LearnedTest(found.test, h, torch.as_tensor(order), folds)
        first, second = self._candidates(folds, h, order, ~closed)
        pairs, (p_value, strength, sign) = self._decide(local, found, learned, first, second, report, level)
        precision = generalised_precision(whole, h).double().cpu().numpy()[np.ix_(order, order)]
        return DeepResult(*pairs, p_value, strength, sign, precision, whole, h, order, lam)

    def _candidates(
        self, folds: list[Fold], h: Tensor, order: NDArray[np.intp], allowed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the pairs to test in learned directions: all if they are few, else those of the largest Omega."""
        back = torch.as_tensor(order, device=h.device)
        first, second = torch.triu(allowed[back][:, back], diagonal=1).nonzero(as_tuple=True)
        most = self.options.most_pairs
        if len(first) > most:
            size = torch.stack([generalised_precision(fold.energy, h[fold.rows][:500]) for fold in folds])
            # In every fold, so that no fold picks for itself.
            size = size.amin(dim=0)[back][:, back][first, second]
            keep = size.argsort(descending=True, stable=True)[:most].sort().values
            first, second = first[keep], second[keep]
        return first, second

    def _decide(
        self,
        local: LocalEngine,
        found: Searched,
        learned: LearnedTest,
        first: Tensor,
        second: Tensor,
        report: Progress,
        level: float,
    ) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], tuple[NDArray[np.float64], ...]]:
        """Return the two ends of the pairs, and their p-values, strengths and signs.

        Pairs that pass in a learned direction given the neighbors found so far become neighbors; then all pairs that
        came close either way are tested given the final neighborhoods, both ways, joined by the Cauchy combination.
        """
        d = len(found.members)
        report("learned directions", 0, len(first))
        early = learned.log_p(first, second, _given(found, first, second))
        report("learned directions", len(first), len(first))
        more = strongest(first, second, early, local.options.enter / d, found.most, d)
        members = _joined(found.members, more, found.most)
        near = early < math.log(max(level, local.options.near))
        code = torch.cat([found.first * d + found.second, (first * d + second)[near]]).unique()
        found = replace(found, members=members, first=code // d, second=code % d)
        p_value, strength, sign = local.final(found, report)
        again = learned.log_p(found.first, found.second, _given(found, found.first, found.second))
        both = torch.stack([torch.as_tensor(np.log(np.maximum(p_value, 1e-300))).to(again), again], dim=1)
        joined = combine(both).exp().cpu().numpy()
        return (found.first.cpu().numpy(), found.second.cpu().numpy()), (joined, strength, sign)

    def _rows(self, encoded: Encoded) -> tuple[Coordinates, Tensor]:
        codes = torch.as_tensor(encoded.codes.astype(np.int64))
        scores = torch.as_tensor(np.ascontiguousarray(encoded.scores, dtype=np.float32))
        coordinates = Coordinates.from_codes(scores.shape[1], tuple(int(m) for m in encoded.n_levels), codes)
        return coordinates, coordinates.encode(scores, codes).to(self.device)

    def generator(self, purpose: str) -> torch.Generator:
        """Return a source of random numbers that depends on the seed and on what it is for."""
        digest = hashlib.blake2b(f"{self.seed}\0{purpose}".encode(), digest_size=7).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest, "little"))

    def _folder(self, encoded: Encoded, *pairs: NDArray[np.intp] | None) -> Path | None:
        """Return the folder of this data's and these settings' checkpoints."""
        if self.options.checkpoint is None:
            return None
        key = hashlib.blake2b(digest_size=12)
        settings: dict[str, Any] = asdict(self.options) | {"checkpoint": None}
        names = [__version__, self.energy, self.objective, self.penalty, self.seed, settings]
        key.update(json.dumps(names).encode())
        for array in (encoded.is_discrete, encoded.scores, encoded.codes, encoded.n_levels, *pairs):
            if array is None:
                key.update(b"none")
            else:
                key.update(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        folder = Path(self.options.checkpoint) / key.hexdigest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"checkpoints cannot be written to {quote(folder)}: {error.strerror}") from error
        return folder


class _Fit:
    """Fits models to rows; each is kept in the folder of checkpoints, if there is one."""

    def __init__(
        self,
        engine: DeepEngine,
        coordinates: Coordinates,
        closed: Tensor,
        free: Tensor,
        report: Progress,
        folder: Path | None,
    ) -> None:
        self.engine, self.coordinates, self.closed, self.free = engine, coordinates, closed, free
        self.report, self.folder = report, folder
        self.objective = OBJECTIVES[engine.objective]

    def level(self, h: Tensor) -> float:
        """Return the penalty level with the least held-out loss of the pairwise family."""
        h = h[torch.randperm(len(h), generator=self.engine.generator("path rows")).to(h.device)]
        kept = len(h) - max(1, int(self.engine.options.held_out * len(h)))
        sparse, _ = self._sparse(h[:kept], "path")

        def fit(lam: float) -> None:
            self.report("penalty", LEVELS.index(lam), len(LEVELS))
            sparse.fit(self._penalty(lam, kept, sparse))

        # A loss 0.02 a variable worse than the best is past the turn of the path.
        lam, _ = best_level(
            LEVELS, fit, lambda: sparse.held_out(h[kept:]), 0.02 * self.coordinates.n_variables
        )
        self.report("penalty", len(LEVELS), len(LEVELS))
        return lam

    def __call__(self, h: Tensor, lam: float, name: str) -> Energy:
        """Return the energy of rows (n, D): the base, and the deep part where it predicts held-out rows better."""
        o = self.engine.options
        base: Energy = Normal(self.coordinates).to(h)
        sparse, pairwise = self._sparse(h, name)
        penalty = self._penalty(lam, len(h), sparse)
        if "pairwise" in (o.base, self.engine.energy):
            self._kept(name + " pairwise", pairwise, lambda: sparse.fit(penalty))
            base = Sum(base, pairwise)
        base.requires_grad_(False)
        if self.engine.energy == "pairwise":
            return base
        generator = self.engine.generator(f"{name} deep")
        deep = ENERGIES[self.engine.energy](self.coordinates, generator).to(h)
        if isinstance(deep, DeepKernel):
            deep.init_from(h, generator)
        energy = Sum(base, deep)
        on_omega = OmegaPenalty(penalty, sparse.scales.noise, o.omega_rows)
        patience = max(1, o.patience // 3)
        slower = replace(o, learning_rate=o.learning_rate / 3, steps=o.steps // 3, patience=patience)

        def learn() -> None:
            # First without the penalty, whose kink at 0 would hide what only many variables show together.
            if train(energy, deep, h, self.objective, None, o, generator, *self._tracked(name, 1)):
                train(energy, deep, h, self.objective, on_omega, slower, generator, *self._tracked(name, 2))

        self._kept(name + " deep", deep, learn)
        self.report(f"train {name}", 1, 1)
        energy.requires_grad_(False)
        return energy

    def _tracked(self, name: str, phase: int) -> tuple[Path | None, Report]:
        path = None if self.folder is None else self.folder / f"{name} training {phase}.safetensors"
        return path, lambda step, steps, note: self.report(f"train {name}", step, steps, note)

    def _sparse(self, h: Tensor, name: str) -> tuple[SparsePairwise, Pairwise]:
        pairwise = Pairwise(self.coordinates, self.engine.options.n_functions).to(h)
        sparse = SparsePairwise(
            Normal(self.coordinates).to(h), pairwise, h, self.objective, self.closed, self.free,
            self.engine.generator(f"{name} pairwise"),
        )  # fmt: skip
        return sparse, pairwise

    def _penalty(self, lam: float, n: int, sparse: SparsePairwise) -> Penalty:
        scaled = lam / n**0.5
        if self.engine.penalty != "adaptive":
            return PENALTIES[self.engine.penalty](scaled)
        # In units of the noise of an estimate, so that a pair at that level has weight 1.
        return Adaptive.from_initial(scaled, sparse.initial() / sparse.scales.noise * n**0.5)

    def _kept(self, name: str, module: nn.Module, fit: Callable[[], None]) -> None:
        """Fit a module, or take it from its checkpoint."""
        path = None if self.folder is None else self.folder / f"{name}.safetensors"
        if path is not None and path.exists():
            module.load_state_dict(load_state(path, module.state_dict()))
            return
        fit()
        if path is not None:
            save_state(path, module.state_dict())


def _mask(pairs: NDArray[np.intp] | None, order: NDArray[np.intp], d: int, device: str) -> Tensor:
    """Return pairs of the table's order as a symmetric mask in the coordinates's."""
    mask = torch.zeros((d, d), dtype=torch.bool, device=device)
    if pairs is not None and len(pairs):
        a, b = order[pairs].T
        mask[a, b] = mask[b, a] = True
    return mask


def _given(found: Searched, first: Tensor, second: Tensor) -> Tensor:
    """Return both ends' neighbors without the pair itself, or the smaller set where they are too many: (B, s; -1 pads)."""
    a, b = ends(found.members, first, second)
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    smaller = torch.where((size_a <= size_b)[:, None], a, b)
    both = union(a, b)
    padded = torch.cat([smaller, torch.full_like(b, -1)], dim=1)
    sets = torch.where(((both >= 0).sum(dim=1) <= found.most)[:, None], both, padded)
    return packed(sets.sort(dim=1).values)


def _joined(members: Tensor, more: Tensor, most: int) -> Tensor:
    """Return neighborhoods with further members, (d, s) and (d, t; -1 pads), at most `most` each, learned ones first."""
    rows = []
    for old, new in zip(members.tolist(), more.tolist(), strict=True):
        kept = [v for v in dict.fromkeys([*new, *old]) if v >= 0][:most]
        rows.append(kept + [-1] * (most - len(kept)))
    return torch.tensor(rows, dtype=members.dtype, device=members.device)
