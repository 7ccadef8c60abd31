"""Run all benchmarks, one after the other, each in its own process: ``see the README."""

import subprocess
import sys
from pathlib import Path

PARTS = ("start", "window", "mosaic", "recording")


def main() -> None:
    for part in PARTS:
        print(f"\n{part}", flush=True)
        subprocess.run([sys.executable, str(Path(__file__).with_name(f"{part}.py"))], check=True)


if __name__ == "__main__":
    main()
