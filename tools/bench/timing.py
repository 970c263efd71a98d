"""Fair comparisons on a busy machine: all candidates take turns, in CPU time."""
import statistics

from d2l_ext.sequence import CLOCK


def interleaved(runs, seconds=20.0):
    """CPU seconds of each run, by name: as many rounds as ``seconds`` allow, 5 to 200.

    Every round runs each of ``runs`` once, so whatever slows a round slows all of them. The order
    changes from round to round.
    """
    names = list(runs)
    times = {name: [] for name in names}
    for run in runs.values():
        run()  # warm up
    rounds = spent = 0
    while rounds < 5 or rounds < 200 and spent < seconds:
        names = names[1:] + names[:1]
        for name in names:
            start = CLOCK()
            runs[name]()
            times[name].append(CLOCK() - start)
            spent += times[name][-1]
        rounds += 1
    return times


def ratio(times, name, other):
    """How many times as long ``name`` takes as ``other``: the median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[name], times[other]))
