"""The figures of several workers: what they read from a run, and count in it."""

from course.cluster import Task
from course.faults import Failure
from course.figures import shared_out, steps_across_restart, told_until
from course.launch import Run
from course.record.records import Epoch, Record


def printed(*lines):
    return Task("worker", 0, lines=list(lines))


def run(epochs, began=0.0):
    """A run of epochs with so many steps, of a second each."""
    record, now = Record(rank=0, pid=1), began + 5
    for steps in epochs:
        record.epochs.append(Epoch(start=now, steps=steps, train_end=now + steps, final_logs={"loss": 1.0}))
        record.batch_ends += [now + step + 1 for step in range(steps)]
        now += steps
    return Run("", 2, began, records=[record])


def test_what_keras_printed_until_the_kill_is_read():
    chief = printed(
        (9.0, "Epoch 1/3"),  # of an earlier start
        (11.0, "Epoch 1/3"),
        (12.0, " 6/18 [=>...] - ETA: 0s - loss: 3.9 - accuracy: 0.4 WARNING:tensorflow:slow"),
        (13.0, "18/18 [====] - 2s 5ms/step - loss: 1.25 - accuracy: 0.5 - val_loss: 0.9 - val_accuracy: 0.6"),
        (14.0, "Epoch 2/3"),
        (16.0, "18/18 [====] - 2s 5ms/step - loss: 0.75 - accuracy: 0.5"),  # after the kill
    )
    failure = told_until(chief, worker=1, began=10.0, killed=15.0)
    assert failure == Failure(1, 10.0, epoch_starts=[11.0, 14.0], losses=[1.25], killed=15.0)


def test_the_steps_go_on_where_the_backup_was():
    failure = Failure(1, 0.0, epoch_starts=[5.0, 15.0], losses=[1.5], killed=19.0)
    steps, losses = steps_across_restart(run([10, 10, 10]), failure, run([6, 10], began=30.0)).axes
    _undisturbed, before, kill, _gap, after, _dotted = (line.get_xydata().tolist() for line in steps.lines)
    assert before == [[5, 0], [15, 10]] and kill == [[15, 10], [19, 14]]
    assert after[0] == [35, 14] and after[-1] == [51, 30]
    assert [line.get_xydata()[0].tolist() for line in losses.lines[1:3]] == [[1, 1.5], [2, 1.0]]


def test_images_that_come_twice_or_never_are_counted():
    figure = shared_out({"all": [[0, 1], [2, 3]], "twice": [[0, 1], [1, 3]]}, 4)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "0 more than once, 0 never" in texts and "1 more than once, 1 never" in texts
