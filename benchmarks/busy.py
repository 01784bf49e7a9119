"""Threads on a busy machine: seconds of fits beside other processes that keep cores busy, as ratios to one thread.

    python benchmarks/busy.py [--busy 0,1,2] [--cases demo,cancer,discrete,butterfly,dag] [--repeats 3] [--src DIR]

One thread, two, the default of the library and the program take turns, each in a process of its own, while endless loops
run beside them; the median ratio of neighbors in time is printed. `--src` is the folder `src` of another
checkout. The program's seconds are those that its run.json holds, so that starting it does not count.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

CASES = ("demo", "cancer", "discrete", "butterfly", "dag")
WAYS = {"one thread": ["1"], "two": ["2"], "default": ["None"], "program": ["cli"]}


def table(case):
    """Return the data frame of a case."""
    from gpmnet.simulate import simulate

    if case == "demo":
        from gpmnet.cli.demo import demo_table

        return demo_table()[1]
    if case == "cancer":
        from sklearn.datasets import load_breast_cancer

        return load_breast_cancer(as_frame=True).frame
    if case == "discrete":
        return simulate("random", kind="discrete", d=37, n=1000, seed=0).frame()
    if case == "dag":
        return simulate("random", kind="continuous", d=15, n=4000, seed=3).frame()
    return simulate("butterfly", kind="continuous", d=1000, n=1000, seed=0).frame()


def engine(case):
    """Return the engine that is timed on a case."""
    return "dag" if case == "dag" else "local"


def measure(case, way):
    """Print the seconds of one fit, from the table in memory to the result."""
    import warnings

    warnings.simplefilter("ignore")
    if way == "cli":
        return measure_program(case)
    from gpmnet.estimator import GPM

    model = GPM(engine(case), n_jobs=None if way == "None" else int(way)).fit(table(case))
    return model.timings_["test"] + model.timings_["omega"]


def measure_program(case):
    """Return the seconds that `gpmnet fit` says its fit took."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "table.csv"), Path(folder, "out")
        table(case).to_csv(path, index=False)
        command = [sys.executable, "-m", "gpmnet", "fit", str(path), "-o", str(out), "--no-report"]
        command += ["--engine", engine(case)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = json.loads((out / "run.json").read_text())["seconds"]
    return seconds["test"] + seconds["omega"]


@contextmanager
def loops(count):
    """Keep some cores busy."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def apart(case, way, source):
    """Return the seconds of one fit in a process of its own, with the settings of a plain shell."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "MKL_"))}
    environment["PYTHONPATH"] = str(source.resolve())
    command = [sys.executable, __file__, "--measure", case, way]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=lambda text: [int(k) for k in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--cases", type=lambda text: text.split(","), default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parents[1] / "src")
    parser.add_argument("--measure", nargs=2, metavar=("CASE", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(measure(*options.measure))
        return
    print("case,busy," + ",".join(f"{way} (s)" for way in WAYS) + "," + ",".join(list(WAYS)[1:]))
    for case in options.cases:
        for busy in options.busy:
            with loops(busy):
                turns = [
                    {way: apart(case, *given, options.src) for way, given in WAYS.items()}
                    for _ in range(options.repeats)
                ]
            seconds = [statistics.median(turn[way] for turn in turns) for way in WAYS]
            ratios = [
                statistics.median(turn[way] / turn["one thread"] for turn in turns) for way in list(WAYS)[1:]
            ]
            print(f"{case},{busy}," + ",".join(f"{value:.2f}" for value in seconds + ratios), flush=True)


if __name__ == "__main__":
    main()
