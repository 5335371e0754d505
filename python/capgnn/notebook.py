"""What notebooks show: a run as a table with curves, and a line while a run trains."""
from __future__ import annotations

import html
import math
import sys
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

# EVERY is the least time between two changes of the line, in seconds.
EVERY = 0.2

COLOURS = ("#0072b3", "#d98d00", "#009e73")
WIDTH, HEIGHT, LEFT, BELOW = 360, 180, 48, 22


def follow(epochs: Iterable[Mapping[str, Any]], planned: Any = None) -> None:
    """In a notebook, goes through epochs and shows the newest in a line that changes; elsewhere it does nothing.

    planned: a function that returns how many epochs were asked for, once the run has begun
    """
    ipython = sys.modules.get("IPython")
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return
    from IPython.display import HTML, display

    handle, last = display(HTML(""), display_id=True), -EVERY
    epoch: Optional[Mapping[str, Any]] = None
    for epoch in epochs:
        if time.monotonic() - last >= EVERY:
            handle.update(HTML(html.escape(line(epoch, planned))))
            last = time.monotonic()
    if epoch is not None:
        handle.update(HTML(html.escape(line(epoch, planned))))


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def line(epoch: Mapping[str, Any], planned: Any = None) -> str:
    """Returns what is said of an epoch of metrics.jsonl."""
    words = [f"epoch {epoch['epoch'] + 1}" + (f" of {planned()}" if planned else "")]
    for key, name in (("loss", "loss"), ("val", "validation")):
        if isinstance(epoch.get(key), (int, float)):
            words.append(f"{name} {epoch[key]:.4f}")
    return ", ".join(words + [f"{_time(epoch['epoch_s'])} an epoch"])


def page(result: Optional[Mapping[str, Any]], metrics: Mapping[str, Sequence[Any]], path: str) -> str:
    """Returns a run as HTML: what result.json says of it, None if it is not finished, and the curves of `Run.metrics`."""
    rows = [("run", path)]
    if result is None:
        rows.append(("", "not finished: train(resume=run) continues it"))
    else:
        rows += [("data set, model", f"{result['dataset']}, {result['model']}"), ("devices", " ".join(result["devices"])),
                 ("epochs", f"{result['epochs']}" + ("" if result["best_epoch"] is None else f", best {result['best_epoch']}"))]
        rows += [(f"{result['metric']}, {name}", f"{result[key]:.4f}") for key, name in (("val", "validation"), ("test", "test")) if result[key] is not None]
        if result["epoch_s"]["median"] is not None:
            rows.append(("median epoch", _time(result["epoch_s"]["median"])))
    table = "".join(f"<tr><th style='text-align:left'>{html.escape(k)}</th><td style='text-align:left'>{html.escape(v)}</td></tr>" for k, v in rows)
    charts = [chart("loss", {"training": _points(metrics, "loss"), "validation": _points(metrics, "val_loss")}),
              chart("score", {name: _points(metrics, key) for name, key in (("training", "train"), ("validation", "val"), ("test", "test"))})]
    return f"<table>{table}</table>" + "".join(charts)


def _points(metrics: Mapping[str, Sequence[Any]], key: str) -> List[Tuple[float, float]]:
    if key not in metrics:
        return []
    return [(float(x), float(y)) for x, y in zip(metrics["epoch"], metrics[key]) if isinstance(y, float) and math.isfinite(y)]


def chart(title: str, curves: Dict[str, List[Tuple[float, float]]]) -> str:
    """Returns curves over epochs as SVG; nothing if none has a point."""
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return ""
    xs, ys = zip(*(p for points in curves.values() for p in points))
    low, high, last = min(ys), max(ys), max(max(xs), 1)
    if high == low:
        low, high = low - abs(low) / 10 - 1e-9, high + abs(high) / 10 + 1e-9

    def place(x: float, y: float) -> str:
        return f"{LEFT + x / last * (WIDTH - LEFT - 10):.1f},{24 + (high - y) / (high - low) * (HEIGHT - 24 - BELOW):.1f}"

    out = [f"<svg width='{WIDTH}' height='{HEIGHT}' style='background:#f6f8fa;margin:4px' font-family='sans-serif' font-size='11' fill='#5b6675'>"]
    for y, text in ((high, 24), (low, HEIGHT - BELOW)):
        out.append(f"<path d='M{LEFT} {text}H{WIDTH - 10}' stroke='#d9dee5'/><text x='{LEFT - 4}' y='{text + 4}' text-anchor='end'>{y:.3g}</text>")
    out.append(f"<text x='{LEFT}' y='{HEIGHT - 6}'>0</text><text x='{WIDTH - 10}' y='{HEIGHT - 6}' text-anchor='end'>epoch {last:g}</text>")
    at = LEFT
    out.append(f"<text x='4' y='14' fill='#1c2430'>{title}</text>")
    for colour, (name, points) in zip(COLOURS, curves.items()):
        out.append(f"<polyline points='{' '.join(place(x, y) for x, y in points + points[-1:])}' fill='none' stroke='{colour}' stroke-width='1.8' stroke-linecap='round'/>"
                   f"<text x='{at}' y='14' fill='{colour}'>{name} {points[-1][1]:.4g}</text>")
        at += 102
    return "".join(out) + "</svg>"
