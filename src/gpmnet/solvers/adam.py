r"""Training of an energy by Adam: score matching with a penalty on Omega, early stopping, resumable.

.. math:: \frac1B \sum_{r \in \text{batch}} \ell(x_r) + \sum_{i<j} c_{ij}^2\, \rho_\lambda(\Omega_{ij} / c_{ij})

Omega is that of the whole energy, estimated from a few rows of the batch; c are the units of the pairs. Processes that
train together (`gpmnet.jobs.team`) share the rows of each batch, and those held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from gpmnet.checks import check_number
from gpmnet.energies import Energy
from gpmnet.errors import ComputationError
from gpmnet.files import Shelf
from gpmnet.jobs.team import team
from gpmnet.objectives import Objective
from gpmnet.objectives.pseudolikelihood import log_conditionals
from gpmnet.omega import squared_omega
from gpmnet.parts import Part
from gpmnet.penalties import Penalty

_EVERY = 20  # steps between two looks at the held-out rows
_CLIP = 100.0  # longest gradient
_SMOOTH = 1e-6  # added to Omega squared, whose root has no derivative at 0
_BETTER = 1e-3  # a held-out loss counts as better from this much on

Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Training(Part):
    """How long and how fast an energy is trained.

    Attributes
    ----------
    steps, batch : int
        Most steps, and rows a step.
    learning_rate : float
    patience : int
        Steps without a better held-out loss before it stops.
    held_out : float
        Share of the rows, at most 0.9, that decides when to stop.
    """

    steps: int = 1500
    batch: int = 256
    learning_rate: float = 0.01
    patience: int = 500
    held_out: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("steps", 0), ("batch", 1), ("patience", 1)):
            check_number(self, name, least, integer=True)
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_number(self, "held_out", 0.0, 0.9, open_low=True)


@dataclass(frozen=True, eq=False)
class OmegaPenalty:
    """A penalty on Omega over all pairs.

    Attributes
    ----------
    penalty : Penalty
    units : Tensor of shape (d, d)
        c of each pair.
    n_rows : int
        Rows of a batch over which Omega is averaged.
    """

    penalty: Penalty
    units: Tensor
    n_rows: int

    def __call__(self, energy: Energy, h: Tensor) -> Tensor:
        """Return the penalty of an energy, Omega over the first rows (n, D)."""
        rows, others = h[: self.n_rows], team()
        mine = others.part(rows)
        squared = squared_omega(energy, mine, h.new_full((len(mine),), 1 / max(1, len(rows))))
        omega = (others.summed(squared) + _SMOOTH).sqrt()
        units = self.units.clamp(min=1e-6)
        return torch.triu(units.square() * self.penalty.value(omega / units), diagonal=1).sum()


@dataclass(frozen=True, eq=False)
class Loss:
    """What is minimised.

    Attributes
    ----------
    energy : Energy
        The whole, whose loss and Omega count.
    objective : Objective
    penalty : OmegaPenalty or None
    """

    energy: Energy
    objective: Objective
    penalty: OmegaPenalty | None = None

    def terms(self, h: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the terms of rows (n, D) by their names; in a team, gradients are those of this process's rows."""
        mine = team().part(h)
        losses = self.objective(self.energy, mine, team().own(generator))
        mean = losses.mean() * (len(mine) / len(h)) if len(mine) else losses.sum()
        found = {"objective": team().summed(mean)}
        if self.penalty is not None:
            found["penalty on Omega"] = self.penalty(self.energy, h)
        return found


@dataclass(frozen=True)
class Track:
    """Who follows a training.

    Attributes
    ----------
    shelf : Shelf
        Where it is kept now and then how far the training is, and from where an interrupted one goes on, to the same bits.
    name : str
        Of the training on the shelf.
    report : callable
        Called with the step, the most steps, and the losses in words.
    """

    shelf: Shelf = field(default_factory=Shelf)
    name: str = "training"
    report: Report = lambda step, steps, note: None


NOBODY = Track()


@dataclass(frozen=True)
class Trained:
    """How a training ended.

    Attributes
    ----------
    better : bool
        Whether it left the energy better than where it started.
    steps : int
        Steps it took.
    converged : bool
        Whether its patience ran out; if not, it ended at the most steps.
    """

    better: bool
    steps: int
    converged: bool


@dataclass(eq=False)
class _State:
    """All that a step depends on and changes."""

    deep: nn.Module
    optimiser: torch.optim.Adam
    generator: torch.Generator
    step: int = 0
    best: float = float("inf")
    best_step: int = 0
    best_parameters: dict[str, Tensor] | None = None

    def tensors(self) -> dict[str, Tensor]:
        """Return everything as tensors, for a shelf."""
        found = {f"now/{name}": value for name, value in self.deep.state_dict().items()}
        found |= {f"best/{name}": value for name, value in (self.best_parameters or {}).items()}
        for name, parameter in self.deep.named_parameters():
            found |= {f"adam/{name}/{k}": v for k, v in self.optimiser.state.get(parameter, {}).items()}
        counters = torch.tensor([self.step, self.best, self.best_step], dtype=torch.float64)
        return found | {"generator": self.generator.get_state(), "counters": counters}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go back to what a shelf had."""

        def under(prefix: str) -> dict[str, Tensor]:
            # Clones, since the tensors of a file lie in its bytes.
            return {k.removeprefix(prefix): v.clone() for k, v in tensors.items() if k.startswith(prefix)}

        self.deep.load_state_dict(under("now/"))
        self.best_parameters = under("best/") or None
        for name, parameter in self.deep.named_parameters():
            if found := under(f"adam/{name}/"):
                moved = {k: v if k == "step" else v.to(parameter) for k, v in found.items()}
                self.optimiser.state[parameter] = moved
        self.generator.set_state(tensors["generator"].cpu())
        step, self.best, best_step = tensors["counters"].tolist()
        self.step, self.best_step = int(step), int(best_step)


def train(
    loss: Loss,
    deep: nn.Module,
    h: Tensor,
    training: Training,
    generator: torch.Generator,
    track: Track = NOBODY,
    solve: Callable[[Tensor], None] | None = None,
) -> Trained:
    """Train one part of an energy on rows (n, D) and leave it where the held-out loss, penalty included, was least.

    Parameters
    ----------
    deep : Module
        The part that learns.
    generator : torch.Generator
        On the CPU; decides which rows are held out and the batches.
    solve : callable, optional
        Sets parameters in closed form from the rows that are not held out; taken for the first step.
    """
    n = len(h)
    order = torch.randperm(n, generator=generator).to(h.device)
    kept = n - max(1, int(training.held_out * n))
    rows, held = h[order[:kept]], h[order[kept:]]
    state = _State(deep, torch.optim.Adam(_trainable(deep), lr=training.learning_rate), generator)
    done = track.shelf.take(f"{track.name} done")
    begun = track.shelf.take(track.name) if done is None else done
    if begun is not None:
        state.restore(begun)
    patient = True if done is None else not bool(done["impatient"])
    team().agree(deep)
    while done is None and state.step < training.steps and patient:
        if state.step % _EVERY == 0 or (solve is not None and state.step == 1):
            if state.step % _EVERY == 0 and track.shelf.is_due:
                track.shelf.keep_state(track.name, state.tensors())
            now = _look(loss, held, state)
            track.report(state.step, training.steps, f"held-out loss {now:.4g}, best {state.best:.4g}")
            patient = state.step - state.best_step <= training.patience
        if patient:
            if solve is not None and state.step == 0:
                solve(rows)
                team().agree(deep)
            else:
                _step(loss, rows, training.batch, state)
            state.step += 1
    if done is None:
        _look(loss, held, state)
        track.shelf.keep(f"{track.name} done", state.tensors() | {"impatient": torch.tensor(not patient)})
    if state.best_parameters is None:
        raise ComputationError("training never reached a finite held-out loss; try a smaller learning_rate")
    deep.load_state_dict(state.best_parameters)
    return Trained(state.best_step > 0, state.step, not patient or training.steps == 0)


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


@torch.no_grad()
def worst_variable(energy: Energy, h: Tensor) -> int:
    r"""Return the variable that an energy reproduces worst over rows (n, D), in the order of the coordinates.

    For a continuous one the true density has :math:`E\,[z_i\, \partial L / \partial z_i] = -1`, and for a discrete one
    the mean of :math:`\pi(k \mid \text{rest})` is the share of level k; the gaps from both are compared.
    """
    coordinates = energy.coordinates
    z = h[:, : coordinates.n_continuous]
    gaps = ((z * energy.score(h)).mean(dim=0) + 1).abs()
    if coordinates.n_discrete:
        chances = log_conditionals(energy.logits(h), coordinates).exp()
        levels = (chances - energy.indicators(h)).mean(dim=0).abs()
        parts = torch.split(levels, list(coordinates.levels))
        gaps = torch.cat([gaps, torch.stack([part.max() for part in parts])])
    return int(gaps.nan_to_num(torch.inf).argmax())


@torch.no_grad()
def _look(loss: Loss, held: Tensor, state: _State) -> float:
    # Objectives that draw must not disturb the batches that follow.
    terms = loss.terms(held, torch.Generator().manual_seed(0))
    now = sum(float(term) for term in terms.values())
    if now < state.best - _BETTER:
        state.best, state.best_step = now, state.step
        state.best_parameters = {k: v.clone() for k, v in state.deep.state_dict().items()}
    return now


def _step(loss: Loss, rows: Tensor, batch: int, state: _State) -> None:
    at = torch.randint(len(rows), (min(batch, len(rows)),), generator=state.generator).to(rows.device)
    terms = loss.terms(rows[at], state.generator)
    for name, term in terms.items():
        if not bool(torch.isfinite(term)):
            raise ComputationError(
                f"training stopped at step {state.step}: the {name} is {float(term.detach())}; "
                "try a smaller learning_rate, a larger batch, or another objective"
            )
    state.optimiser.zero_grad()
    torch.autograd.backward(torch.stack(list(terms.values())).sum())
    team().add_gradients(_trainable(state.deep))
    length = nn.utils.clip_grad_norm_(_trainable(state.deep), _CLIP)
    if not bool(torch.isfinite(length)):
        raise ComputationError(
            f"training stopped at step {state.step}: the gradient is {float(length)}; try a smaller learning_rate"
        )
    state.optimiser.step()
