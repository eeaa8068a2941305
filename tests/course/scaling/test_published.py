"""The published figures: complete, and predicted as well as the note says. And the fit, on figures that are known."""

import csv
import dataclasses
from statistics import median

import pytest

from course.scaling import published
from course.scaling.models import MODELS
from course.scaling.published import Fitted


def test_every_row_has_a_source_and_says_why_it_is_not_modelled():
    for path in (published.FIGURES, published.ALLREDUCES):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        sources = [row["source"] for row in rows]
        assert sources and all(source.startswith("https://") or "#" in source for source in sources)
    with published.FIGURES.open(encoding="utf-8", newline="") as file:
        incomplete = [row for row in csv.DictReader(file) if not all((row["batch"], row["network"], row["base_rate"]))]
    assert incomplete and all(row["not_modelled"] for row in incomplete)


def test_half_of_the_figures_are_fitted():
    small, large = published.small_runs(), published.large_runs()
    assert abs(len(small) - len(large)) <= 1 and len(large) >= 15
    assert max(figure.gpus for figure in small) <= published.SMALL < min(figure.gpus for figure in large)
    assert {figure.gpus for figure in large} >= {64, 128, 512}


def test_figures_on_many_gpus_are_predicted_from_figures_on_few():
    rows = published.compare(published.large_runs(), published.fitted())
    errors, without = [abs(row.error) for row in rows], [abs(row.linear_error) for row in rows]
    assert median(errors) <= 0.1 and max(errors) <= 0.2
    assert median(errors) < median(without) / 3 and max(without) > 0.5


def test_the_other_way_round_it_holds_as_well():
    numbers = published.fit(published.large_runs(), published.published_alpha())
    errors = [abs(row.error) for row in published.compare(published.small_runs(), numbers)]
    assert median(errors) <= 0.1 and max(errors) <= 0.2


def test_a_figure_by_hand():
    """VGG-16 on two hosts of 8 GPUs at 10 Gbit/s: 30 of 32 parts of 138 million values of 32 bits go over the cable."""
    figure = next(figure for figure in published.read() if figure.source == "horovod#2581")
    assert figure.compute == pytest.approx(32 * 8 / 1531.9)
    step = figure.compute + 2 * 15 / 16 * 138357544 * 4 * 8 / 10e9
    assert published.predict(figure, Fitted(0, 0, 1e9)) == pytest.approx(16 * 32 / step)


def test_quantities_become_images_per_second():
    by_source = {(figure.source, figure.model, figure.gpus): figure for figure in published.read()}
    efficiency = next(figure for key, figure in by_source.items() if key[1:] == ("vgg16", 512))
    assert efficiency.measured == pytest.approx(0.68 * 512 * 130.9)
    idefics = next(figure for figure in by_source.values() if figure.model == "idefics80b")
    assert idefics.measured == pytest.approx(3584 / 49)


def test_a_failure_is_shown_and_not_counted():
    (idefics,) = [figure for figure in published.failures() if figure.model == "idefics80b"]
    assert idefics not in published.small_runs() + published.large_runs()
    (row,) = published.compare([idefics], published.fitted())
    assert row.error > 0.3
    assert "idefics80b" in published.table([row])


def test_only_tcp_has_a_limit():
    numbers = Fitted(0, 0, 16e9)
    assert numbers.beta(25e9, "tcp") == 8 / 16e9 and numbers.beta(10e9, "tcp") == 8 / 10e9
    assert numbers.beta(25e9, "rdma") == numbers.beta(25e9, "") == 8 / 25e9


@pytest.mark.parametrize("truth", [Fitted(5e-6, 0.3, 12e9), Fitted(2e-5, 0.75, 20e9)])
def test_a_fit_finds_the_numbers_that_made_the_figures(truth):
    figures = [
        dataclasses.replace(figure, measured=published.predict(figure, truth)) for figure in published.small_runs()
    ]
    found = published.fit(figures, truth.alpha)
    assert found.overlap == pytest.approx(truth.overlap, abs=0.01)
    assert found.tcp_limit == pytest.approx(truth.tcp_limit, rel=0.02)


def test_alpha_is_that_of_the_published_latencies():
    # 2, 4 and 8 hosts of 8 GPUs: 163.4, 319.4 and 631.3 us for 30, 62 and 126 messages
    assert published.published_alpha() == pytest.approx(5.2e-6, rel=0.05)


def test_the_report(capsys):
    published.main()
    out = capsys.readouterr().out
    assert "Predicted" in out and "idefics80b" in out and "nan" not in out
    assert max(map(len, out.splitlines())) < 140


@pytest.mark.slow
def test_the_models_are_those_of_keras():
    applications = pytest.importorskip("tensorflow").keras.applications
    names = {"resnet50": "ResNet50", "resnet101": "ResNet101", "resnet152": "ResNet152", "vgg16": "VGG16"}
    for model, name in (names | {"inceptionv3": "InceptionV3"}).items():
        built = getattr(applications, name)(weights=None)
        assert sum(variable.shape.num_elements() for variable in built.trainable_variables) == MODELS[model].parameters
