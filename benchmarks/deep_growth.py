"""Seconds of training one energy on ever more variables, and how well its Omega ranks the true pairs.

    python benchmarks/deep_growth.py -o docs/results/deep_growth.csv [--d 250,500] [--device cpu] [--threads 2] [--steps 300]
    python benchmarks/deep_growth.py --plot docs/results/deep_growth.csv      # docs/results/deep_growth.png

Butterfly continuous, n = 1000, the network of one layer with the variance-reduced sliced objective, a fixed number of
steps, no penalty (Omega of all pairs would cost more than the loss). Its Hessian has rank at most the number of
units: d / 2 separate pairs need at least as many.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd


def measure(d, device, threads, steps, hidden, seed):
    """Return one row."""
    import torch

    from gpmnet.energies import MLP, Coordinates, NormalEnergy, SumEnergy
    from gpmnet.objectives import OBJECTIVES
    from gpmnet.simulate import simulate
    from gpmnet.solvers.adam import Loss, Training, train
    from gpmnet.table import load_table

    torch.set_num_threads(threads)
    drawn = simulate("butterfly", kind="continuous", d=d, n=1000, seed=seed)
    scores = load_table(drawn.values, names=drawn.names).encode(seed).scores
    h = torch.as_tensor(np.ascontiguousarray(scores, dtype=np.float32)).to(device)
    generator = torch.Generator().manual_seed(seed)
    coordinates = Coordinates(d)
    deep = MLP(hidden=hidden).build(coordinates, h, generator)
    energy = SumEnergy(NormalEnergy(coordinates).to(device), deep)
    training = Training(steps=steps, patience=steps)
    start = time.perf_counter()
    train(Loss(energy, OBJECTIVES["sliced"]), deep, h, training, generator)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    precision = average_precision(deep, h[:200], drawn.truth.tocoo())
    return {
        "d": d, "device": device, "threads": threads, "steps": steps, "units": hidden, "seed": seed,
        "train_seconds": round(seconds, 3), "rank_seconds": round(time.perf_counter() - start, 3),
        "average_precision": round(precision, 4), "by_chance": round(drawn.truth.nnz / (d * (d - 1)), 5),
    }  # fmt: skip


def average_precision(deep, h, truth):
    r"""Return the average precision of Omega's ranking, a few rows of the (d, d) matrix at a time.

    With one layer f = sum_u k_u(x) w_ui w_uj, so E f^2 = (w_i * w_j)' E[k k'] (w_i * w_j).
    """
    import torch
    from sklearn.metrics import average_precision_score

    with torch.no_grad():
        bend = deep.beta * torch.sigmoid(deep.beta * deep.project(h))
        bend = bend * (1 - torch.sigmoid(deep.beta * deep.project(h))) * deep.output
        factor = torch.linalg.cholesky(
            (bend.mT @ bend / len(h)).double() + 1e-12 * torch.eye(bend.shape[1]).to(h.device)
        ).float()
        weight = deep.weight
        d = weight.shape[1]
        upper = truth.row < truth.col
        edges = set(zip(truth.row[upper].tolist(), truth.col[upper].tolist(), strict=True))
        scores, labels = [], []
        for i in range(d - 1):
            products = weight[:, i, None] * weight[:, i + 1 :]
            scores.append((factor.mT @ products).square().sum(dim=0).cpu().numpy())
            labels.append(np.array([(i, j) in edges for j in range(i + 1, d)]))
    return average_precision_score(np.concatenate(labels), np.concatenate(scores))


def plot(path):
    """Draw seconds and accuracy against d, from the rows alone."""
    import matplotlib.pyplot as plt

    rows = pd.read_csv(path)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for device, part in rows.groupby("device"):
        part = part.sort_values("d")
        slope = np.polyfit(np.log(part["d"]), np.log(part["train_seconds"]), 1)[0]
        left.loglog(part["d"], part["train_seconds"], "o-", label=f"{device}, slope {slope:.2f}")
        right.semilogx(part["d"], part["average_precision"], "o-", label=device)
        print(f"{device}: slope {slope:.2f} over d = {part['d'].min()}..{part['d'].max()}")
    units = rows["units"].iloc[0]
    right.axvline(2 * units, color="grey", linestyle=":", label=f"as many pairs as units ({units})")
    left.set(xlabel="variables", ylabel=f"seconds of {rows['steps'].iloc[0]} steps")
    right.set(xlabel="variables", ylabel="average precision of Omega", ylim=(0, 1.05))
    left.legend(frameon=False)
    right.legend(frameon=False)
    figure.savefig(Path(path).with_suffix(".png"), dpi=120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--out")
    parser.add_argument("--plot")
    parser.add_argument("--d", default="20,50,100,250,500,1000,2000,5000")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.plot:
        plot(options.plot)
        return
    rows = []
    for d in map(int, options.d.split(",")):
        rows.append(measure(d, options.device, options.threads, options.steps, options.units, options.seed))
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
