"""Compare the TensorBoard events of a capgnn run with its metrics.jsonl, read by TensorBoard's own reader.

    python check_events.py RUN
"""
import json
import sys

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def expected(run):
    """Returns {tag: [(epoch, value)]} from metrics.jsonl, without the metric's name before train, val and test."""
    curves = {}
    with open(f"{run}/metrics.jsonl") as f:
        for line in map(json.loads, f):
            for key, tag in (("loss", "loss"), ("epoch_s", "epoch_seconds"), ("train", "train"), ("val", "val"), ("test", "test")):
                value = line.get(key, None)
                if value is None and key == "loss":
                    value = float("nan")
                if value is not None:
                    curves.setdefault(tag, []).append((line["epoch"], value))
    return curves


def main(run):
    reader = EventAccumulator(run, size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    got = {tag.split("/")[-1]: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
    want, good = expected(run), True
    for tag in sorted(got.keys() | want.keys()):
        g, w = got.get(tag, []), want.get(tag, [])
        same = [s for s, _ in g] == [s for s, _ in w] and np.allclose([v for _, v in g], [v for _, v in w], rtol=1e-6, equal_nan=True)
        print(f"{tag:14} {len(g)} events, {len(w)} lines: {'equal' if same else 'DIFFERENT'}")
        good = good and same
    return good


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1]) else 1)
