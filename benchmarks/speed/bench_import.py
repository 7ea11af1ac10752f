"""Time until the library is there, in a fresh interpreter, whose own start is included here."""

import pytest


@pytest.mark.parametrize("who", ["ours", "scipy_sklearn"])
def test_import(race, who):
    race("import", "import_semproj", who, None)
