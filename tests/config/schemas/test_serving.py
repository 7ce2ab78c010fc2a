"""zoo.config.schemas.serving: words are settings of the server or of the model before them."""

import pytest

from zoo.config.schemas import serving
from zoo.core.errors import ZooError


def refusal(*words: str) -> str:
    with pytest.raises(ZooError) as caught:
        serving.take_apart(list(words))
    return str(caught.value)


def test_words_belong_to_the_server_or_to_the_model_before_them() -> None:
    server, models = serving.take_apart(
        ["port=0", "run=a", "top=3", "max_wait_ms=1.5", "model=mnist", "weights=zoo", "host=localhost"]
    )
    assert (server.port, server.max_wait_ms, server.host, server.max_batch) == (0, 1.5, "localhost", 64)
    assert [each.words for each in models] == [["run=a", "top=3"], ["model=mnist", "weights=zoo"]]


def test_a_model_file_belongs_to_the_run_before_it() -> None:
    _, models = serving.take_apart(["run=a", "model=own.py", "run=b"])
    assert [each.words for each in models] == [["run=a", "model=own.py"], ["run=b"]]
    _, models = serving.take_apart(["model=own.py"])
    assert [each.words for each in models] == [["model=own.py"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "'run' is not a setting\nSettings are written as KEY=VALUE."),
        ([], "No model is named"),
        (["port=0"], "No model is named"),
        (["top=3"], "There is no setting of the server called 'top'"),
        (["prt=3", "run=a"], "did you mean 'port'"),
        (["run=a", "port=many"], "port must be a whole number, got 'many'"),
        (["run=a", "port=1.5"], "port must be a whole number, got '1.5'"),
        (["run=a", "timeout_s=long"], "timeout_s must be a number, got 'long'"),
        (["run=a", "port=65536"], "port must be from 0 to 65,535, got 65536"),
        (["run=a", "port=many", "decoders=0"], "2 settings are wrong"),
        (["run=a", "max_pending_mb=31.5"], "max_pending_mb must be at least max_body_mb, 32, got 31.5"),
        (["run=a", "host=0.0.0.0", "token=none"], "token=none is for 127.0.0.1 only: anybody who reaches 0.0.0.0"),
        (["run=a", "token="], "token must have 1 to 256 ASCII characters and no spaces"),
        (["run=a", "token=a b"], "token must have 1 to 256 ASCII characters"),
        (["run=a", "token=" + "x" * 257], "token must have 1 to 256 ASCII characters"),
        (["run=a", "host="], "host must be an address such as 127.0.0.1, got ''"),
        (["run=a", "host= "], "host must be an address such as 127.0.0.1, got ' '"),
        (["run=a", "hosts=x.org,a b"], "hosts must be names such as box.local, separated by commas, got 'a b'"),
        (["run=a", "hosts=*"], "hosts must be names such as box.local, separated by commas, got '*'"),
    ],
)
def test_one_mistake_names_what_was_received(words: list[str], said: str) -> None:
    assert said in refusal(*words)


@pytest.mark.parametrize("words", [["max_pending_mb=32"], ["token=none"], ["token=none", "host=127.8.9.1"],
                                   ["token=" + "x" * 256], ["host=0.0.0.0"], ["hosts=a, b.org,"]])  # fmt: skip
def test_valid_settings_of_the_server(words: list[str]) -> None:
    serving.take_apart([*words, "run=a"])


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.1.2.3", True), ("0.0.0.0", False),  # noqa: S104
     ("10.127.0.1", False), ("127.0.0.1.example.org", False)],
)  # fmt: skip
def test_which_addresses_are_of_this_computer_only(host: str, is_loopback: bool) -> None:
    assert serving.ServeConfig(host=host).is_loopback is is_loopback
