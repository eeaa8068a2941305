"""The result of a hunt's job is found in what its programs print."""

import pytest

from grader.watchers.hunt_watcher import LONGEST, _result


@pytest.mark.parametrize(
    "printed",
    [
        '{"updates": 20}\n',
        'server: ready\n{"updates": 20}\nworker: done\n',
        'worker: done{"updates": 20}\n\n',
        '{"updates": 20}worker: {done}\n',
        '{"updates": 10}\n{"updates": 20}\n',
    ],
    ids=["alone", "among others", "after another program's line", "before another program's line", "the last of two"],
)
def test_a_result_is_found_where_several_programs_print(printed):
    assert _result(printed) == {"updates": 20}


@pytest.mark.parametrize(
    "printed",
    ["", "worker: done\n", '{"updates": \n', "[20]\n", '{"a":' * 300 + "\n", f'{{"updates": "{"x" * LONGEST}"}}\n'],
    ids=["nothing", "no object", "half an object", "a list", "nested", "too long"],
)
def test_other_output_is_no_result(printed):
    assert _result(printed) == {}
