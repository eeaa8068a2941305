"""What a timeline of Horovod's shows of allreduces."""

import json

from course.faster.timeline import Exchange, exchanges, last_step


def write(path, events):
    """Write events as Horovod does: several per line, and without an end."""
    path.write_text("[\n" + ",".join(json.dumps(event) for event in events) + ",\n")
    return path


def begins(name, microseconds, tensor):
    return {"ph": "B", "name": name, "ts": microseconds, "pid": tensor}


def ends(microseconds, tensor):
    return {"ph": "E", "ts": microseconds, "pid": tensor}


def negotiated(microseconds, tensor):
    return [begins("NEGOTIATE_ALLREDUCE", microseconds, tensor), ends(microseconds + 5, tensor)]


def test_fused_tensors_are_one_exchange(tmp_path):
    events = [*negotiated(10, 1), *negotiated(20, 2)]
    events += [begins("MPI_ALLREDUCE", 100, 1), begins("MPI_ALLREDUCE", 101, 2), ends(300, 1), ends(310, 2)]
    events += [ends(320, 1), ends(320, 2)]
    assert exchanges(write(tmp_path / "timeline.json", events)) == [Exchange((10e-6, 20e-6), 100e-6, 300e-6)]


def test_tensors_that_are_not_fused_are_exchanges_of_their_own(tmp_path):
    events = [*negotiated(10, 1), *negotiated(20, 2)]
    events += [begins("MPI_ALLREDUCE", 100, 1), ends(200, 1), begins("MPI_ALLREDUCE", 210, 2), ends(300, 2)]
    found = exchanges(write(tmp_path / "timeline.json", events))
    assert [(each.tensors, each.start) for each in found] == [(1, 100e-6), (1, 210e-6)]


def test_the_same_tensor_is_exchanged_in_each_step(tmp_path):
    events = []
    for start in (0, 1000):
        events += [*negotiated(start + 10, 1), begins("MPI_ALLREDUCE", start + 50, 1), ends(start + 90, 1)]
    assert [each.ready for each in exchanges(write(tmp_path / "timeline.json", events))] == [(10e-6,), (1010e-6,)]


def test_broadcasts_do_not_count(tmp_path):
    events = [begins("MPI_BCAST", 10, 1), ends(20, 1)]
    assert exchanges(write(tmp_path / "timeline.json", events)) == []


def test_the_last_step_has_all_of_its_tensors():
    one, two, three = (Exchange((0.0,) * number, 1.0, 2.0) for number in (1, 2, 3))
    assert last_step([three, one, two, one], 4) == [one, two, one]
    assert last_step([one], 4) == [one]
