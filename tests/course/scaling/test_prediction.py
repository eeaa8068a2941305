"""Predictions for a model, GPUs and a network."""

import pytest

from course.scaling.models import MODELS
from course.scaling.prediction import Prediction


def test_one_host_communicates_in_no_time():
    alone = Prediction("resnet50", 8, 1e9)
    assert (alone.hosts, alone.communication, alone.exposed, alone.efficiency) == (1, 0, 0, 1)
    assert alone.rate == pytest.approx(8 * MODELS["resnet50"].images_per_second)


@pytest.mark.parametrize("model", MODELS)
def test_a_faster_network_overlap_and_a_larger_batch_help(model):
    plain = Prediction(model, 64, 10e9)
    assert 0 < plain.efficiency < 1
    for better in (Prediction(model, 64, 25e9), Prediction(model, 64, 10e9, batch=256)):
        assert better.efficiency > plain.efficiency
    assert Prediction(model, 64, 10e9, overlap=0).efficiency < plain.efficiency
    faster_gpu = Prediction(model, 64, 10e9, images_per_second=10 * MODELS[model].images_per_second)
    assert faster_gpu.efficiency < plain.efficiency


def test_tcp_does_not_profit_from_a_network_faster_than_its_limit():
    assert Prediction("vgg16", 64, 100e9, transport="tcp").step == Prediction("vgg16", 64, 400e9, transport="tcp").step
    assert Prediction("vgg16", 64, 100e9).step > Prediction("vgg16", 64, 400e9).step


def test_a_ring_goes_over_gpus_and_other_algorithms_between_hosts():
    ring, tree = (Prediction("vgg16", 16, 10e9, overlap=0, algorithm=each) for each in ("ring", "tree"))
    size = 4 * MODELS["vgg16"].parameters
    assert ring.communication == pytest.approx(2 * 15 / 16 * size * 8 / 10e9, rel=0.01)
    assert tree.communication == pytest.approx(2 * size * 8 / 10e9, rel=0.01)


def test_hosts_are_as_many_as_needed():
    assert Prediction("resnet50", 9, 10e9).hosts == 2
    assert Prediction("resnet50", 16, 10e9, gpus_per_host=4).hosts == 4


def test_one_hour_on_256_gpus():
    """Goyal et al. (2017): ResNet-50 in an hour, 8 GPUs per host, 32 images each, 29 hours on one host, 50 Gbit/s."""
    images_per_second = 90 * 1281167 / 29 / 3600 / 8
    predicted = Prediction("resnet50", 256, 50e9, batch=32, images_per_second=images_per_second)
    assert predicted.hours == pytest.approx(1, abs=0.1)
