"""A training that processes do together; each writes what it has learned, and how many rows it looked at a step."""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from gpmnet.energies import MLP, Coordinates, MLPEnergy, NormalEnergy, SumEnergy
from gpmnet.jobs.team import joined
from gpmnet.objectives import OBJECTIVES
from gpmnet.penalties import SCAD
from gpmnet.solvers.adam import Loss, OmegaPenalty, Training, train


class Counted:
    """An objective that notes the number of rows."""

    def __init__(self, name):
        self.inner, self.seen = OBJECTIVES[name], []

    def __call__(self, energy, h, generator):
        self.seen.append(len(h))
        return self.inner(energy, h, generator)


def trained(objective, penalised):
    """Return a trained MLP on 301 rows of two dependent scores, an independent one and a category, and the rows seen."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(301, 3, generator=generator)
    z[:, 1] = (z[:, 1] + z[:, 0]) / 2**0.5
    codes = ((z[:, 2:] + torch.randn(301, 1, generator=generator)) > 0).long()
    coordinates = Coordinates.from_codes(3, (2,), codes)
    deep = MLPEnergy(coordinates, MLP(hidden=8), torch.Generator().manual_seed(0))
    counted = Counted(objective)
    penalty = OmegaPenalty(SCAD(0.1), torch.ones(4, 4), 15) if penalised else None
    loss = Loss(SumEnergy(NormalEnergy(coordinates), deep), counted, penalty)
    options = Training(steps=45, batch=63, patience=1000)
    h = coordinates.encode(z, codes)
    train(loss, deep, h, options, torch.Generator().manual_seed(0))
    return {"parameters": torch.cat([x.detach().flatten() for x in deep.parameters()])}, counted.seen


if __name__ == "__main__":
    _, objective, penalised, folder = sys.argv
    with joined() as others:
        found, seen = trained(objective, penalised == "yes")
        found["seen"] = torch.tensor(seen)
        save_file(found, Path(folder) / f"{others.rank}-of-{others.size}.safetensors")
