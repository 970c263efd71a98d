"""The bench: what it measures is there, and its check of how time grows with length."""
import pytest
import slopes
from bench import __main__ as bench


def test_the_bench_knows_its_parts():
    with pytest.raises(SystemExit, match="There is no part speed: choose from attention, memory"):
        bench.main(["speed"])


def test_the_bench_notices_a_wrong_power():
    times = {kind: [n**power for n in slopes.LENGTHS] for kind, power in slopes.EXPECTED.items()}
    assert slopes.wrong(times) == []
    slow = times | {"recurrence": [n**1.2 for n in slopes.LENGTHS]}
    assert slopes.wrong(slow) == ["recurrence"]
    assert slopes.wrong(times | {"attention products": times["convolution"]}) == [
        "attention products"]
