"""Two figures and the tables, from the JSON alone."""

import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.axes import mark_below, set_volume_axis
from experiments.datasets.pairs import QUICKDRAW
from experiments.renyi_vs_public_data.verdicts import by_k, parted
from experiments.split_intervals import geometric, mean_interval
from experiments.tables import SIZE, checks, select, verdict_table
from expunge.report.picture import COLOURS, INK, SOFT, legend_below, save, series, styled, tidy

__all__ = [
    "draw",
    "draw_factors",
    "factors",
    "report",
    "tables",
]

Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Draw SCALE.png and SCALE_factors.png, write SCALE.md, and return it."""
    scale = result.get("scale", "run")
    save(draw(result), folder / f"{scale}.png")
    save(draw_factors(result), folder / f"{scale}_factors.png")
    text = "\n\n".join(
        [header(result), verdict_table(result), tables(result), factors(result), checks(result)]
    )
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def header(result: Row) -> str:
    settings, chain = result["settings"], result["settings"]["chain"]
    read = [*result["rows"], *result["checks"]]
    sampling = sum(row.get("sampling_seconds", 0) for row in read)
    lines = [
        f"Scale `{result.get('scale', 'run')}` on {result['device']}, "
        f"{sum(result['seconds'].values()):.0f} s, {sampling:.0f} s of them for sampling models. "
        f"Base setting: random forget set, zero init, "
        f"features of norm 10, full batch, T = {chain['learn_steps']}, eta = "
        f"{chain['step_size']:g}, sigma = {chain['sigma']:g}, R = {chain['radius']:g}; "
        f"{settings['splits']} splits, intervals at 95 % over splits. {SIZE}"
    ]
    for pair, retained in settings["pairs"]:
        public, private, _ = result["available"][pair]
        most = max(row["public"] for row in result["rows"] if row["pair"] == pair)
        again = f", repeated up to {most / public:.1f} times" if most > public else ", none twice"
        stands = f"; stands for {QUICKDRAW}" if pair == "sketch/cartoon" else ""
        lines.append(
            f"{pair}: {retained:,} private rows retained (of {private:,}), public rows out of "
            f"{public:,}{again}{stands}."
        )
    return "\n".join(lines)


def tables(result: Row) -> str:
    """Every point of the base setting: mean over splits (standard error), certified bound."""
    ks = result["settings"]["unlearn_steps"]
    heads = " | ".join(f"K = {k}" for k in ks)
    lines = [
        f"| pair | design | public | forgotten | {heads} | certified, K = {ks[-1]} "
        "| fall with K: in all = means x noise |",
        "|---|---|---:|---:|" + "---:|" * (len(ks) + 2),
    ]
    paper = {
        (pair, point) for pair, _ in result["settings"]["pairs"] for point in _three(result, pair)
    }
    seen = dict.fromkeys(
        (row["pair"], row["design"], row["public"], row["forget"])
        for row in result["rows"]
        if row["variant"] == "base"
    )
    for pair, design, public, forget in seen:
        rows = select(result["rows"], pair=pair, design=design, public=public, forget=forget)
        rows = select(rows, variant="base")
        cells = " | ".join(_told(row["values"]) for row in rows)
        fall = by_k(rows)
        name = design
        if design == "grid":
            name = "the paper's" if (pair, (public, forget)) in paper else "its counts, crossed"
        lines.append(
            f"| {pair} | {name} | {public:,} | {forget:,} | {cells} | {rows[-1]['certified']:.3g} "
            f"| {fall['in all'].value:.3f} = {fall['means'].value:.3f} x "
            f"{fall['noise'].value:.3f} |"
        )
    return "\n".join(lines)


def factors(result: Row) -> str:
    """One factor at a time, at the last K."""
    k = result["settings"]["unlearn_steps"][-1]
    lines = [
        f"| one factor changed | public | forgotten | D_2 at K = {k} | certified | method |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in select(result["rows"], design="factor", unlearn_steps=k):
        bound = "not covered (E35)" if row["certified"] is None else f"{row['certified']:.3g}"
        method = row["method"] + (f", {row['models']:,} models" if "models" in row else "")
        lines.append(
            f"| {row['variant']} | {row['public']:,} | {row['forget']:,} | {_told(row['values'])} "
            f"| {bound} | {method} |"
        )
    return "\n".join(lines)


@styled
def draw(result: Row) -> Figure:
    pairs = [pair for pair, _ in result["settings"]["pairs"]]
    figure = Figure(figsize=(12, 3.6 * len(pairs) + 0.8), layout="constrained")
    grid = figure.subplots(len(pairs), 3, squeeze=False)
    for first in grid:  # equal scales wherever panels are compared
        first[1].sharey(first[0])
        first[0].sharey(grid[0][0])
        first[2].sharex(grid[0][2])
    for pair, (left, middle, right) in zip(pairs, grid, strict=True):
        _paper(left, result, pair)
        _series(middle, result, pair)
        _parts(right, result, pair)
        for axes in (left, middle):
            axes.set_yscale("log")
            axes.set_ylabel("$D_2(\\pi_R^{T+K} \\,\\|\\, \\pi_U^K)$")
            tidy(axes)
        tidy(right, "x")
    _widen(grid[0][2])
    splits = result["settings"]["splits"]
    note = f"rows of norm 10; means of {splits} splits and 95 % intervals over them"
    legend_below(figure, 4, note)
    return figure


def _paper(axes: Axes, result: Row, pair: str) -> None:
    three = _three(result, pair)
    places = range(len(three))
    for number, k in enumerate(result["settings"]["unlearn_steps"]):
        rows = [_at(result, pair, "grid", point, k) for point in three]
        _line(axes, places, rows, number, f"K = {k}")
        read = [
            (place, row["discriminator"]["held_out"])
            for place, point in zip(places, three, strict=True)
            for row in select(result["checks"], pair=pair, unlearn_steps=k)
            if (row["public"], row["forget"]) == point and row["discriminator"]
        ]
        above = [(place, value) for place, value in read if value > 0]
        colour = series(number)["color"]
        if above:
            told = "discriminator (colour: K)" if number == 0 else None
            axes.plot(*zip(*above, strict=True), "x", color=colour, ms=6, label=told)
        mark_below(axes, [place for place, _ in read], [value for _, value in read], INK)
    for k, style in _ends(result):
        bounds = [_at(result, pair, "grid", point, k)["certified"] for point in three]
        axes.plot(places, bounds, style, color=SOFT, lw=1.4, label=f"certified, K = {k}")
    axes.set_xticks(
        list(places), [f"{public:,} public\n{forget:,} forgotten" for public, forget in three]
    )
    axes.set_xlim(-0.2, len(three) - 0.8)
    axes.set_title(f"{pair}: the paper's points (total fixed)")


def _series(axes: Axes, result: Row, pair: str) -> None:
    rows = select(result["rows"], pair=pair, design="series")
    points = list(dict.fromkeys((row["public"], row["forget"]) for row in rows))
    volumes = [public / rows[0]["retained"] for public, _ in points]
    for number, k in enumerate(result["settings"]["unlearn_steps"]):
        _line(axes, volumes, [_at(result, pair, "series", p, k) for p in points], number, None)
    for k, style in _ends(result):
        bounds = [_at(result, pair, "series", point, k)["certified"] for point in points]
        axes.plot(volumes, bounds, style, color=SOFT, lw=1.4)
    set_volume_axis(axes, volumes)
    axes.set_title(f"{pair}: {points[0][1]:,} forgotten throughout")


def _parts(axes: Axes, result: Row, pair: str) -> None:
    """Falls in logs, base 2: halvings."""
    first, *_, k = result["settings"]["unlearn_steps"]
    found = parted(result, pair, k)
    fall = by_k(_base(result, pair, _three(result, pair)[1]))
    series = select(result["rows"], pair=pair, design="series", unlearn_steps=k)
    none, last, most = series[0]["values"], series[-1]["values"], _volume(series[-1])
    alone = mean_interval([math.log2(a / b) for a, b in zip(last, none, strict=True)])
    blue = COLOURS["blue"]
    bars = [
        ("paper's points, first to last", _halvings(found["in all"]), SOFT),
        ("of it: fewer forgotten", _halvings(found["forget"]), COLOURS["vermilion"]),
        ("of it: more public", _halvings(found["public"]), blue),
        (f"public alone, 0 to {most:g} times", (alone.value, alone.low, alone.high), blue),
        (f"K = {first} to {k}", _halvings(fall["in all"]), SOFT),
        ("of it: dilution by noise", _halvings(fall["noise"]), COLOURS["orange"]),
        ("of it: contraction of means", _halvings(fall["means"]), COLOURS["green"]),
    ]  # fmt: skip
    for place, (_, (value, low, high), colour) in enumerate(bars):
        reach = [[value - low], [high - value]] if math.isfinite(high - low) else None
        axes.barh(place, value, color=colour, height=0.62)
        if reach:
            axes.errorbar(value, place, xerr=reach, color=INK, lw=1)
        axes.annotate(
            f"x {2**value:.3g}",
            (max(high if reach else value, 0), place),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.axvline(0, color=INK, lw=0.8)
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.invert_yaxis()
    axes.set_xlabel("change of $\\log_2 D_2$ (one to the left: halved)")
    axes.set_title(f"{pair}: where a fall comes from, K = {k}", loc="right")


@styled
def draw_factors(result: Row) -> Figure:
    """D_2 at the paper's points and along the series, one factor at a time."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    k, pair = result["settings"]["unlearn_steps"][-1], result["settings"]["pairs"][0][0]
    three = _three(result, pair)
    series = select(result["rows"], pair=pair, design="series", unlearn_steps=k)
    seen = {row["variant"] for row in result["rows"]}
    names = ["base", *result["settings"]["factors"]]
    for number, name in enumerate(names):
        if name not in seen:
            continue
        rows = select(result["rows"], pair=pair, variant=name, unlearn_steps=k)
        ordered = [next(r for r in rows if (r["public"], r["forget"]) == p) for p in three]
        _line(left, range(len(three)), ordered, number, name)
        alone = [
            r for r in rows if r["forget"] == three[1][1] and (r["public"], r["forget"]) != three[1]
        ]
        alone = series if name == "base" else alone
        _line(right, [_volume(r) for r in alone], alone, number, None)
    left.set_xticks(range(len(three)), [f"{p:,} public\n{f:,} forgotten" for p, f in three])
    set_volume_axis(right, [_volume(row) for row in series])
    left.set_title(f"{pair}, K = {k}: the paper's points")
    right.set_title(f"{three[1][1]:,} forgotten throughout")
    for axes in (left, right):
        axes.set_yscale("log")
        axes.set_ylabel("$D_2$")
        tidy(axes)
    left.set_xlim(-0.4, len(three) - 0.6)
    splits = result["settings"]["splits"]
    note = (
        f"rows of norm 10 but for those named; means of at most {splits} splits; dotted: "
        "estimated\nfrom models; an interval that reaches 0 ends at a fiftieth of its mean"
    )
    legend_below(figure, 4, note)
    return figure


def _widen(axes: Axes) -> None:
    """Leave room for the factors that stand beside the bars."""
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.25 * (high - low))


def _volume(row: Row) -> float:
    return row["public"] / row["retained"]


def _line(axes: Axes, x: Any, rows: list[Row], place: int, label: str | None) -> None:
    """Means over splits with intervals; what is not above 0 is below the axis."""
    found = [geometric(row["values"]) for row in rows]
    values = [one.value for one in found]
    below = [min(one.value - max(one.low, 0.02 * abs(one.value)), abs(one.value)) for one in found]
    above = [min(one.high, 1e9) - one.value for one in found]
    style: dict[str, Any] = series(place) | {"ls": ":" if "errors" in rows[0] else "-"}
    axes.errorbar(
        list(x), values, [[max(b, 0) for b in below], above], ms=4, elinewidth=0.8,
        label=label, **style,
    )  # fmt: skip
    mark_below(axes, list(x), values, style["color"])


def _three(result: Row, pair: str) -> list[tuple[int, int]]:
    """The paper's points: the diagonal of its counts."""
    rows = select(result["rows"], pair=pair, design="grid")
    publics = sorted({row["public"] for row in rows})
    forgets = sorted({row["forget"] for row in rows}, reverse=True)
    return list(zip(publics, forgets, strict=True))


def _base(result: Row, pair: str, point: tuple[int, int]) -> list[Row]:
    return select(
        result["rows"], pair=pair, design="grid", public=point[0], forget=point[1], variant="base"
    )


def _at(result: Row, pair: str, design: str, point: tuple[int, int], k: int) -> Row:
    public, forget = point
    (found,) = select(
        result["rows"], pair=pair, design=design, public=public, forget=forget, unlearn_steps=k
    )
    return found


def _ends(result: Row) -> list[tuple[int, str]]:
    ks = result["settings"]["unlearn_steps"]
    return [(ks[0], "--"), (ks[-1], ":")]


def _halvings(factor: Any) -> tuple[float, float, float]:
    return tuple(  # type: ignore[return-value]
        math.log2(x) if 0 < x < math.inf else math.copysign(math.inf, x - 1)
        for x in (factor.value, factor.low, factor.high)
    )


def _told(values: list[float]) -> str:
    return str(geometric(values))
