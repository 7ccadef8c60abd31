"""A process that stops a run in the middle of backward and ends at once ends well."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PROCESSES = 20
AT_ONCE = 2
"""More would only wait for each other; most of their time is the import of torch."""

PROGRAM = """
import sys, threading
import torch
from torch import nn
from hookviewer.engine.cancel import Cancelled, CancelToken
from hookviewer.engine.execute import execute
from hookviewer.engine.plan import Inputs, Plan, Quantity, Tap

token, ended = CancelToken(), []

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(x)
        branches = [x * float(number) for number in range(3000)]
        branches[-1].register_hook(lambda gradient: token.cancel())
        return torch.stack(branches).sum()  # backward begins with the last; the others wait

def work():
    tap = Tap("first", Quantity.GRAD_OUTPUT)
    try:
        execute(Branches(), Plan(frozenset({tap}), Inputs(torch.ones(1, 4)), lambda y: y), token)
    except Cancelled:
        ended.append("stopped")

thread = threading.Thread(target=work)
thread.start()
thread.join()
sys.exit(0 if ended == ["stopped"] else 3)
"""


def end_at_once(_number):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_no_process_is_aborted():
    """Autograd's queue of this thread would be freed after Python has begun to shut down."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(end_at_once, range(PROCESSES)))
    assert ends == [(0, "", "")] * PROCESSES
