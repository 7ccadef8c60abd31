"""``hookviewer tree`` prints the modules of a model."""

import json
import os
import subprocess
import sys


def test_a_tree_has_a_line_for_each_module(command):
    assert command("tree", "net.py:net") == (
        0,
        "Net      Net     10\n"
        "  first  Linear   4\n"
        "  last   Linear   6\n",
        "",
    )  # fmt: skip


def test_as_json_it_has_the_parameters_too(command):
    _, out, _ = command("tree", "--json", "net.py:net")
    root = json.loads(out)
    assert (root["path"], root["kind"], root["type_name"]) == ("", "module", "Net")
    first, last = root["children"]
    assert [node["path"] for node in last["children"]] == ["last.weight", "last.bias"]
    assert first["children"][0]["shape"] == [2, 2]


def test_a_model_that_is_not_there_is_one_line(command):
    assert command("tree", "net.py:nte")[:2] == (1, "")


def test_a_reader_that_has_seen_enough_is_no_error():
    unread, written = os.pipe()
    os.close(unread)
    words = [sys.executable, "-m", "hookviewer", "tree"]
    done = subprocess.run(words, stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert (done.returncode, done.stderr) == (1, "")
