import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).with_name("test_mosaic_view.py")


def test_everything_painted_and_read_is_right_on_a_screen_of_double_density():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)],
        env={**os.environ, "QT_SCALE_FACTOR": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
