"""Wrong estimates of step 23."""

from tests.corpus.variant import wrong


def _answer(name, old, new, check):
    return wrong(23, name, check=check)((old, new))


WRONG = (
    wrong(23, "nothing done at step 23", base="scaling/estimates_starter.toml", check="allreduce", in_ci=True)(),
    _answer("one half of the allreduce", "= 249.8", "= 124.9", "allreduce"),
    _answer("bytes as bits", "= 249.8", "= 31.2", "allreduce"),
    _answer("seconds in place of milliseconds", "= 249.8", "= 0.2498", "allreduce"),
    _answer("no overlap", "efficiency = 26.3", "efficiency = 23.24", "efficiency"),
    _answer("full overlap", "efficiency = 26.3", "efficiency = 30.28", "efficiency"),
    _answer("a share in place of percent", "efficiency = 26.3", "efficiency = 0.263", "efficiency"),
    _answer("half of the batch", "batch = 537", "batch = 268", "batch"),
    _answer("twice as many GPUs", "gpus = 16", "gpus = 32", "gpus"),
    _answer("half as many GPUs", "gpus = 16", "gpus = 8", "gpus"),
    _answer("one GPU more", "gpus = 16", "gpus = 17", "gpus"),
    _answer("the higher limit", "limit = 1100", "limit = 1237", "limit"),
    _answer("communication in no time", "limit = 1100", "limit = 2464", "limit"),
    _answer("the energy of one GPU", "energy = 45.38", "energy = 2.84", "energy"),
    _answer("watts in place of kilowatts", "energy = 45.38", "energy = 45380", "energy"),
    _answer("a word in place of a number", "energy = 45.38", 'energy = "much"', "energy"),
    _answer("true in place of a number", "gpus = 16", "gpus = true", "gpus"),
    _answer("a field that is missing", "limit = 1100  # images per second\n", "", "limit"),
    wrong(23, "the answers of another seed", check="allreduce")(("seed = 1", "seed = 2")),
    wrong(23, "a seed that is none", check="allreduce")(("seed = 1", 'seed = "mine"')),
    wrong(23, "no table", check="allreduce")(("[answers]\n", "")),
    wrong(23, "no TOML", fails=0)(("seed = 1", "seed: 1")),
)
