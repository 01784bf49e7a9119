import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "gpmnet", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("gpmnet")


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file of the given name; return its path."""

    def _write(name, content, encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return _write
