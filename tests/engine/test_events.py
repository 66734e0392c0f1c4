"""Events: Drain with its comparison in C says what Drain says, and what is compared is bounded by words."""

import drain3.drain
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine import events
from l4tui.engine.drain import Drain
from l4tui.engine.events import Events

WORD = st.sampled_from(["<*>", "a", "b", "loss", "step"])


@given(st.lists(st.tuples(WORD, WORD), max_size=12), st.booleans())
def test_the_likeness_of_two_texts_is_drains(pairs, include_params):
    template, text = [a for a, _ in pairs], [b for _, b in pairs]
    ours, theirs = Drain(), drain3.drain.Drain()
    expected = theirs.get_seq_distance(template, text, include_params)
    assert ours.get_seq_distance(template, text, include_params) == expected


def test_long_texts_of_other_words_are_compared_for_as_long_as_short_ones(monkeypatch):
    monkeypatch.setattr(events, "MOST_COMPARED", 5000)
    compared = []
    for words in (5, 50):
        found = Events()
        for k in range(200):
            found.of(b"first " + b" ".join(b"%c%c" % (97 + k % 26, 97 + (k // 26 + j) % 26) for j in range(words - 1)))
        compared.append(found._compared)
    assert all(5000 < count < 5000 + 200 * 50 for count in compared)


def test_the_states_of_a_bar_are_one_event() -> None:
    events = Events()
    bars = [f" 0%|{'█' * n}{' ' * (10 - n)}| 0/0 [0:0<0:0, 0.0it/s]".encode() for n in range(11)]
    assert len({events.of(bar) for bar in bars}) == 1
    assert events.templates() == ["<*>%|<*>| <*>/<*> [<*>:<*><<*>:<*>, <*>.<*>it/s]"]
