"""Long work lets other threads run, and Ctrl-C through."""

import multiprocessing
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import sumout


def test_other_threads_run_meanwhile():
    net = sumout.read("rect:10")
    circuit = net.compile("label", given="pixel_*", effort=0.1)
    data = np.zeros((20_000, 100), dtype=np.int32)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    circuit.posterior(data, threads=1)
    after = ticks[0]
    done.set()
    thread.join()
    assert after - before > 10  # with the lock held there would be none


WORK = {
    "posterior": "circuit.posterior(np.zeros((3_000_000, 100), dtype=np.int8), threads=1)",
    "compile": "net.compile('label', given='pixel_*', effort=500)",
    "fit": "circuit.fit(np.arange(100_000).reshape(1000, 100) % 2, np.arange(1000) % 2, epochs=100_000, patience=100_000)",
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_interrupts(work):
    program = f"""
        import os, time, numpy as np, sumout
        net = sumout.read("rect:10")
        circuit = net.compile("label", given="pixel_*", effort=0.01)
        print("ready", flush=True)
        try:
            {WORK[work]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        os._exit(0)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=120)  # the work alone would take far longer
    assert said == "interrupted\n" and child.returncode == 0


def forked(circuit, rows, queue):
    queue.put(circuit.posterior(rows))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks here")
def test_a_fork_of_a_process_that_has_threads(asia):
    circuit = asia.compile("lung", given=["xray", "dysp"])
    rows = np.zeros((100_000, 2), dtype=np.int8)
    wanted = circuit.posterior(rows)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=forked, args=(circuit, rows, queue))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), wanted)
    child.join()


def test_threads_share_a_circuit(asia):
    circuit = asia.compile("lung", given=["xray", "dysp"], trainable="*")
    rows = [{"xray": "yes"}, {"dysp": "no"}] * 200
    wanted, found = circuit.posterior(rows), {}

    def ask(k):
        found[k] = (circuit.posterior(rows), circuit.forward(circuit.likelihoods(rows))[0])

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 8
    for posterior, forward in found.values():
        np.testing.assert_array_equal(posterior, wanted)
        np.testing.assert_allclose(forward, wanted, atol=1e-12)


def test_a_panic_is_an_error_that_asks_for_a_report(asia, monkeypatch):
    """In builds with debug assertions, this variable forces one."""
    circuit = asia.compile("lung", given="xray")
    monkeypatch.setenv("SUMOUT_TEST_PANIC", "python")
    for work in [lambda: asia.query("lung"), lambda: asia.compile("lung"), lambda: circuit.posterior([{}]), lambda: circuit.posterior([{}] * 1000)]:
        with pytest.raises(sumout.Error, match="a defect in sumout .*defect.rs:") as caught:
            work()
        assert caught.value.kind == "defect"
        assert "report" in caught.value.hint
    monkeypatch.delenv("SUMOUT_TEST_PANIC")
    assert asia.query("lung")
