import sys
import threading

import pytest
from PySide6.QtCore import QThread

from hookviewer.gui.dispatcher import Dispatcher


class Gate:
    """A task that says when it has begun and ends when it is let through."""

    def __init__(self, answer):
        self.answer = answer
        self.begun, self.opened, self.tokens = threading.Event(), threading.Event(), []

    def __call__(self, token):
        self.tokens.append(token)
        self.begun.set()
        assert self.opened.wait(10)
        return self.answer


@pytest.fixture
def finished(qtbot, dispatcher):
    """Return a function: wait until a task that is submitted now has answered."""

    def finished():
        done = []
        dispatcher.submit("the last", lambda _: None, done.append, pytest.fail)
        qtbot.waitUntil(lambda: done == [None])

    return finished


def test_a_task_runs_in_another_thread_and_answers_in_this_one(dispatcher, finished):
    threads = []
    task = threading.get_ident
    dispatcher.submit(
        "a", lambda _: task(), lambda there: threads.extend([there, task()]), pytest.fail
    )
    finished()
    assert threads[0] != threads[1] == threading.get_ident()


def test_only_the_newest_task_of_a_key_answers(dispatcher, finished):
    answers, old = [], Gate("old")
    dispatcher.submit("a", old, answers.append, pytest.fail)
    assert old.begun.wait(10)
    dispatcher.submit("a", lambda _: "new", answers.append, pytest.fail)
    assert old.tokens[0].cancelled
    old.opened.set()
    finished()
    assert answers == ["new"]


def test_a_task_that_was_replaced_before_it_began_is_never_run(dispatcher, finished):
    first, ran = Gate(None), []
    dispatcher.submit("first", first, lambda _: None, pytest.fail)
    assert first.begun.wait(10)
    for number in range(3):
        dispatcher.submit("a", lambda _, n=number: ran.append(n), lambda _: None, pytest.fail)
    first.opened.set()
    finished()
    assert ran == [2]


def test_an_answer_that_is_already_on_its_way_is_dropped(dispatcher, finished):
    answers, sent = [], threading.Event()
    dispatcher.submit("a", lambda _: "old", answers.append, pytest.fail)
    dispatcher.submit("b", lambda _: sent.set(), lambda _: None, pytest.fail)
    assert sent.wait(10)  # one after the other: the old answer waits for this thread's loop
    dispatcher.submit("a", lambda _: "new", answers.append, pytest.fail)
    finished()
    assert answers == ["new"]


def test_different_keys_do_not_disturb_each_other(dispatcher, finished):
    answers = []
    for key in "abc":
        dispatcher.submit(key, lambda _, key=key: key, answers.append, pytest.fail)
    finished()
    assert answers == ["a", "b", "c"]


def test_what_was_cancelled_never_answers_and_the_rest_does(dispatcher, finished):
    answers, gate = [], Gate("given up")
    dispatcher.submit("a", gate, answers.append, pytest.fail)
    dispatcher.submit("b", lambda _: "wanted", answers.append, pytest.fail)
    assert gate.begun.wait(10)
    dispatcher.cancel("a")
    gate.opened.set()
    finished()
    assert answers == ["wanted"]


def test_cancelling_without_a_key_gives_up_everything(dispatcher, finished):
    for key in "abc":
        dispatcher.submit(key, lambda _: None, pytest.fail, pytest.fail)
    dispatcher.cancel()
    assert not dispatcher.busy
    finished()


def test_an_error_goes_to_otherwise(dispatcher, finished):
    errors = []
    dispatcher.submit("a", lambda _: 1 / 0, pytest.fail, errors.append)
    finished()
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_a_task_that_wants_to_end_the_process_is_an_error_like_any_other(dispatcher, finished):
    errors = []
    dispatcher.submit("a", lambda _: sys.exit(3), pytest.fail, errors.append)
    finished()
    assert [type(error) for error in errors] == [SystemExit]


def test_it_is_busy_until_the_last_answer(qtbot, dispatcher):
    told, gate = [], Gate(None)
    dispatcher.busy_changed.connect(told.append)
    dispatcher.submit("a", gate, lambda _: None, pytest.fail)
    dispatcher.submit("b", lambda _: None, lambda _: None, pytest.fail)
    assert dispatcher.busy
    gate.opened.set()
    with qtbot.waitSignal(dispatcher.busy_changed):
        pass
    assert told == [True, False]
    assert not dispatcher.busy


@pytest.mark.parametrize("task", [lambda _: None, lambda _: 1 / 0], ids=["answer", "error"])
def test_it_is_idle_again_although_the_receiver_of_an_answer_fails(qtbot, dispatcher, task):
    def fail(_):
        raise ValueError("receiver")

    told = []
    dispatcher.busy_changed.connect(told.append)
    with qtbot.captureExceptions() as caught:
        dispatcher.submit("a", task, fail, fail)
        qtbot.waitUntil(lambda: told == [True, False])
    assert [str(error) for _, error, _ in caught] == ["receiver"]


def test_thousands_of_answers_do_not_end_the_process(qtbot, dispatcher):
    """PySide6 6.12.0 loses a reference with each emit and aborts after about a thousand."""
    count = [0]

    def again(_):
        count[0] += 1
        if count[0] < 5000:
            dispatcher.submit("a", lambda _: True, again, pytest.fail)

    again(None)
    qtbot.waitUntil(lambda: count[0] == 5000, timeout=60_000)


def test_shutdown_joins_a_thread_that_is_at_work(qtbot):
    dispatcher, gate, answers = Dispatcher("busy"), Gate("late"), []
    dispatcher.submit("a", gate, answers.append, answers.append)
    assert gate.begun.wait(10)
    assert not dispatcher.shutdown(patience=1)
    gate.opened.set()
    assert dispatcher.shutdown()
    assert dispatcher.findChildren(QThread) == []
    assert gate.tokens[0].cancelled
    assert answers == []
