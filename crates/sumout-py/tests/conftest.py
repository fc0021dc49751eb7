import pytest
import sumout


@pytest.fixture(scope="session")
def asia():
    return sumout.read("asia")
