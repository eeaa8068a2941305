"""The logbook: a line per step, of the run that was kept last."""

from course import launch, logbook
from course.record.records import Epoch, Record


def of_run(accuracy, seconds=4.0):
    """Return a run of two ranks and two epochs, which trained for half of the time."""
    epochs = [
        Epoch(
            start=seconds * n,
            train_end=seconds * (n + 0.5),
            end=seconds * (n + 1),
            final_logs={"val_accuracy": accuracy},
        )
        for n in range(2)
    ]
    return launch.Run("mpirun", 2, records=[Record(0, 1, epochs=epochs), Record(1, 2)])


def test_each_step_has_a_line_of_its_last_run(tmp_path):
    file = tmp_path / "logbook.json"
    logbook.keep(0, of_run(0.1), 1000, file)
    logbook.keep(4, of_run(0.2), 1000, file)
    kept = logbook.keep(0, of_run(0.3, seconds=2.0), 1000, file)
    assert kept.lines == logbook.Logbook(file).lines
    assert kept.lines[0] == logbook.Line(2, 2, 1000.0, 0.3, 4.0)
    assert kept.lines[4] == logbook.Line(2, 2, 500.0, 0.2, 8.0)
    assert [path.name for path in tmp_path.iterdir()] == ["logbook.json"]
    page = kept._repr_html_()
    assert "<td>30%</td>" in page and "<td>20%</td>" in page and "data:image/png" in page


def test_a_missing_or_damaged_file_is_an_empty_logbook(tmp_path):
    file = tmp_path / "logbook.json"
    assert logbook.Logbook(file).lines == {} and "empty" in logbook.Logbook(file)._repr_html_()
    file.write_text('{"0": [')
    assert logbook.Logbook(file).lines == {}
