"""The printed report of the benchmarks, and the page of plots."""

import math
import platform
from html import escape
from pathlib import Path

TITLES = {
    "a": "(a) the paper's models: an example forward, one thread, f32; how many times faster than the paper's plan in PyTorch",
    "b": "(b) networks: all marginals, reading and compiling included; ours is the whole process",
    "c": "(c) a step of training (forward and backward), batch 64, one thread, f32",
    "d": "(d) the share of the machine's peaks, batch 1024, one thread, f32",
    "e": "(e) sumout eval on rows of rect:10 in files, whole process, beside sumout bench on rows in memory; all processors, f32",
}


def machine():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.processor()


def duration(seconds):
    for unit, factor in [("s", 1), ("ms", 1e3), ("µs", 1e6)]:
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def title(part):
    print(f"\n{TITLES[part]}", flush=True)


def say(clock, text):
    """A line, behind the minutes and seconds since the start."""
    print(f"{clock:>5}  {text}", flush=True)


def say_a(clock, row):
    torch = row["torch"]
    base = torch.get("seconds")
    used = "" if torch.get("batch") in (None, row["batch"]) else f" (at batch {torch['batch']})"
    text = f"{row['model']:10} batch {row['batch']:4}  PyTorch {duration(base) if base else torch['failed']}{used}"
    for level, seconds in row.items():
        if isinstance(seconds, float):
            text += f"  {level} {duration(seconds)}" + (f" ({base / seconds:,.3g}x)" if base else "")
    say(clock, text)


def say_b(clock, row):
    for task in [task for task in ("posterior", "evidence", "marginals") if task in row]:
        mine = row["ours"]["posterior" if task == "evidence" else task]  # a posterior comes with P(e)
        text = f"{row['network']:12} {task:9} ours {shown(mine)}"
        for peer, found in row[task].items():
            times = lambda kind: f"{found[kind] / mine[kind]:.3g}x"
            ratio = f" ({times('total')}, processor {times('processor')})" if "total" in found and "total" in mine else ""
            search = f", {duration(found['search'])} of it search" if found.get("search", 0) > 0.001 else ""
            text += f"  {peer} {shown(found)}{search}{ratio}"
        say(clock, text)
    again = row["repeated"]
    text = "             again " + "  ".join(f"{k} {duration(v) if isinstance(v, float) else v}" for k, v in again.items())
    if all(isinstance(v, float) for v in again.values()):
        text += "  " + " ".join(f"({again['pyagrum'] / v:.3g}x)" for k, v in again.items() if k != "pyagrum")
    say(clock, text)


def shown(found):
    return found.get("failed") or f"{duration(found['total'])} (processor {duration(found['processor'])}) {found['memory'] / 2**20:.0f} MiB"


def say_d(clock, row):
    share = lambda kind: f"{row[kind] / 1e9:.1f} of {row['peak_' + kind] / 1e9:.1f} ({100 * row[kind] / row['peak_' + kind]:.0f} %)"
    say(clock, f"{row['model']:10} {row['level']:10} GFLOP/s {share('flops'):24} GB/s {share('bytes_per_second')}")


def say_e(clock, row):
    text = f"{row['file']:8} {row['rows']:,} rows on {row['threads']} threads  {row['rate']:,.0f} rows a second, {row['peak'] / 2**20:.0f} MiB"
    shares = [f"{base:,.0f} in batches of {batch} ({100 * row['rate'] / base:.0f} %)" for batch, base in row["in memory"].items()]
    say(clock, f"{text}  in memory {', '.join(shares)}")


SAY = {"a": say_a, "b": say_b, "c": say_a, "d": say_d, "e": say_e}

COLOURS = ["#444444", "#4477aa", "#228833", "#ccbb44", "#ee6677", "#aa3377"]


def page(results):
    parts = [f"<h1>sumout: benchmarks</h1><p>{escape(results['machine'])}; one thread unless said; medians.</p>"]
    for batch in sorted({row["batch"] for row in results.get("a", [])}):
        for family in ["rect", "digits"]:
            rows = [r for r in results["a"] if r["batch"] == batch and r["model"].startswith(family)]
            if rows:
                parts.append(lines(f"{family}:n, batch {batch}: seconds for an example", rows))
    if results.get("b"):
        parts.append(bars("Networks: seconds for all marginals, with reading and compiling", network_bars(results["b"])))
        parts.append(bars("Networks: seconds for all marginals again, new evidence values", again_bars(results["b"])))
    if results.get("c"):
        named = lambda r: {"PyTorch": r["torch"].get("seconds"), **{k: v for k, v in r.items() if isinstance(v, float)}}
        parts.append(bars("Training: seconds for a step of one example, batch 64", [(r["model"], named(r)) for r in results["c"]]))
    style = "body{font:15px sans-serif;max-width:60em;margin:2em auto;color:#222} svg{display:block;margin:1.5em 0}"
    return f"<!doctype html><meta charset=utf-8><title>sumout: benchmarks</title><style>{style}</style>{''.join(parts)}\n"


def network_bars(rows):
    times = lambda r: {"sumout": r["ours"]["marginals"].get("total"), **{p: f.get("total") for p, f in r["marginals"].items()}}
    return [(r["network"], times(r)) for r in rows]


def again_bars(rows):
    number = lambda r: {k: v if isinstance(v, float) else None for k, v in r["repeated"].items()}
    return [(r["network"], number(r)) for r in rows]


def scale(values, low, high):
    """A logarithmic scale over whole powers of ten, and those powers."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    last = max(last, first + 1)
    place = lambda x: low + (high - low) * (math.log10(x) - first) / (last - first)
    return place, [10.0**k for k in range(first, last + 1)]


def text(x, y, words, anchor="start", colour="#222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" fill="{colour}">{escape(str(words))}</text>'


def lines(name, rows):
    size = lambda row: int(row["model"].split(":")[1])
    series = {"PyTorch, paper's plan": [(size(r), r["torch"].get("seconds")) for r in rows]}
    for level in ["paper", "functional", "tables", "support"]:
        series[level] = [(size(r), r.get(level)) for r in rows]
    series = {k: [(x, y) for x, y in points if y] for k, points in series.items()}
    ys, xs = [y for points in series.values() for _, y in points], [size(r) for r in rows]
    place, ticks = scale(ys, 300, 40)
    across = lambda n: 70 + 420 * (n - min(xs)) / max(1, max(xs) - min(xs))
    drawn = [text(10, 20, name)]
    for tick in ticks:
        drawn.append(f'<line x1="70" x2="490" y1="{place(tick):.1f}" y2="{place(tick):.1f}" stroke="#ddd"/>')
        drawn.append(text(62, place(tick) + 4, duration(tick), "end", "#666"))
    drawn += [text(across(n), 320, n, "middle", "#666") for n in xs]
    ends = []
    for colour, (label, points) in zip(COLOURS, series.items()):
        if points:
            path = " ".join(f"{across(x):.1f},{place(y):.1f}" for x, y in points)
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            drawn += [f'<circle cx="{across(x):.1f}" cy="{place(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
            ends.append([place(points[-1][1]) + 4, label, colour])
    ends.sort()
    for above, below in zip(ends, ends[1:]):
        below[0] = max(below[0], above[0] + 15)
    drawn += [text(500, y, label, "start", colour) for y, label, colour in ends]
    return f'<svg viewBox="0 0 680 330" width="680" height="330" role="img">{"".join(drawn)}</svg>'


def bars(name, groups):
    labels = list(dict.fromkeys(label for _, values in groups for label in values))
    values = [v for _, named in groups for v in named.values() if v]
    if not values:
        return ""
    place, ticks = scale(values, 120, 560)
    drawn, y = [text(10, 20, name)], 60
    drawn += [text(120 + 130 * k, 40, label, "start", COLOURS[k % 6]) for k, label in enumerate(labels)]
    top = y
    for group, named in groups:
        drawn.append(text(112, y + 6 * len(labels) + 4, group, "end"))
        for k, label in enumerate(labels):
            value, at = named.get(label), y + 12 * k
            if value:
                drawn.append(f'<rect x="120" y="{at}" width="{max(1, place(value) - 120):.1f}" height="10" fill="{COLOURS[k % 6]}"/>')
                drawn.append(text(place(value) + 4, at + 9, duration(value), "start", "#666"))
            elif label in named:
                drawn.append(text(121, at + 9, "failed", "start", "#999"))
        y += 12 * len(labels) + 10
    grid = [f'<line x1="{place(t):.1f}" x2="{place(t):.1f}" y1="{top}" y2="{y}" stroke="#ddd"/>' for t in ticks]
    return f'<svg viewBox="0 0 760 {y + 10}" width="760" height="{y + 10}" role="img">{"".join(grid + drawn)}</svg>'
