"""What both threads pass each other is plain data, there before torch is."""

import subprocess
import sys

WORDS = ("absence", "cancel", "capture", "errors", "node", "plan", "run")


def test_plans_nodes_runs_captures_and_errors_need_no_torch():
    imports = "".join(f"import hookviewer.engine.{word}\n" for word in WORDS)
    program = f"import sys\n{imports}print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {module.partition(".")[0] for module in done.stdout.split()}
    assert "hookviewer" in loaded
    assert not loaded & {"torch", "numpy", "PySide6"}
