"""Correct scripts of the first part, steps 1 to 6. Each one passes."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.horovod_passages import (
    AFTER_6,
    ARGS,
    AVERAGE,
    BROADCAST,
    BROADCAST_CALLBACK,
    BY_LOCAL_RANK,
    CHOICE,
    COMPILE,
    FLOW,
    GIVEN,
    GROW_EACH,
    GROWTH,
    GUARD,
    IMPORT,
    IMPORT_BOTH,
    INIT,
    LIST,
    LIST_OF_CALLBACKS,
    MAKE_SGD,
    MODEL,
    PICK,
    PIN,
    REFUSAL,
    REPORTERS,
    RESULTS,
    SCHEDULE,
    SGD,
    STOP,
    THE_REST,
    TRAIN,
    VALIDATE,
    VERBOSE,
    VISIBLE,
    WRAP,
    own_callback,
    own_model,
)
from tests.corpus.variant import right

_STEP_1 = (
    right(1, "Horovod's API for TensorFlow", in_ci=True)((IMPORT, "import horovod.tensorflow as hvd\n")),
    right(1, "keras imported from Horovod")((IMPORT, "from horovod.tensorflow import keras as hvd\n")),
    right(1, "both of Horovod's APIs")((IMPORT, IMPORT_BOTH), (INIT, "hvd_tf.init()\n")),
    right(1, "functions imported one by one")(
        (IMPORT, "from horovod.tensorflow.keras import init, local_rank, local_size\n"),
        (INIT, "init()\n"),
        ("hvd.local_rank()", "local_rank()"),
    ),
    right(1, "names under tf.config.experimental")(
        ("tf.config.list_physical_devices", "tf.config.experimental.list_physical_devices"),
        ("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"),
    ),
    right(1, "memory growth on every GPU first")(
        (PIN, f'{REFUSAL}{GROW_EACH}if gpus:\n    tf.config.set_visible_devices({CHOICE}, "GPU")\n')
    ),
    right(1, "memory growth in a comprehension")(
        (GROWTH, "    [tf.config.experimental.set_memory_growth(each, True) for each in gpus]\n")
    ),
    right(1, "no GPU caught as an exception")(
        (PIN, f"{REFUSAL}try:\n    gpu = {CHOICE}\n{VISIBLE}{GROWTH}except IndexError:\n    pass\n")
    ),
    right(1, "a slice of the GPUs")(
        (
            PIN,
            f"{REFUSAL}mine = gpus[hvd.local_rank() : hvd.local_rank() + 1]\n"
            'tf.config.set_visible_devices(mine, "GPU")\n'
            "for gpu in mine:\n    tf.config.experimental.set_memory_growth(gpu, True)\n",
        )
    ),
    right(1, "pinning in a function")(
        (
            LIST + PIN,
            "def pin(number):\n"
            '    found = tf.config.list_physical_devices("GPU")\n'
            "    if not found:\n"
            "        return\n"
            "    if number >= len(found):\n"
            '        raise RuntimeError(f"no GPU for local rank {number}: this host has {len(found)}")\n'
            '    tf.config.set_visible_devices([found[number]], "GPU")\n'
            "    tf.config.experimental.set_memory_growth(found[number], True)\n\n\n"
            "pin(hvd.local_rank())\n",
        )
    ),
    right(1, "more ranks than GPUs by an assertion")(
        (PICK, f'    assert hvd.local_size() <= len(gpus), "more ranks than GPUs"\n{PICK}')
    ),
    right(1, "more ranks than GPUs by an argument's error")(
        (PICK, f'    if hvd.local_size() > len(gpus):\n        parser.error("there are more ranks than GPUs")\n{PICK}')
    ),
    right(1, "more ranks than GPUs in a print and a status")(
        (
            PICK,
            "    if hvd.local_size() > len(gpus):\n"
            '        print("more ranks than GPUs")\n'
            f"        raise SystemExit(1)\n{PICK}",
        )
    ),
    right(1, "the rank without a GPU says so")(
        (PICK, f'    if hvd.local_rank() >= len(gpus):\n        raise SystemExit("there is no GPU for me")\n{PICK}')
    ),
    right(1, "the missing GPU caught and told")(
        (
            PICK,
            f"    try:\n        gpu = {CHOICE}\n    except IndexError:\n"
            '        raise SystemExit("there is no GPU for me") from None\n',
        ),
    ),
    right(1, "local rank modulo the number of GPUs, and a message where they are too few")(
        (PICK, f"{GUARD}    gpu = gpus[hvd.local_rank() % len(gpus)]\n")
    ),
    right(1, "the lines of Horovod's examples", in_ci=True)(
        (PIN, f'{GROW_EACH}if gpus:\n    tf.config.set_visible_devices({BY_LOCAL_RANK}, "GPU")\n')
    ),
    right(1, "more ranks than GPUs without a message")(
        (PICK, f"    if hvd.local_size() > len(gpus):\n        raise SystemExit(1)\n{PICK}")
    ),
    right(1, "the list of GPUs from the local rank on, or the only one")(
        (CHOICE, "(gpus if len(gpus) == 1 else gpus[hvd.local_rank() :])[0]")
    ),
    right(6, "the lines of Horovod's examples at step 6")(
        (PIN, f'{GROW_EACH}if gpus:\n    tf.config.set_visible_devices({BY_LOCAL_RANK}, "GPU")\n')
    ),
    right(1, "initialised after the arguments")((INIT, ""), (ARGS, ARGS + INIT)),
    right(1, "pinned right before the model")((LIST + PIN, ""), (MODEL, LIST + PIN + MODEL)),
    right(1, "initialised under the main guard")((INIT, 'if __name__ == "__main__":\n    hvd.init()\n')),
    right(1, "memory growth by environment variable")(
        (GROWTH, ""), (INIT, f'{INIT}os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"\n')
    ),
    right(1, "local rank by mpirun's variable")(
        (CHOICE, 'gpus[int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"])]'), (INIT, f"import os\n{INIT}")
    ),
    right(1, "GPUs of TensorFlow 2's compatible API")(("tf.config.", "tf.compat.v2.config.")),
    right(1, "each rank prints its GPU")(
        (GROWTH, f"{GROWTH}    print(hvd.rank(), tf.config.experimental.get_device_details(gpu)['device_name'])\n")
    ),
    right(1, "all steps done at step 1", base=AFTER_6, in_ci=True)(),
    right(1, "wrong at step 4, judged at step 1", base="fashion_mnist_after_step_04.py")(
        (BROADCAST, "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=1))\n")
    ),
)

_STEP_2 = (
    right(2, "verbose by int()")((VERBOSE, "verbose = int(hvd.rank() == 0)\n")),
    right(2, "verbose as a truth value")((VERBOSE, "verbose = hvd.rank() == 0\n")),
    right(2, "verbose by not")((VERBOSE, "verbose = not hvd.rank()\n")),
    right(2, "verbose in an if and else", in_ci=True)(
        (VERBOSE, "if hvd.rank() == 0:\n    verbose = 1\nelse:\n    verbose = 0\n")
    ),
    right(2, "verbose turned off elsewhere")((VERBOSE, "verbose = 1\nif hvd.rank() != 0:\n    verbose = 0\n")),
    right(2, "a line per epoch on rank 0")((VERBOSE, "verbose = 2 if hvd.rank() == 0 else 0\n")),
    right(2, "verbose looked up in a list")((VERBOSE, "verbose = [1, 0][min(hvd.rank(), 1)]\n")),
    right(2, "no name for verbose")(
        (VERBOSE, "is_chief = hvd.rank() == 0\n"),
        ("if verbose:", "if is_chief:"),
        ("verbose=verbose", "verbose=1 if is_chief else 0"),
    ),
    right(2, "every if asks for the rank")(("if verbose:", "if hvd.rank() == 0:")),
    right(2, "other ranks are silenced")(
        ("import time\n", "import sys\nimport time\n"),
        (VERBOSE, 'verbose = 1\nif hvd.rank() != 0:\n    sys.stdout = open(os.devnull, "w")\n'),
        ("if verbose:", "if hvd.rank() == 0:"),
    ),
    right(2, "rank of the API for TensorFlow")((IMPORT, IMPORT_BOTH), ("hvd.rank()", "hvd_tf.rank()")),
    right(2, "callbacks on all ranks that hold their tongue")(
        ("        print(", "        if hvd.rank() == 0:\n            print("),
        (
            REPORTERS,
            "callbacks.append(PrintThroughput(len(x_train)))\n"
            "callbacks.append(PrintTotalTime())\n"
            "if verbose:\n    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n",
        ),
    ),
    right(2, "results printed through a function")(
        (VERBOSE, f"{VERBOSE}\n\ndef say(text):\n    if hvd.rank() == 0:\n        print(text)\n\n"),
        (RESULTS, 'say(f"Test loss: {score[0]:.4f}")\nsay(f"Test accuracy: {score[1]:.4f}")\n'),
    ),
    right(2, "sum of gradients, judged at step 2", base="fashion_mnist_after_step_03.py")(
        (WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Sum)\n")
    ),
)


def _own_sgd(name: str) -> tuple[tuple[str, str], ...]:
    """Return edits that average the gradients in an optimizer class of this name."""
    optimizer = (
        f"class {name}(tf.keras.optimizers.SGD):\n"
        "    def apply_gradients(self, grads_and_vars, *args, **kwargs):\n"
        "        mean = [(hvd_tf.allreduce(gradient), variable) for gradient, variable in grads_and_vars]\n"
        "        return super().apply_gradients(mean, *args, **kwargs)\n\n\n"
    )
    return (
        (IMPORT, IMPORT_BOTH),
        (SGD, f"{optimizer}opt = {name}(learning_rate=args.base_lr, momentum=0.9)\n"),
        (WRAP, ""),
    )


_STEP_3 = (
    right(3, "a momentum of NumPy's")(
        (IMPORT, f"import numpy\n{IMPORT}"),
        (SGD, "opt = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=numpy.float64(0.9))\n"),
    ),
    right(3, "wrapped where it is made")((SGD, ""), (WRAP, f"opt = hvd.DistributedOptimizer({MAKE_SGD})\n")),
    right(3, "wrapped in compile")((WRAP, ""), ("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)")),
    right(3, "wrapped by keyword")((WRAP, "opt = hvd.DistributedOptimizer(optimizer=opt)\n")),
    right(3, "average asked for by name")((WRAP, "opt = hvd.DistributedOptimizer(opt, op=hvd.Average)\n")),
    right(3, "no compression asked for")(
        (WRAP, "opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.none)\n")
    ),
    right(3, "gradients sent in 16 bits")(
        (WRAP, "opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)\n")
    ),
    right(3, "another name for the wrapped one")(
        (WRAP, "parallel = hvd.DistributedOptimizer(opt)\n"), ("optimizer=opt", "optimizer=parallel")
    ),
    right(3, "optimizer made before the model")((MODEL, ""), (SGD, ""), (WRAP, SGD + WRAP + MODEL)),
    right(3, "optimizer made in a function")(
        (SGD, ""),
        (
            WRAP,
            "\n\ndef make_optimizer(rate):\n"
            "    return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate, momentum=0.9))\n\n\n"
            "opt = make_optimizer(args.base_lr)\n",
        ),
    ),
    right(3, "gradients averaged in a training step", in_ci=True)(
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient) for gradient in gradients]",
        )
    ),
    right(3, "gradients summed and divided by the ranks")(
        *own_model(
            "gradients = tape.gradient(loss, self.trainable_variables)",
            "gradients = [hvd_tf.allreduce(gradient, op=hvd_tf.Sum) / hvd.size() for gradient in gradients]",
        )
    ),
    right(3, "Horovod's gradient tape")(
        *own_model(
            "tape = hvd_tf.DistributedGradientTape(tape)", "gradients = tape.gradient(loss, self.trainable_variables)"
        )
    ),
    right(3, "averaged in a class called SGD")(*_own_sgd("SGD")),
    right(3, "averaged in a class called MeanSGD")(*_own_sgd("MeanSGD")),
    right(3, "from the weights of rank 1, judged at step 3", base="fashion_mnist_after_step_04.py")(
        (BROADCAST, "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(1))\n")
    ),
    right(3, "an optimizer of the legacy kind")(("optimizers.SGD(", "optimizers.legacy.SGD(")),
    right(3, "all steps done at step 3", base=AFTER_6)(),
)

_BROADCAST_ALL = (
    "hvd_tf.broadcast_variables(self.model.variables, root_rank=0)",
    "hvd_tf.broadcast_variables(self.model.optimizer.variables, root_rank=0)",
)


def _own_broadcast(method: str, *body: str) -> tuple[tuple[str, str], ...]:
    return (
        (IMPORT, IMPORT_BOTH),
        (LIST_OF_CALLBACKS, own_callback("Broadcast", method, *body)),
        (BROADCAST, "callbacks.append(Broadcast())\n"),
    )


_STEP_4 = (
    right(4, "root rank by keyword")(("Callback(0)", "Callback(root_rank=0)")),
    right(4, "callbacks imported from Horovod")(
        (IMPORT, IMPORT + "from horovod.tensorflow.keras import callbacks as hvd_callbacks\n"),
        ("hvd.callbacks.", "hvd_callbacks."),
    ),
    right(4, "the callback imported by name")(
        (IMPORT, IMPORT + "from horovod.tensorflow.keras.callbacks import BroadcastGlobalVariablesCallback\n"),
        ("hvd.callbacks.", ""),
    ),
    right(4, "broadcast in the list's literal")(
        (BROADCAST, ""), (LIST_OF_CALLBACKS, f"callbacks = [{BROADCAST_CALLBACK}]\n")
    ),
    right(4, "broadcast inserted at the front")(
        (BROADCAST, ""), (STOP, STOP + "callbacks.insert(0, hvd.callbacks.BroadcastGlobalVariablesCallback(0))\n")
    ),
    right(4, "broadcast last of all callbacks")((BROADCAST, ""), (REPORTERS, REPORTERS + BROADCAST)),
    right(4, "broadcast added in the call of fit")(
        (BROADCAST, ""), (GIVEN, f"    callbacks=[{BROADCAST_CALLBACK}, *callbacks],\n")
    ),
    right(4, "broadcast by +=")((BROADCAST, f"callbacks += [{BROADCAST_CALLBACK}]\n")),
    right(4, "broadcast by hand before fit")(
        (IMPORT, IMPORT_BOTH),
        (BROADCAST, ""),
        (
            COMPILE,
            COMPILE + "hvd_tf.broadcast_variables(model.variables, root_rank=0)\n"
            "hvd_tf.broadcast_variables(opt.variables, root_rank=0)\n",
        ),
    ),
    right(4, "each variable assigned from rank 0")(
        (IMPORT, IMPORT_BOTH),
        (BROADCAST, ""),
        (
            COMPILE,
            f"{COMPILE}for variable in model.variables:\n"
            "    variable.assign(hvd_tf.broadcast(variable, root_rank=0))\n",
        ),
    ),
    right(4, "weights sent as one object")(
        (IMPORT, IMPORT_BOTH),
        (BROADCAST, ""),
        (COMPILE, f"{COMPILE}model.set_weights(hvd_tf.broadcast_object(model.get_weights(), root_rank=0))\n"),
    ),
    right(4, "own callback after the first batch")(
        *_own_broadcast(
            "on_train_batch_end(self, batch, logs=None)", "if batch == 0:", *(f"    {line}" for line in _BROADCAST_ALL)
        )
    ),
    right(4, "own callback before the first batch", in_ci=True)(
        *_own_broadcast(
            "on_train_batch_begin(self, batch, logs=None)",
            "if batch == 0:",
            *(f"    {line}" for line in _BROADCAST_ALL),
        )
    ),
    right(4, "own callback as training begins")(*_own_broadcast("on_train_begin(self, logs=None)", *_BROADCAST_ALL)),
    right(4, "own callback after every batch")(
        *_own_broadcast("on_train_batch_end(self, batch, logs=None)", *_BROADCAST_ALL)
    ),
    right(4, "local steps, judged at step 4", base="fashion_mnist_after_step_05.py")(
        (TRAIN, "steps_per_epoch=len(train_iter) // hvd.local_size(),")
    ),
)

_STEP_5 = (
    right(5, "passes divided before they are tripled")(
        (VALIDATE, "validation_steps=3 * (len(test_iter) // hvd.size()),")
    ),
    right(5, "steps rounded up")(
        ("import argparse\n", "import argparse\nimport math\n"),
        (TRAIN, "steps_per_epoch=math.ceil(len(train_iter) / hvd.size()),"),
        (VALIDATE, "validation_steps=math.ceil(3 * len(test_iter) / hvd.size()),"),
    ),
    right(5, "steps with a fraction", in_ci=True)(
        (TRAIN, "steps_per_epoch=len(train_iter) / hvd.size(),"),
        (VALIDATE, "validation_steps=3 * len(test_iter) / hvd.size(),"),
    ),
    right(5, "steps rounded up by minus signs")((TRAIN, "steps_per_epoch=-(-len(train_iter) // hvd.size()),")),
    right(5, "steps rounded to the nearest")(
        (TRAIN, "steps_per_epoch=round(len(train_iter) / hvd.size()),"),
        (VALIDATE, "validation_steps=round(3 * len(test_iter) / hvd.size()),"),
    ),
    right(5, "steps cut by int()")(
        (TRAIN, "steps_per_epoch=int(len(train_iter) / hvd.size()),"),
        (VALIDATE, "validation_steps=int(3 * len(test_iter) / hvd.size()),"),
    ),
    right(5, "one step at least")(
        (TRAIN, "steps_per_epoch=max(1, len(train_iter) // hvd.size()),"),
        (VALIDATE, "validation_steps=max(1, (len(test_iter) * 3) // hvd.size()),"),
    ),
    right(5, "steps counted beforehand")(
        (MODEL, "ranks = hvd.size()\ntrain_steps, _ = divmod(len(train_iter), ranks)\n" + MODEL),
        (TRAIN, "steps_per_epoch=train_steps,"),
        (VALIDATE, "validation_steps=len(test_iter) * 3 // ranks,"),
    ),
    right(5, "steps counted in images")(
        (TRAIN, "steps_per_epoch=len(x_train) // (args.batch_size * hvd.size()),"),
        (VALIDATE, "validation_steps=3 * len(x_test) // (args.val_batch_size * hvd.size()),"),
    ),
    right(5, "each rank on images of its own")(
        (
            "train_gen.flow(x_train, y_train, ",
            "train_gen.flow(x_train[hvd.rank() :: hvd.size()], y_train[hvd.rank() :: hvd.size()], ",
        ),
        (TRAIN, "steps_per_epoch=len(x_train) // hvd.size() // args.batch_size,"),
    ),
    right(5, "a share of its own for each rank")(
        (FLOW, FLOW.replace("x_train, y_train", "x_train[hvd.rank()::hvd.size()], y_train[hvd.rank()::hvd.size()]")),
        (TRAIN, "steps_per_epoch=len(x_train) // hvd.size() // args.batch_size,"),
    ),
    right(5, "all steps done at step 5", base=AFTER_6)(),
)

_LOOP = "for name, value in sorted(logs.items()):"


def _own_average(*body: str) -> tuple[tuple[str, str], ...]:
    return (
        (LIST_OF_CALLBACKS, own_callback("AverageMetrics", "on_epoch_end(self, epoch, logs=None)", *body)),
        (AVERAGE, "callbacks.append(AverageMetrics())\n"),
    )


_STEP_6 = (
    right(6, "the finished program", base="fashion_mnist_solution.py")(),
    right(6, "metrics averaged first")((AVERAGE, ""), (BROADCAST, AVERAGE + BROADCAST)),
    right(6, "logs copied and completed by a callback")(
        (
            LIST_OF_CALLBACKS,
            own_callback(
                "StopAtNaN",
                "on_epoch_end(self, epoch, logs=None)",
                "own = dict(logs)",
                'logs.setdefault("epochs", epoch + 1)',
                'self.model.stop_training = own["loss"] != own["loss"]',
            ),
        ),
        (AVERAGE, f"{AVERAGE}callbacks.append(StopAtNaN())\n"),
    ),
    right(6, "odd and right: enumerations, copies, patterns, the name of the host")(
        ("import argparse\n", "import argparse\nimport collections\nimport copy\nimport csv\nimport enum\n"),
        ("import os\nimport time\n", "import os\nimport re\nimport socket\nimport time\n"),
        (
            ARGS,
            ARGS
            + """__author__ = "A. Learner"
tf.config.run_functions_eagerly(False)
Place = collections.namedtuple("Place", "host rank")


class Kind(enum.Enum):
    FIRST = "first"
    OTHER = "other"


place = Place(socket.gethostname(), 0)._replace(rank=hvd.rank())
kind = Kind.OTHER if place.rank else Kind.FIRST
settings = copy.copy(vars(args))
with open(os.devnull, mode="w") as file:
    csv.writer(file).writerow([kind.value, re.sub(r"\\W", "_", place.host), os.path.relpath("../logs"), *settings])
""",
        ),
    ),
    right(6, "averaged by what stops")(
        (AVERAGE, ""),
        (
            "        self.reached = self.reached + 1 if",
            "        for name in sorted(logs):\n"
            "            logs[name] = hvd.allreduce(float(logs[name]), name=name).numpy()\n"
            "        self.reached = self.reached + 1 if",
        ),
    ),
    right(6, "metrics averaged after the schedule")((AVERAGE, ""), (SCHEDULE, SCHEDULE + AVERAGE)),
    right(6, "averaging inserted at the front")(
        (AVERAGE, ""), (MODEL, "callbacks.insert(0, hvd.callbacks.MetricAverageCallback())\n" + MODEL)
    ),
    right(6, "all callbacks in one literal")(
        (BROADCAST, ""),
        (AVERAGE, ""),
        (SCHEDULE, ""),
        (STOP, ""),
        (
            LIST_OF_CALLBACKS,
            "callbacks = [\n"
            "    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"
            "    hvd.callbacks.MetricAverageCallback(),\n"
            "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n"
            "    StopAtAccuracy(args.target_accuracy, args.patience),\n"
            "]\n",
        ),
    ),
    right(6, "callbacks from a function")(
        (BROADCAST, ""),
        (AVERAGE, ""),
        (
            LIST_OF_CALLBACKS,
            "def horovod_callbacks():\n"
            f"    return [{BROADCAST_CALLBACK}, hvd.callbacks.MetricAverageCallback()]\n"
            "\n\ncallbacks = horovod_callbacks()\n",
        ),
    ),
    right(6, "own averaging over the items")(
        *_own_average(_LOOP, "    logs[name] = float(hvd.allreduce(float(value)))")
    ),
    right(6, "own averaging from a sum")(
        *_own_average(
            _LOOP,
            "    total = hvd.allreduce(float(value), name=name, op=hvd.Sum)",
            "    logs[name] = float(total) / hvd.size()",
        )
    ),
    right(6, "own averaging of the whole list at once")(
        *_own_average(
            "names, values = zip(*sorted(logs.items()))",
            "means = hvd.allreduce([float(value) for value in values]).numpy()",
            "logs.update(zip(names, means.tolist()))",
        )
    ),
    right(6, "own averaging that reads by name")(
        *_own_average("for name in sorted(logs):", "    logs[name] = float(hvd.allreduce(float(logs[name])))")
    ),
    right(6, "training in a function main")(
        (
            MODEL + THE_REST,
            f'def main():\n{textwrap.indent(MODEL + THE_REST, "    ")}\n\nif __name__ == "__main__":\n    main()\n',
        )
    ),
    right(6, "no comments of the course")(
        *tuple(
            (line + "\n", "")
            for line in (SOLUTIONS / AFTER_6).read_text().splitlines()
            if line.strip().startswith("# Step")
        )
    ),
    right(6, "another alias for Horovod")((IMPORT, "import horovod.tensorflow.keras as hk\n"), ("hvd.", "hk.")),
    right(6, "broadcast and averaging extended onto the list")(
        (AVERAGE, ""),
        (
            BROADCAST,
            "from horovod.tensorflow.keras.callbacks import BroadcastGlobalVariablesCallback, "
            "MetricAverageCallback\n\n"
            "callbacks.extend([BroadcastGlobalVariablesCallback(root_rank=0), MetricAverageCallback()])\n",
        ),
    ),
    right(6, "callbacks and optimizer made in fit and compile", in_ci=True)(
        (BROADCAST, ""),
        (WRAP, ""),
        ("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)"),
        (GIVEN, f"    callbacks=callbacks + [{BROADCAST_CALLBACK}],\n"),
    ),
)

CORRECT = (*_STEP_1, *_STEP_2, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)
