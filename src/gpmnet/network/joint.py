"""What groups of near-copies say together: findings, the network in which a group is one node, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.errors import CollinearWarning, InputError, quote, quote_all
from gpmnet.json_data import as_list, as_number, as_table, as_text, as_texts
from gpmnet.network.pairs import FIGURES, Pairs
from gpmnet.network.queries import neighbor_lists, open_path
from gpmnet.network.text import counted, p_text

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork

_FIGURES = ("p_value", "q_value", "strength")


@dataclass(frozen=True)
class JointFinding:
    """A variable that depends on a group of near-copies given the rest, though on no single one of them.

    Attributes
    ----------
    variable : str
    group : tuple of str
        The members, the one at the centre first.
    p_value, q_value : float
        Of the joint test; the q-value is over all variables and groups.
    strength : float
        Multiple correlation given the rest.
    rivals : tuple of str
        Variables outside the group that may be what the variable depends on in its place; none where the group is it.

    Examples
    --------
    >>> JointFinding("diagnosis", ("radius", "area"), 3e-7, 1e-5, 0.32).text
    "'diagnosis': no single column, but jointly p = 3e-07 with 'radius', 'area'"
    """

    variable: str
    group: tuple[str, ...]
    p_value: float
    q_value: float
    strength: float
    rivals: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", tuple(self.group))
        object.__setattr__(self, "rivals", tuple(self.rivals))

    @property
    def text(self) -> str:
        """The finding on one line."""
        return f"{quote(self.variable)}: {self.reason}"

    @property
    def reason(self) -> str:
        """The finding without the name of the variable."""
        rivals = f" or with {quote_all(self.rivals, most=3)} in their place" if self.rivals else ""
        with_whom = quote_all(self.group, most=3)
        return f"no single column, but jointly {p_text('p', self.p_value)} with {with_whom}{rivals}"

    @property
    def others(self) -> tuple[str, ...]:
        """The members of the group and the rivals."""
        return self.group + self.rivals

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and texts, ready for JSON."""
        figures = {name: getattr(self, name) for name in _FIGURES}
        return {
            "variable": self.variable, "group": list(self.group), **figures, "rivals": list(self.rivals)
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Any) -> JointFinding:
        """Return the finding that `to_dict` wrote, or raise."""
        said = as_table(data, "a joint finding")
        p, q, strength = (as_number(said.get(name), f"the {name} of a joint finding") for name in _FIGURES)
        if not all(0 <= value <= 1 for value in (p, q, strength)):
            raise InputError("a joint finding has a figure outside 0 to 1")
        variable = as_text(said.get("variable"), "the variable of a joint finding")
        group, rivals = (
            as_texts(said.get(name), f"the {name} of a joint finding") for name in ("group", "rivals")
        )
        if not group:
            raise InputError("a joint finding is about a group without members")
        return cls(variable, group, p, q, strength, rivals)


def groups_from(data: Any) -> tuple[tuple[str, ...], ...]:
    """Return groups that came from JSON, or raise."""
    groups = tuple(as_texts(group, "a group of near-copies") for group in as_list(data, "the groups"))
    if any(len(group) < 2 for group in groups):
        raise InputError("a group of near-copies has fewer than two members")
    return groups


def check_groups(groups: Iterable[tuple[str, ...]], findings: Iterable[JointFinding]) -> None:
    """Raise if a variable is in two groups, or in the group that it is tested against."""
    members = [name for group in groups for name in group]
    if len(set(members)) < len(members):
        raise InputError("a variable is in two groups of near-copies")
    if any(finding.variable in finding.others for finding in findings):
        raise InputError("a joint finding is about a variable of its own group")


def group_caution(groups: tuple[tuple[str, ...], ...], findings: tuple[JointFinding, ...]) -> str:
    """Return what a reader should know of near-copies, on one line; nothing where there are none.

    >>> group_caution((("a", "b", "c"), ("d", "e")), ())
    "near-copies hide each other's edges (2 groups): 'a', 'b' and 1 more; 'd', 'e'"

    Findings are counted only: where this is read they are listed beside it, or asked for by the name that is said.
    """
    if not groups:
        return ""
    listed = "; ".join(quote_all(group, most=2) for group in groups[:3])
    more = "; …" if len(groups) > 3 else ""
    count = counted(len(groups), "group")
    found = f"; {counted(len(findings), 'joint finding')} (joint_findings)" if findings else ""
    return f"near-copies hide each other's edges ({count}): {listed}{more}{found}"


def finding_between(network: MarkovNetwork, a: str, b: str) -> JointFinding | None:
    """Return the surest finding that the one variable depends on a group, or a rival of it, that the other is in."""
    found = [f for f in network.joint_findings if (f.variable == a and b in f.others)]
    found += [f for f in network.joint_findings if (f.variable == b and a in f.others)]
    return min(found, key=lambda finding: finding.p_value) if found else None


def warn_blanket(network: MarkovNetwork, name: str, stacklevel: int = 3) -> None:
    """Warn where a variable's neighbors are not all that it depends on, as far as joint tests know."""
    for finding in network.joint_findings:
        if name == finding.variable or name in finding.others:
            text = f"the Markov blanket of {quote(name)} is not complete; {finding.text}"
            warnings.warn(text, CollinearWarning, stacklevel=stacklevel)
            return


def warn_separation(
    network: MarkovNetwork, ends: tuple[str, str], given: set[int], stacklevel: int = 3
) -> None:
    """Warn where two variables are separated by edges alone, but not by edges and joint findings."""
    if not network.joint_findings:
        return
    links = {link: finding for finding in network.joint_findings for link in _links(network, finding)}
    edges = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    all_edges = [*zip(edges.first.tolist(), edges.second.tolist(), strict=True), *links]
    start, goal = (network.position(end) for end in ends)
    found = open_path(neighbor_lists(len(network.names), all_edges), start, goal, given)
    if found is None:
        return
    steps = (tuple(sorted(step)) for step in pairwise(found))
    finding = next(links[step] for step in steps if step in links)
    text = f"{quote(ends[0])} and {quote(ends[1])} are separated by single edges only; {finding.text}"
    warnings.warn(text, CollinearWarning, stacklevel=stacklevel)


def _links(network: MarkovNetwork, finding: JointFinding) -> list[tuple[int, ...]]:
    """Return the pairs of a finding's variable and the members of its group that the network has."""
    here = [name for name in finding.others if name in network]
    if finding.variable not in network:
        return []
    at = network.position(finding.variable)
    return [tuple(sorted((at, network.position(name)))) for name in here]


def kept_findings(
    network: MarkovNetwork, q: float | None, strength: float | None
) -> tuple[JointFinding, ...]:
    """Return the findings up to a q-value, and of a least strength."""
    return tuple(
        finding
        for finding in network.joint_findings
        if (q is None or finding.q_value <= q) and (strength is None or finding.strength >= strength)
    )


def merged(network: MarkovNetwork) -> MarkovNetwork:
    """Return the network in which every group is one node; see `MarkovNetwork.merged_groups`."""
    owner = np.arange(len(network.names))
    label = dict(enumerate(network.names))
    for group in network.groups:
        here = [network.position(name) for name in group if name in network]
        if len(here) > 1:
            owner[here] = here[0]
            label[here[0]] = f"{network.names[here[0]]} (group of {len(here)})"
    nodes = np.unique(owner)
    place = {int(at): new for new, at in enumerate(nodes)}
    names: list[str] = []
    for at in nodes.tolist():
        name = label[at]
        while name in names or (name != network.names[at] and name in network):
            name += "'"
        names.append(name)
    moved = np.array([place[int(at)] for at in owner], dtype=np.intp)
    return replace(
        network,
        names=tuple(names),
        kinds=tuple(network.kinds[at] for at in nodes) if network.kinds else (),
        pairs=_merged_pairs(network, moved),
        shapes=None,
        groups=(),
        joint_findings=(),
    )


def _merged_pairs(network: MarkovNetwork, moved: np.ndarray[Any, Any]) -> Pairs:
    """Return one pair for all between two nodes: an edge before what is none, then the surest; else a joint finding."""
    pairs = network.pairs
    best: dict[tuple[int, int], dict[str, Any]] = {}
    for row in pairs.order().tolist():
        a, b = sorted((int(moved[pairs.first[row]]), int(moved[pairs.second[row]])))
        if a == b or ((a, b) in best and (best[a, b]["is_edge"] or not pairs.is_edge[row])):
            continue
        figures = {name: float(getattr(pairs, name)[row]) for name in FIGURES}
        best[a, b] = figures | {"is_edge": bool(pairs.is_edge[row])}
    for finding in sorted(network.joint_findings, key=lambda finding: finding.p_value):
        for link in [] if finding.rivals else _links(network, finding)[:1]:
            a, b = sorted(int(moved[end]) for end in link)
            if not best.get((a, b), {"is_edge": False})["is_edge"]:
                known = {name: getattr(finding, name) for name in _FIGURES}
                best[a, b] = {**dict.fromkeys(FIGURES, np.nan), **known, "is_edge": True}
    ends = np.array(sorted(best), dtype=np.intp).reshape(-1, 2)
    rows = [best[a, b] for a, b in ends.tolist()]
    columns = {name: [row[name] for row in rows] for name in FIGURES}
    return Pairs.of(ends[:, 0], ends[:, 1], [row["is_edge"] for row in rows], **columns)


def joint_notes(network: MarkovNetwork) -> dict[str, list[tuple[str, str]]]:
    """Return what a reader should know of groups and findings: by title, a name and what is said of it."""
    groups = [(group[0], f"nearly the same: {quote_all(group[1:], most=8)}") for group in network.groups]
    findings = [(finding.variable, finding.reason) for finding in network.joint_findings]
    return {"Jointly, not singly": findings, "Near-copies": groups}
