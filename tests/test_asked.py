"""Lessons and checks side by side: whatever an exercise asks for is checked, and nothing that no lesson asks for."""

import re
from itertools import product

import nbformat
import pytest

from grader import checks
from grader.checks.part import POINTS

# By step, phrases of a lesson's sentences that ask the learner for nothing: those in its exercise, and those before it
# that say every, all, alone or never.
EXPLAINED: dict[int, tuple[str, ...]] = {
    1: (
        "find the three comments `TODO: Step 1`",
        "Later steps use what `horovod.tensorflow` lacks",
        "The best place is right after the imports",
        "Save the file, then run the cells below",
        "TensorFlow takes **all** GPUs of a host",
        "So each process must take one GPU",
        "GPUs are numbered from 0 on every host",
        "shows this every second",
        "all ranks chose the same one",
        "Every line comes once from each",
    ),
    2: (
        "has the course's solution of step 1 in it",
        "All ranks run the same program",
        "ranks that all write the same TensorBoard directory",
    ),
    3: (
        "every rank holds a copy of the model",
        "So before the update all ranks exchange gradients",
        "if all ranks have the same weights (step 4)",
        "collect all gradients in one place",
        "We keep every weight after every batch",
    ),
    4: ("Since step 3 all ranks add the same updates", "gives one rank's tensors to all others"),
    5: (
        "Why three?",
        "Each rank shuffles the test set by itself",
        "With one pass in all, some images would be drawn by two ranks",
        "Three passes leave few out",
    ),
    6: (
        "hands them all the same `logs`",
        "the callbacks after it in the list read the new value",
        "`StopAtAccuracy` reads it on every rank",
        "the other waits for gradients that never come",
        "it rests on all their images together",
    ),
    8: (
        "It keeps files, called objects, in buckets, for all hosts alike.",
        "Programs find a store's address and keys in environment variables",
        "every epoch after that is nearly free",
        "all ranks of all hosts ask the same store",
        "Every rank for itself?",
        "Rank 0 alone?",
        "No rank returns from an allreduce before all ranks have called it.",
    ),
    9: (
        "N ranks that all read everything train N epochs",
        "But each still draws its images from all of them",
        "A Keras iterator, such as `train_iter`, helps",
        "As long as one order comes again and again",
    ),
    10: ("All ranks have ended.", "So rank 0's slots never match those of the other ranks."),  # the lesson's own run
    13: (
        "used all devices of one process",
        "addresses of all tasks",
        "It is the same for all.",
        "The launcher starts all on this machine",
        "Each has trained a model of its own",
        "taken the batches of all workers by itself",
        "waits until all workers have done so",
        "relies on all workers having the **same order**",
        "some images come twice and some never",
        "It is a loss and not an error",
        "which reads all on every worker",
        "To read the index from `TF_CONFIG` yourself is as good.",
        "`AUTO` finds no files and does the same here",
    ),
    14: (
        "all workers wait for each other's gradients",
        "all of them have to be started again",
        "All steps of epoch 3 are lost.",
        "on all workers at once",
    ),
    15: (
        "So far all processes did the same step at the same time",
        "The **resolver** reads `TF_CONFIG`: the addresses of all",
        "`server.join()` never returns.",
        "And all workers need equally many",
        "some images come twice and some not at all",
    ),
    16: ("The folder with the checkpoints is all that the two have in common.",),
    18: (
        "All hosts share this machine's cores",
        "All hosts see `/shared`",
        "The **rank** numbers all processes of the job",
        "A folder that all hosts see",
        "The bytes are the same in all runs",
        "an allreduce has each rank send all its gradients once",
        "In the last run, all bytes arrive through `eth1`.",
        "an interface that all hosts have",
        "begins only when all ranks have met",
        "The hostfile may contain comments",
        "On every host, 127.0.0.1 is the host itself",
        "and never if it has nothing to send",
        "And around it",
        "Ask each host whether it is still there",  # or notice in another way that it is not
    ),
    20: (
        "In step 14, a worker died, all others ended",
        "a copy of the state that all ranks made after the same step",
        "a host dies: all of its processes end at once",
        "So ranks may have different weights",
        "Make a state of the model, the optimizer, the epoch",  # without it, nothing else is right
        "Remove the broadcasts",  # or ranks that join wait for those, and this is found
        "Count the steps from where the epoch began or continued.",
        "And around the steps",
        "Horovod 0.28 knows only some errors of a lost rank",
    ),
    19: (
        "The first job has all nodes",
        "`PartitionConfig`: the partition can never give",
        "One way: an `srun` on all nodes",
        "Slurm knows all processes of the job",
        "`srun` sends all of them",
        "After how many seconds have all five ended?",
        "Slurm ends the job on all nodes",
        "The `B:` is for the batch script alone",
    ),
    101: (
        "trains another network on the images of the course",
        "It reads them with `tf.data`",
        "Distribute it with Horovod.",
        "You have reached the target when it does this",
        "It does everything that steps 1 to 6 ask for.",  # which have checks of their own
        "What stays as it is",
        "`--batch-size` and `--val-batch-size` are those of each rank.",
        "What is yours to choose",
        "`--learning-rate` is that of one process.",
        "In step 5 the ranks validated on images that they drew at random",
        "Here nothing is drawn",
    ),
    102: (
        "trains a small network on the images of the course",
        "It saves a checkpoint after each epoch, and resumes from the newest one",
        "Distribute it with Horovod, so that all ranks resume together.",
        "You have reached the target when it does this",
        "It does everything that steps 1 to 6 and step 10 ask for.",  # which have checks of their own
        "What stays as it is",
        "`--batch-size` and `--val-batch-size` are those of each rank.",
        "What is yours to choose",
        "`--rate` is that of one process.",
        "In step 5 the ranks validated on images that they drew at random",
        "Here nothing is drawn",
    ),
    103: (
        "trains a small network on the images of the course",
        "Turn it into one program for both kinds of cluster",
        "In a cluster **of workers alone** it is one of them",
        "In a cluster **with parameter servers** it is the coordinator",
        "`worker_and_ps.py` of step 15 serves as the rest.",
        "`TF_CONFIG` says which of them this process is in.",
        "You have reached the target when the program does this",
        "Among workers, it does what steps 13 and 14 ask for",  # which have checks of their own
        "As a coordinator, it does everything that step 15 asks for.",
        "With another task's `TF_CONFIG` it ends.",
        "What stays as it is",
        "`--batch-size` is that of each worker.",
        "What is yours to choose",
        "`--rate` is that of one process.",
    ),
}
STRICT = re.compile(r"\b(every|all|alone|never)\b", re.I)
POINTER = re.compile(r"^In `[\w.]+`, at the .*`TODO: Step \d+`:$")


def prose(step):
    """Return the text of each Markdown cell of a lesson up to its hint, by the cell's id, without code and tables.

    A capstone has no hint: its task ends where the programs run.
    """
    texts = {}
    for cell in nbformat.read(step.notebook, as_version=4).cells:
        if cell.id == ("run" if step.is_capstone else "hint"):
            return texts
        if cell.cell_type == "markdown" and cell.id != "title":
            lines = [line for line in cell.source.splitlines() if not line.startswith(("#", "|", "<"))]
            items = re.sub(r"(?m)^(\d+\.|-) ", "\f", "\n".join(lines))  # a list's items are sentences of their own
            texts[cell.id] = re.sub(r"[^\S\f]+", " ", items)
    raise LookupError(f"{step.name} has no hint")


def sentences(text):
    """Return the sentences of a text, but for those that only say where in the program the exercise is."""
    found = [part.strip() for part in re.split(r"(?<=[.?!])\s+|\f|(?<=[.?!]\*\*)\s+", text)]
    return [sentence for sentence in found if sentence and not POINTER.match(sentence)]


def unanswered(step, sentences):
    """Return the sentences that no check of the step quotes, and that explain nothing."""
    known = (*asked(step), *EXPLAINED.get(step.number, ()))
    return [sentence for sentence in sentences if not any(phrase in sentence for phrase in known)]


def asked(step):
    """Return the phrases that the checks of a step quote from its lesson."""
    return [phrase for check in checks.of(step.number).of(step.number) for phrase in check.asks]


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_each_phrase_that_is_quoted_is_in_the_lesson(step):
    lesson = " ".join(prose(step).values())
    quoted = (*asked(step), *EXPLAINED.get(step.number, ()))
    assert [phrase for phrase in quoted if phrase not in lesson] == []


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_each_sentence_of_an_exercise_is_checked(step):
    texts = [text for cell, text in prose(step).items() if cell.startswith("exercise")]
    assert texts and unanswered(step, [sentence for text in texts for sentence in sentences(text)]) == []


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_each_item_of_an_exercise_has_a_check_of_its_own(step):
    own, explained = checks.of(step.number).of(step.number), EXPLAINED.get(step.number, ())
    items = [item for cell, text in prose(step).items() if cell.startswith("exercise") for item in text.split("\f")[1:]]
    asking = [item for item in items if not all(any(p in s for p in explained) for s in sentences(item))]
    checked = [{check.description for check in own if any(phrase in item for phrase in check.asks)} for item in asking]
    assert any(len(set(one_each)) == len(asking) for one_each in product(*checked)), checked


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_each_sentence_that_allows_no_exception_is_checked(step):
    found = [sentence for text in prose(step).values() for sentence in sentences(text)]
    assert unanswered(step, [sentence for sentence in found if STRICT.search(sentence)]) == []


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_the_points_of_a_step_are_ten_together(step):
    own = checks.of(step.number).of(step.number)
    assert sum(check.points for check in own) == POINTS
    assert all(check.asks for check in own)


def test_no_two_checks_of_a_part_have_the_same_description():
    for part in checks.PARTS.values():
        assert len({check.description for check in part.checks}) == len(part.checks)
