import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from gpmnet.directed.cpdag import CPDAG  # noqa: E402
from gpmnet.directed.directions import Directions, MoralEdge  # noqa: E402
from gpmnet.errors import InputError  # noqa: E402
from gpmnet.network import MarkovNetwork, Pairs  # noqa: E402
from gpmnet.network.labels import overlaps, place_labels  # noqa: E402
from gpmnet.network.plot import (  # noqa: E402
    MOST_LABELS,
    MOST_VARIABLES,
    plot_network,
    plot_omega,
    plot_p_values,
    plot_strength_q,
)
from gpmnet.selection import Cutoff  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def sparse_network(d, seed, extra=10):
    rng = np.random.default_rng(seed)
    joined = d - d // 10  # the rest stay alone
    found = {(int(rng.integers(at)), at) for at in range(1, joined)}
    found |= {(int(a), int(b)) for a, b in rng.integers(0, joined, (extra, 2)) if a < b}
    first, second = np.array(sorted(found)).T
    m = len(first)
    pairs = Pairs.of(
        first, second, strength=rng.random(m), sign=rng.choice([-1, 0, 1], m), omega=rng.random(m),
        p_value=rng.random(m) / 100, q_value=rng.random(m) / 20,
    )  # fmt: skip
    names = tuple(f"{rng.choice(['x', 'gene_', 'expression_of_'])}{at}" for at in range(d))
    return MarkovNetwork(
        names, pairs, tuple(rng.choice(["continuous", "ordinal", "discrete"], d).tolist()), 99, Cutoff(0.05)
    )


def label_boxes(ax, texts):
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts if text.get_text() in texts]


@pytest.mark.parametrize("d", [5, 20, 40, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_do_not_collide(d, seed):
    net = sparse_network(d, seed)
    boxes = label_boxes(net.plot(), set(net.names))
    assert len(boxes) == d
    corners = np.array([[b.x0, b.y0, b.x1, b.y1] for b in boxes])
    for at, (x0, y0, x1, y1) in enumerate(corners):
        others = np.delete(corners, at, axis=0)
        hit = (others[:, 0] < x1) & (others[:, 2] > x0) & (others[:, 1] < y1) & (others[:, 3] > y0)
        assert not hit.any()


@pytest.mark.parametrize("seed", range(5))
def test_crowded_boxes_are_taken_apart_and_stay_inside(seed):
    rng = np.random.default_rng(seed)
    anchor = rng.uniform(300, 500, (40, 2))
    size = np.column_stack([rng.uniform(20, 90, 40), np.full(40, 12.0)])
    low, high = np.zeros(2), np.full(2, 800.0)
    assert overlaps(anchor, size).any()
    centre = place_labels(anchor, size, 5.0, rng.normal(size=(40, 2)), low, high)
    assert not overlaps(centre, size).any()
    assert (centre - size / 2 >= low).all()
    assert (centre + size / 2 <= high).all()


def test_the_same_network_gives_the_same_picture():
    net = sparse_network(20, 0)
    pictures = []
    for _ in range(2):
        ax = net.plot()
        ax.figure.canvas.draw()
        pictures.append(np.asarray(ax.figure.canvas.buffer_rgba()).copy())
    np.testing.assert_array_equal(*pictures)


def test_edges_are_drawn_by_sign_and_strength():
    pairs = Pairs.of([0, 1, 2], [1, 2, 3], strength=[0.1, 0.9, 0.5], sign=[1, 1, -1])
    ax = MarkovNetwork(tuple("abcd"), pairs).plot()
    positive, negative = (c for c in ax.collections if isinstance(c, matplotlib.collections.LineCollection))
    assert len(positive.get_segments()) == 2
    assert len(negative.get_segments()) == 1
    assert np.diff(positive.get_linewidths()) > 0
    assert not np.array_equal(positive.get_color(), negative.get_color())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["positive", "negative"]


def test_large_networks_show_their_strongest_part_and_say_so():
    d = MOST_VARIABLES + 50
    first = np.arange(0, d - 1, 2)
    pairs = Pairs.of(first, first + 1, strength=np.linspace(1, 0, len(first)))
    ax = MarkovNetwork(tuple(f"v{at}" for at in range(d)), pairs).plot()
    assert "strongest edges are shown" in ax.get_title()
    nodes = sum(
        len(c.get_offsets()) for c in ax.collections if isinstance(c, matplotlib.collections.PathCollection)
    )
    assert nodes == MOST_VARIABLES
    assert len(ax.texts) == MOST_LABELS


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("color", ["kind", "community"])
def test_hostile_names_are_drawn_as_text(hostile, color):
    ax = hostile.plot(color=color)
    ax.figure.canvas.draw()
    assert any("\\frac" in text.get_text() for text in ax.texts)
    for drawn in (plot_strength_q(hostile), plot_p_values(hostile)):
        drawn.figure.canvas.draw()


def test_omega_is_ordered_by_community_and_symmetric():
    block = np.kron(np.eye(2), np.ones((3, 3)))
    shuffle = np.array([0, 3, 1, 4, 2, 5])
    omega = block[np.ix_(shuffle, shuffle)] * 2.0
    ax = plot_omega(omega, names=tuple("abcdef"))
    image = ax.images[0].get_array()
    expected = np.kron(np.eye(2), np.full((3, 3), 2.0))
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_array_equal(np.asarray(image)[off], expected[off])
    order = [text.get_text() for text in ax.get_xticklabels()]
    assert sorted(map(sorted, (order[:3], order[3:]))) == sorted(
        [sorted(np.array(list("abcdef"))[shuffle < 3]), sorted(np.array(list("abcdef"))[shuffle >= 3])]
    )


def test_omega_of_a_network_and_of_a_model(shaped):
    class Model:
        network_ = shaped

    for source in (shaped, Model()):
        image = np.asarray(plot_omega(source).images[0].get_array())
        assert np.nanmax(image) == 1.5
    with pytest.raises(InputError, match="no Omega"):
        plot_omega(MarkovNetwork(("a", "b"), Pairs.of([0], [1])))
    with pytest.raises(InputError, match="square"):
        plot_omega(np.ones((2, 3)))


def test_p_values_are_all_counted(shaped):
    ax = plot_p_values(shaped)
    assert sum(patch.get_height() for patch in ax.patches) == len(shaped.pairs)
    with pytest.raises(InputError, match="p-values"):
        plot_p_values(MarkovNetwork(("a", "b"), Pairs.of([0], [1])))


def test_strength_against_q_has_all_pairs(shaped):
    ax = plot_strength_q(shaped)
    assert sum(len(c.get_offsets()) for c in ax.collections) == len(shaped.pairs)


@pytest.mark.parametrize("pair", [("density", "alcohol"), ("density", "<colour>"), ("<colour>", "grade")])
def test_shapes_are_drawn_on_given_axes(shaped, pair):
    figure, ax = plt.subplots()
    found = shaped.explain(*pair)
    assert found.plot(ax) is ax
    figure.canvas.draw()
    if found.form == "surface":
        np.testing.assert_allclose(np.asarray(ax.collections[0].get_array()), found.values.T)
    elif found.form == "lines":
        curves = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 9]
        np.testing.assert_array_equal(curves, found.values.T)
    else:
        heights = [patch.get_height() for patch in ax.patches]
        np.testing.assert_allclose(heights, found.values.T.ravel())


def test_options_are_checked_and_empty_networks_drawn():
    empty = MarkovNetwork.from_adjacency("abc", np.zeros((3, 3)))
    assert len(plot_network(empty).texts) == 3
    with pytest.raises(InputError, match="color"):
        empty.plot(color="rainbow")


def test_a_network_costs_no_plotting_library():
    code = (
        "import sys; from gpmnet.network import MarkovNetwork;"
        "heavy = {'pandas', 'matplotlib', 'networkx', 'jinja2', 'torch'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_arrows_end_at_the_effect_and_co_parents_are_dotted(directed):
    ax = directed.plot(labels=False)
    ax.figure.canvas.draw()
    arrows = [p for p in ax.patches if isinstance(p, matplotlib.patches.FancyArrowPatch)]
    heads = [p for p in arrows if p.get_linewidth() == 0]
    assert len(heads) == 3
    assert len(arrows) == 6  # a shaft each
    nodes = np.concatenate(
        [c.get_offsets() for c in ax.collections if isinstance(c, matplotlib.collections.PathCollection)]
    )
    ends = {tuple(int(np.argmin(np.linalg.norm(nodes - end, axis=1))) for end in p._posA_posB) for p in heads}
    assert ends == {(0, 2), (1, 2), (2, 3)}
    # The head's tip is where the node begins: within its radius, and a point or two.
    tip = ax.transData.transform(nodes[3])
    box = next(p for p in heads if np.allclose(p._posA_posB[1], nodes[3])).get_window_extent()
    near = np.clip(tip, (box.x0, box.y0), (box.x1, box.y1))
    assert 5 < np.linalg.norm(near - tip) * 72 / ax.figure.dpi < 15
    (dotted,) = (c for c in ax.collections if isinstance(c, matplotlib.collections.LineCollection))
    assert len(dotted.get_segments()) == 1
    assert dotted.get_linestyles()[0][1] is not None
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == ["edge", "direction known", "causes of a common effect"]


def test_directed_plots_draw_open_edges_as_plain_lines():
    arrows = np.zeros((2, 2), dtype=bool)
    arrows[1, 0] = True
    graph = CPDAG.from_dag(arrows, ("x", "y"))
    pairs = Pairs.of([0], [1], strength=[0.4], sign=[-1.0])
    net = MarkovNetwork(graph.names, pairs, directions=Directions(graph, (MoralEdge(0, 1, "arc", 3.0, ()),)))
    ax = net.plot()
    assert not ax.patches
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["negative", "direction open"]
    required = CPDAG.from_dag(arrows, ("x", "y"), arrows)
    ax = MarkovNetwork(net.names, pairs, directions=Directions(required, net.directions.edges)).plot()
    (head,) = (p for p in ax.patches if p.get_linewidth() == 0)
    assert np.linalg.norm(head._posA_posB[0]) != np.linalg.norm(head._posA_posB[1])
    x, y = np.concatenate([c.get_offsets() for c in ax.collections])
    np.testing.assert_allclose(head._posA_posB, [y, x])
