import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest


class Cluster:
    """A real scheduler and real workers, each a process of its own, on the loopback."""

    def __init__(self, folder):
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.log = (folder / "dask.log").open("w")
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
        }
        self.scheduler = None
        self.workers = []

    def _start(self, module, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)

    def start_scheduler(self):
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def start_workers(self, count, *options):
        alone = ("--nthreads", "1", "--no-nanny", "--local-directory", "/tmp")
        new = [self._start("dask_worker", self.address, *alone, *options) for _ in range(count)]
        self.workers += new
        return new

    def stop_workers(self):
        for process in self.workers:
            process.kill()
            process.wait()
        self.workers = []

    def stop(self):
        self.stop_workers()
        if self.scheduler is not None:
            self.scheduler.kill()
            self.scheduler.wait()
        self.scheduler = None


@pytest.fixture
def cluster(tmp_path):
    started = Cluster(tmp_path)
    started.start_scheduler()
    yield started
    started.stop()
    started.log.close()


@pytest.fixture
def until():
    """Wait for something to become true."""

    def _until(condition, seconds=60.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not become true"
            time.sleep(0.02)

    return _until
