"""python -m course predict: a short table, and errors that say what to write."""

import re

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.scaling.prediction import Prediction


def run(*arguments):
    return CliRunner().invoke(main, ["predict", *arguments])


def test_it_prints_what_is_predicted():
    result = run("--model", "resnet50", "--gpus", "512", "--network", "25gbit")
    assert result.exit_code == 0
    expected = Prediction("resnet50", 512, 25e9)
    shown = dict(re.findall(r"^ *([a-z ]+?)  +([\d,.]+)", result.output, re.MULTILINE))
    assert float(shown["step"].replace(",", "")) == pytest.approx(expected.step * 1000, abs=0.05)
    assert float(shown["exposed communication"]) == pytest.approx(expected.exposed * 1000, abs=0.05)
    assert int(shown["images per second"].replace(",", "")) == round(expected.rate)
    assert "0.34 hours" in result.output and "64 hosts" in result.output


def test_its_options_reach_the_model():
    plain = run("--model", "vgg16", "--gpus", "64", "--network", "100gbit").output
    options = ["--gpus-per-host=4"], ["--batch=32"], ["--images-per-second=900"], ["--transport=tcp"]
    for option in (*options, ["--algorithm=tree"], ["--overlap=0.9"]):
        assert run("--model", "vgg16", "--gpus", "64", "--network", "100gbit", *option).output != plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model=vgg16", "--gpus=8", "--network=25"], "'25' is not a rate. Write it like 10gbit"),
        (["--model=vgg", "--gpus=8", "--network=25gbit"], "'vgg' is not one of 'resnet50'"),
        (["--model=vgg16", "--gpus=0", "--network=25gbit"], "0 is not in the range x>=1"),
        (["--model=vgg16", "--gpus=8", "--network=25gbit", "--overlap=nan"], "overlap=nan is not from 0 to 1"),
    ],
)
def test_a_mistake_is_explained(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output and "Traceback" not in result.output
