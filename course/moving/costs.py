"""The calculator: what a training costs on many GPUs, for a model, a network and a speed of the GPUs.

Python computes every number, for all positions of the sliders. The script in the page looks them up and draws them, so
there is no second formula that could differ from course.scaling.
"""

import html
import json
from pathlib import Path

from IPython.display import HTML

from course.moving.drawing import WIDTH, path, text
from course.moving.flipbook import STYLE, colours, slider
from course.scaling.models import MODELS
from course.scaling.prediction import BATCH, GPUS_PER_HOST, Prediction
from course.scaling.training import energy_kwh, price

SCRIPT = Path(__file__).with_name("costs.js").read_text(encoding="utf-8")
OWN_STYLE = Path(__file__).with_name("costs.css").read_text(encoding="utf-8")

GBITS = (1, 10, 25, 100, 200, 400)
SPEEDS = (1, 4, 16)  # of a GPU, in P100s
GPUS = tuple(2**power for power in range(11))
START = {"model": "ResNet-50", "network": "25 Gbit/s", "GPU speed": "1 P100", "GPUs": "64"}

LEFT, TOP, ACROSS, SIDE = 40, 112, 306, 130  # the plot: its left and upper edge, its width and its height
RESULTS = ("step", "efficiency", "images per second", "time to train", "price", "energy")


def calculator(per_gpu_hour: float = 2.0, watts: float = 400.0) -> HTML:
    """Return a figure with four sliders: the model, the network, the speed of a GPU, and how many there are.

    Args:
        per_gpu_hour: price of a GPU for an hour, in dollars.
        watts: of a GPU, with its share of the host.
    """
    names = {
        "model": [model.title for model in MODELS.values()],
        "network": [f"{rate} Gbit/s" for rate in GBITS],
        "GPU speed": [f"{speed} P100{'s' * (speed > 1)}" for speed in SPEEDS],
        "GPUs": [str(number) for number in GPUS],
    }
    rows = [[[_row(model, rate, speed, per_gpu_hour, watts) for speed in SPEEDS] for rate in GBITS] for model in MODELS]
    places = {name: values.index(START[name]) for name, values in names.items()}
    row = rows[places["model"]][places["network"]][places["GPU speed"]]
    sliders = "".join(slider(name, values, START[name]) for name, values in names.items())
    data = json.dumps({"values": list(names.values()), "rows": rows}, ensure_ascii=False, separators=(",", ":"))
    cell = row[1][places["GPUs"]]
    caption = f"{START['GPUs']} GPUs train {START['model']} in {cell[6]}, for {cell[7]}."
    note = (
        f"Assumed: {BATCH} images per GPU and step; {GPUS_PER_HOST} GPUs per host, which communicate in no time; RDMA; "
        f"the model's usual epochs of ImageNet; ${per_gpu_hour:g} per GPU and hour; {watts:g} W per GPU."
    )
    return HTML(
        f'<div class="moving" role="group" aria-label="Calculator">'
        f"<style>{colours()}{STYLE}{OWN_STYLE}</style>"
        f'<div class="moving-controls moving-pairs" hidden>{sliders}</div>'
        f'<p class="moving-caption moving-line" aria-live="polite">{caption}</p>'
        f"{_results(cell)}{_picture(row[0], cell, places['GPUs'])}"
        f'<p class="moving-note">{note}</p>'
        f'<script type="application/json">{data}</script><script>{SCRIPT}</script></div>'
    )


def _row(model: str, gbits: int, speed: int, per_gpu_hour: float, watts: float) -> tuple[str, list[list[str]]]:
    """Return the curve of the efficiency over the number of GPUs, and for each number what the page shows."""
    rate = speed * MODELS[model].images_per_second
    shown = [Prediction(model, gpus, gbits * 1e9, images_per_second=rate) for gpus in GPUS]
    points = " ".join(f"{_across(place):g},{_up(each.efficiency):g}" for place, each in enumerate(shown))
    cells = [_cell(each, gpus, per_gpu_hour, watts) for gpus, each in zip(GPUS, shown, strict=True)]
    return points, cells


def _cell(shown: Prediction, gpus: int, per_gpu_hour: float, watts: float) -> list[str]:
    """Return the width of the bar's first part, the words below both parts, and the results."""
    cost = price(gpus, shown.hours, per_gpu_hour)
    energy = energy_kwh(gpus, shown.hours, watts)
    return [
        f"{shown.efficiency * WIDTH:.1f}",
        f"computes {_milliseconds(shown.compute)}",
        f"waits {_milliseconds(shown.exposed)}",
        _milliseconds(shown.step),
        f"{shown.efficiency:.0%}",
        f"{shown.rate:,.0f}",
        _duration(shown.hours),
        f"${cost:,.0f}",
        f"{energy:,.0f} kWh",
    ]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _duration(hours: float) -> str:
    return f"{hours:,.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes"


def _across(place: int) -> float:
    return round(LEFT + ACROSS * place / (len(GPUS) - 1), 1)


def _up(efficiency: float) -> float:
    return round(TOP + SIDE * (1 - efficiency), 1)


def _results(cell: list[str]) -> str:
    pairs = zip(RESULTS, cell[3:], strict=True)
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs) + "</dl>"


def _picture(points: str, cell: list[str], place: int) -> str:
    """Return a bar that shows what a step consists of, and a plot of the efficiency over the number of GPUs."""
    width, computes, waits, *_ = cell
    x, y = points.split()[place].split(",")
    label = f"Efficiency over the number of GPUs. A step: {computes}, {waits}."
    return (
        f'<svg viewBox="0 0 {WIDTH} {TOP + SIDE + 36}" role="img" aria-label="{html.escape(label)}">'
        + text(0, 14, "one step of a GPU", "start bold")
        + f"<rect x='0' y='22' width='{width}' height='24' class='m-full m-r0'/>"
        + f"<rect x='{width}' y='22' width='{WIDTH - float(width):.1f}' height='24' class='m-again m-r1'/>"
        + f"<text x='0' y='64' class='m-start'>{computes}</text><text x='{WIDTH}' y='64' class='m-end'>{waits}</text>"
        + _axes()
        + f"<polyline points='{points}' class='m-curve'/><circle cx='{x}' cy='{y}' r='6' class='m-dot'/></svg>"
    )


def _axes() -> str:
    lines, words = [], [text(0, TOP - 16, "efficiency", "start bold"), text(LEFT + ACROSS / 2, TOP + SIDE + 33, "GPUs")]
    for percent in (0, 25, 50, 75, 100):
        height = _up(percent / 100)
        lines.append(f"M{LEFT} {height:g}H{LEFT + ACROSS}")
        words.append(text(LEFT - 6, height + 4, f"{percent}%", "end small"))
    for place, number in enumerate(GPUS):
        lines.append(f"M{_across(place):g} {TOP}V{TOP + SIDE}")
        if place % 2 == 0:
            words.append(text(_across(place), TOP + SIDE + 16, number, "small"))
    return path("".join(lines), "thin") + "".join(words)
