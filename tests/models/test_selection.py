import numpy as np
import torch

from degreespar.models.selection import routed, routing, significance


def test_significance_by_hand() -> None:
    variance = torch.tensor([[9.0, 1.0, 3.0, 2.0]])  # [CLS], then a mean of 2
    attention = torch.tensor([[0.6, 0.1, 0.1, 0.2]])
    mean = 0.4 / 3
    expected = [0.25 * v / 2 + 0.75 * a / mean for v, a in ((1, 0.1), (3, 0.1), (2, 0.2))]
    torch.testing.assert_close(significance(variance, attention, 0.25)[0], torch.tensor(expected))


def test_attention_to_nobody_else_divides_nothing() -> None:
    scores = significance(torch.ones(1, 4), torch.tensor([[1.0, 0.0, 0.0, 0.0]]), 0.5)
    torch.testing.assert_close(scores, torch.full((1, 3), 0.5))


def test_tokens_keep_their_order_inside_a_range() -> None:
    scores = torch.tensor([[5.0, 1.0, 7.0, 6.0, 2.0, 0.0]])
    # Ranks: 2, 3, 0 are the first three, then 4, 1; token 5 is dropped. Positions count [CLS].
    assert routing(scores, (3, 2)).tolist() == [[0, 1, 3, 4, 2, 5]]


def test_among_equals_the_lower_position_wins() -> None:
    assert routing(torch.zeros(1, 5), (1, 2)).tolist() == [[0, 1, 2, 3]]
    assert routing(torch.tensor([[1.0, 2.0, 1.0, 2.0]]), (1, 2)).tolist() == [[0, 2, 1, 4]]


def test_routing_is_the_plain_sort() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        tokens = int(rng.integers(2, 20))
        ranges = tuple(int(n) for n in rng.integers(1, 4, 5))
        while sum(ranges) > tokens:
            ranges = ranges[:-1]
        ranges = ranges or (1,)
        scores = rng.integers(0, 6, tokens).astype(np.float32)
        ranked = sorted(range(tokens), key=lambda i: (-scores[i], i))
        expected, start = [0], 0
        for size in ranges:
            expected += [i + 1 for i in sorted(ranked[start : start + size])]
            start += size
        assert routing(torch.from_numpy(scores)[None], ranges).tolist() == [expected]


def test_rows_go_where_they_are_sent() -> None:
    x = torch.arange(24.0).view(2, 4, 3)
    sources = torch.tensor([[0, 3], [0, 1]])
    assert torch.equal(routed(x, sources), torch.stack([x[0, [0, 3]], x[1, [0, 1]]]))
    assert torch.equal(routed(x[:, :, 0], sources), torch.stack([x[0, [0, 3], 0], x[1, [0, 1], 0]]))
