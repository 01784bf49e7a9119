"""Many computations of one kind: here, in processes beside, or on the machines of a cluster."""

from gpmnet.jobs.run import Arrays, Where, run_tasks

__all__ = ["Arrays", "Where", "run_tasks"]
