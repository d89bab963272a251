"""The bounded queue between two threads."""

from __future__ import annotations

import threading
import time

from net.transport.outbox import Outbox, Outgoing


def frame(n: int, size: int = 1) -> Outgoing:
    return Outgoing(n, bytes(size), False)


def test_first_in_first_out_and_none_when_empty() -> None:
    box = Outbox(10, 1000)
    assert box.put(frame(1))
    assert box.put(frame(2))
    assert len(box) == 2
    assert [box.take(), box.take(), box.take()] == [frame(1), frame(2), None]


def test_the_newest_is_refused_and_counted_when_the_count_is_full() -> None:
    box = Outbox(2, 1000)
    assert [box.put(frame(n)) for n in range(4)] == [True, True, False, False]
    assert box.refused == 2
    assert box.take() == frame(0)
    assert box.put(frame(9))
    assert [box.take(), box.take()] == [frame(1), frame(9)]


def test_bytes_are_bounded_too_and_free_again_when_taken() -> None:
    box = Outbox(100, 10)
    assert box.put(frame(1, 6))
    assert not box.put(frame(2, 5))
    assert box.put(frame(3, 4))
    box.take()
    assert box.put(frame(4, 6))
    assert box.refused == 1


def test_discard_counts_and_frees_everything() -> None:
    box = Outbox(3, 10)
    for n in range(3):
        box.put(frame(n, 3))
    box.discard()
    assert (box.stale, len(box)) == (3, 0)
    assert box.put(frame(1, 10))


def test_two_threads_lose_and_double_nothing() -> None:
    box = Outbox(50, 10**6)
    total = 3000
    taken: list[int] = []

    def take() -> None:
        while len(taken) < total:
            outgoing = box.take()
            if outgoing is not None:
                taken.append(outgoing.epoch)
            else:
                time.sleep(0)

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    for n in range(total):
        while not box.put(frame(n)):
            time.sleep(0)
    taker.join(10)
    assert taken == list(range(total))


def test_gs06_what_is_put_while_it_holds_waits_for_its_release() -> None:
    box = Outbox(3, 1000)
    box.put(frame(1))
    box.put(frame(2))
    assert box.take() == frame(1)
    box.hold()
    box.put(frame(3))
    assert [box.take(), box.take(), box.take()] == [frame(2), None, None]
    assert [box.put(frame(n)) for n in (4, 5, 6)] == [True, True, False], "what is held counts"
    box.discard()
    assert (len(box), box.stale) == (3, 0)
    box.release()
    assert [box.take() for _ in range(4)] == [frame(3), frame(4), frame(5), None]
    box.hold()
    box.put(frame(7))
    assert box.take() is None
