"""What is known about directions before the data are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpmnet.directed.meek import BoolMatrix, is_acyclic
from gpmnet.errors import InputError, quote, quote_all

Arrows = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Knowledge:
    """Arrows that must or must not be there, and an order of groups of variables.

    Attributes
    ----------
    required : sequence of (str, str)
        Arrows (from, to) that are there.
    forbidden : sequence of (str, str)
        Arrows (from, to) that are not; an edge that is forbidden both ways is not there at all.
    tiers : sequence of sequences of str
        Groups of variables, the earliest first: nothing is an effect of what is in a later group. A variable in no
        group is not concerned.

    Examples
    --------
    >>> Knowledge(tiers=[["age", "sex"], ["income"]]).matrices(["income", "age", "sex"]).forbidden.astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """

    required: Arrows = ()
    forbidden: Arrows = ()
    tiers: Sequence[Sequence[str]] = ()

    def matrices(self, names: Sequence[str]) -> KnownArrows:
        """Return it by position among names, or raise where it names others or contradicts itself."""
        position = {name: at for at, name in enumerate(names)}
        where = {"required": self.required, "forbidden": self.forbidden, "tiers": self.tiers}
        for what, groups in where.items():
            unknown = [name for group in groups for name in group if name not in position]
            if unknown:
                raise InputError(
                    f"{what}: no variable is called {quote_all(unknown)}; there are {quote_all(tuple(names))}"
                )
        required, forbidden = (_arrows(pairs, position) for pairs in (self.required, self.forbidden))
        tier = np.full(len(names), -1)
        for number, group in enumerate(self.tiers):
            for name in group:
                if tier[position[name]] >= 0:
                    raise InputError(f"tiers: {quote(name)} is there twice")
                tier[position[name]] = number
        placed = tier >= 0
        forbidden |= (tier[:, None] > tier[None, :]) & placed[:, None] & placed[None, :]
        _check(required, forbidden, names)
        return KnownArrows(required, forbidden | required.T)


@dataclass(frozen=True, eq=False)
class KnownArrows:
    """Knowledge by position: entry (i, j) of `required` says that i -> j is there, of `forbidden` that it is not."""

    required: BoolMatrix
    forbidden: BoolMatrix

    @property
    def no_edge(self) -> BoolMatrix:
        """The pairs that are forbidden both ways."""
        return np.asarray(self.forbidden & self.forbidden.T)

    @property
    def edges(self) -> BoolMatrix:
        """The pairs that an arrow must join."""
        return np.asarray(self.required | self.required.T)

    def arrows(self, skeleton: BoolMatrix) -> BoolMatrix:
        """Return the directions of the edges of a skeleton that are known."""
        return np.asarray(skeleton & (self.required | self.forbidden.T) & ~self.forbidden)


def _arrows(pairs: Arrows, position: dict[str, int]) -> BoolMatrix:
    matrix = np.zeros((len(position), len(position)), dtype=bool)
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(
                f"an arrow joins two different variables; got {quote_all([str(name) for name in pair])}"
            )
        matrix[position[pair[0]], position[pair[1]]] = True
    return matrix


def _check(required: BoolMatrix, forbidden: BoolMatrix, names: Sequence[str]) -> None:
    both = np.argwhere(required & forbidden)
    if len(both):
        a, b = (quote(names[at]) for at in both[0])
        raise InputError(f"the arrow from {a} to {b} is required, and forbidden by an arrow or by the tiers")
    if not is_acyclic(required):
        raise InputError("the required arrows make a cycle; take one of them away")
