r"""A network in the formats of other programs.

GraphML, GEXF and DOT
    Names go through `gpmnet.network.escape.escape`, since XML forbids some characters; `unescape` finds them again.
    Names without a backslash or a forbidden character are written as they are.
JSON
    Every name as it is, in plain ASCII with JSON's own escapes.
CSV
    A name that a spreadsheet would run as a formula gets an apostrophe in front
    (`gpmnet.network.escape.spreadsheet_text`), unless raw text is asked for; all others as in Parquet.
Parquet
    Every name as it is; a lone surrogate, which UTF-8 cannot hold, becomes ``\udXXX``.

Statistics that are not known are left out (empty in tables). Edges of a search over directed graphs have also their kind,
direction ("->" is from source to target) and evidence, of which Graphviz draws arrows and dots; in tables the common effects
of two co-parents too, in CSV as a JSON list. Members of a group of near-copies have its number (`group`) in GraphML and
GEXF; JSON has the groups and the joint findings under `graph`.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from scipy.sparse import csr_array

from gpmnet.directed.directions import DIRECTION_COLUMNS
from gpmnet.errors import InputError, quote
from gpmnet.files import whole_file
from gpmnet.network.escape import escape, spreadsheet_text
from gpmnet.network.matrix import DENSE_UP_TO
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.resampling import figures_of

if TYPE_CHECKING:
    import networkx as nx

_BY_SUFFIX = {
    ".graphml": "graphml",
    ".gexf": "gexf",
    ".json": "json",
    ".csv": "edges",
    ".parquet": "edges",
    ".dot": "dot",
    ".gv": "dot",
    ".npz": "adjacency",
}
_SUFFIXES = {"edges": (".csv", ".parquet"), "adjacency": (".csv", ".parquet", ".npz")}
_DOT_LOOK = {
    ("arc", "->"): {"dir": "forward"},
    ("arc", "<-"): {"dir": "back"},
    ("co-parents", ""): {"style": "dotted"},
}
"""How Graphviz draws what a search over directed graphs found."""
_QUOTED = re.compile(r"""[",\s\x00]|^$""")


def export(
    network: MarkovNetwork, path: Path, format: str | None = None, spreadsheet_safe: bool = True
) -> Path:
    """Write a network to a file; see `MarkovNetwork.export`."""
    suffix = path.suffix.lower()
    format = format or _BY_SUFFIX.get(suffix)
    if format not in _WRITERS:
        known = ", ".join(_BY_SUFFIX)
        asked = f"format={quote(format)}" if format else f"the suffix {quote(suffix)}"
        raise InputError(f"{asked} is none of those a network can be written in: {known}")
    if suffix not in _SUFFIXES.get(format, (suffix,)):
        raise InputError(
            f"format={quote(format)} is written as {' or '.join(_SUFFIXES[format])}, not {quote(suffix)}"
        )
    if format == "adjacency" and suffix != ".npz" and len(network.names) > DENSE_UP_TO:
        raise InputError(
            f"a dense matrix of {len(network.names):,} variables is too large (at most {DENSE_UP_TO:,}); use .npz"
        )
    with whole_file(path) as beside, beside.open("wb") as file:
        file.writelines(_WRITERS[format](network, suffix, spreadsheet_safe and suffix == ".csv"))
    return path


def _edge_records(network: MarkovNetwork) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the edges, most certain first, with the statistics that are known, and what a directed search says of them."""
    pairs = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    pairs = pairs.take(pairs.order())
    names = figures_of(network)
    columns = zip(*(getattr(pairs, name).tolist() for name in names), strict=True)
    for a, b, figures in zip(pairs.first.tolist(), pairs.second.tolist(), columns, strict=True):
        known = zip(names, figures, strict=True)
        found: dict[str, Any] = {name: value for name, value in known if not math.isnan(value)}
        if "n_rows" in found:
            found["n_rows"] = int(found["n_rows"])
        if network.directions is not None:
            row = network.directions.row(network.names[a], network.names[b])
            found |= {name: row[name] for name in ("kind", "direction") if row[name]}
            found |= {} if math.isnan(row["evidence"]) else {"evidence": row["evidence"]}
        yield a, b, found


def undirected_graph(network: MarkovNetwork) -> nx.Graph[str]:
    """Return a network as networkx has it; see `MarkovNetwork.to_networkx`."""
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph()
    for at, name in enumerate(network.names):
        graph.add_node(name, **({"kind": network.kinds[at]} if network.kinds else {}))
    for a, b, figures in _edge_records(network):
        graph.add_edge(network.names[a], network.names[b], **figures)
    return graph


def _escaped_graph(network: MarkovNetwork) -> nx.Graph[str]:
    """Return the graph whose nodes are the escaped names, once more under `name` for programs with own ids."""
    import networkx as nx

    ids = [escape(name) for name in network.names]
    group = {name: at for at, names in enumerate(network.groups, start=1) for name in names}
    graph: nx.Graph[str] = nx.Graph()
    for name, node in zip(network.names, ids, strict=True):
        graph.add_node(node, name=node, **({"group": group[name]} if name in group else {}))
    for node, kind in zip(ids, network.kinds, strict=False):
        graph.nodes[node]["kind"] = escape(kind)
    for a, b, figures in _edge_records(network):
        graph.add_edge(ids[a], ids[b], **figures)
    return graph


def _graphml(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    import networkx as nx

    file = io.BytesIO()
    nx.write_graphml_xml(_escaped_graph(network), file)
    yield file.getvalue()


def _gexf(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    from networkx.readwrite.gexf import GEXFWriter

    root = GEXFWriter(_escaped_graph(network), version="1.2draft").xml
    for meta in root.iter("meta"):
        meta.attrib.pop("lastmodifieddate", None)  # the same network gives the same bytes on any day
    yield ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _json(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    kinds = network.kinds or (None,) * len(network.names)
    nodes = [
        {"id": name} | ({} if kind is None else {"kind": kind})
        for name, kind in zip(network.names, kinds, strict=True)
    ]
    edges = [
        {"source": network.names[a], "target": network.names[b], **figures}
        for a, b, figures in _edge_records(network)
    ]
    graph: dict[str, Any] = {"n_rows": network.n_rows, "fdr": network.fdr}
    if network.groups:
        graph["groups"] = [list(group) for group in network.groups]
        graph["joint_findings"] = [finding.to_dict() for finding in network.joint_findings]
    whole = {"directed": False, "multigraph": False, "graph": graph, "nodes": nodes, "edges": edges}
    yield json.dumps(whole, indent=1, allow_nan=False).encode("ascii") + b"\n"


def _dot(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    yield b"graph {\n"
    for at, name in enumerate(network.names):
        yield f'  n{at} [label="{_dot_text(name)}"];\n'.encode()
    for a, b, figures in _edge_records(network):
        look = _DOT_LOOK.get((figures.get("kind", ""), figures.get("direction", "")), {})
        listed = ", ".join(f'{name}="{value}"' for name, value in {**figures, **look}.items())
        yield f"  n{a} -- n{b}{f' [{listed}]' if listed else ''};\n".encode()
    yield b"}\n"


def _dot_text(name: str) -> str:
    """Return a name as a quoted label: in one, a backslash starts an escape and a quote ends it."""
    return escape(name).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _writable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _cell(name: str, safe: bool) -> str:
    return spreadsheet_text(_writable(name)) if safe else _writable(name)


def _line(cells: Iterable[Any]) -> bytes:
    r"""Return a line of CSV, quoted where a reader could go wrong (the standard writer leaves a lone \r bare)."""
    quoted = (f'"{c.replace(chr(34), chr(34) * 2)}"' if _QUOTED.search(c) else c for c in map(str, cells))
    return (",".join(quoted) + "\n").encode()


def _edges(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    if suffix == ".parquet":
        frame = network.edges
        for end in ("source", "target"):
            frame[end] = [_writable(name) for name in frame[end]]
        if network.directions is not None:
            effects = [[_writable(name) for name in names] for names in frame["common_effects"]]
            frame["common_effects"] = effects
        yield _parquet(frame)
        return
    names = [_cell(name, safe) for name in network.names]
    listed = (*figures_of(network), *(() if network.directions is None else DIRECTION_COLUMNS))
    yield _line(("source", "target", *listed))
    for a, b, figures in _edge_records(network):
        if network.directions is not None:
            effects = network.directions.row(network.names[a], network.names[b])["common_effects"]
            figures["common_effects"] = json.dumps(effects) if effects else ""
        yield _line((names[a], names[b], *(figures.get(name, "") for name in listed)))


def _parquet(frame: Any) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def _adjacency(network: MarkovNetwork, suffix: str, safe: bool) -> Iterator[bytes]:
    if suffix == ".npz":
        yield _npz(network)
        return
    names = [_cell(name, safe) for name in network.names]
    matrix = csr_array(network.adjacency).toarray().astype(np.int8)
    if suffix == ".parquet":
        import pandas as pd

        yield _parquet(pd.DataFrame(matrix, columns=names))  # rows in the order of the columns
        return
    yield _line(("", *names))
    for name, row in zip(names, matrix.tolist(), strict=True):
        yield _line((name, *row))


def _npz(network: MarkovNetwork) -> bytes:
    """Return the matrix as `scipy.sparse.load_npz` reads it; `names` holds the names as JSON in UTF-8 bytes."""
    matrix = csr_array(network.adjacency)
    matrix.sort_indices()
    file = io.BytesIO()
    np.savez_compressed(
        file,
        format=np.array("csr".encode("ascii")),
        shape=np.array(matrix.shape),
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        _is_array=np.array(True),
        names=np.frombuffer(json.dumps(network.names).encode("ascii"), dtype=np.uint8),
    )
    return file.getvalue()


_WRITERS: dict[str, Callable[[MarkovNetwork, str, bool], Iterator[bytes]]] = {
    "graphml": _graphml,
    "gexf": _gexf,
    "json": _json,
    "edges": _edges,
    "dot": _dot,
    "adjacency": _adjacency,
}
