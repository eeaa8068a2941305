"""Repairs of the cases of the first part, and tries that are none."""

from tests.corpus.repair import Repair, fails, repairs

_COMPILE = 'model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])\n'
_WRAP = "opt = hvd.DistributedOptimizer(opt)\n"

REPAIRS: list[Repair] = [
    # 1: wrapped after compile
    repairs(1, "wrapped where it is compiled")(
        (_COMPILE, _COMPILE.replace("optimizer=opt", "optimizer=hvd.DistributedOptimizer(opt)")),
        (_WRAP, ""),
    ),
    repairs(1, "compiled once more")((_WRAP, _WRAP + _COMPILE)),
    fails(1, "a rate of four ranks")(("learning_rate=args.base_lr", "learning_rate=args.base_lr * hvd.size()")),
    fails(1, "all images on each rank")(
        ("steps_per_epoch=len(train_iter) // hvd.size()", "steps_per_epoch=len(train_iter)")
    ),
]
