"""Which of nbgrader's pages JupyterLab shows: those of the exchange only where a class has one."""

import pytest

from course import __main__ as command


@pytest.mark.parametrize(
    ("name", "text", "has"),
    [
        ("nbgrader_config.py", "c.Exchange.root = '/shared/exchange'", True),
        ("nbgrader_config.json", '{"Exchange": {"root": "/shared/exchange"}}', True),
        ("nbgrader_config.py", "c.Exchange.assignment_dir = '.'", False),
        ("other.py", "c.Exchange.root = '/shared/exchange'", False),
    ],
)
def test_a_class_has_an_exchange_where_settings_or_the_machine_have_one(tmp_path, monkeypatch, name, text, has):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(command, "EXCHANGE", tmp_path / "exchange")
    (tmp_path / name).write_text(text)
    assert command._has_exchange() == has
    (tmp_path / "exchange").mkdir()
    assert command._has_exchange()
