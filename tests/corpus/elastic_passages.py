"""Passages of step 20's solution that several rows of the corpus replace."""

from tests.corpus.variant import passage

ELASTIC = "hosts/fashion_mnist_elastic.py"

RUN = passage(ELASTIC, "@hvd.elastic.run")
RATE = passage(ELASTIC, "rate = args.base_lr * hvd.size()", "optimizer.learning_rate.assign")
ASSIGN = passage(ELASTIC, "optimizer.learning_rate.assign")
SHUFFLE = "np.random.default_rng(state.epoch)"
LOOP = passage(ELASTIC, "for step, start in enumerate(")
CHOSEN = passage(ELASTIC, "chosen = order[")
MINE = passage(ELASTIC, "mine = chosen[")
STEP = passage(ELASTIC, "            try:", "raise HorovodInternalError")
SEEN = passage(ELASTIC, "state.seen = start + len(chosen)")
COMMIT = passage(ELASTIC, "if step % args.commit_steps == 0", "state.commit()")
NEXT = passage(ELASTIC, "state.epoch, state.seen = state.epoch + 1, 0")
START = passage(ELASTIC, "train(hvd.elastic.TensorFlowKerasState")
STATE = "hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0, seen=0)"
