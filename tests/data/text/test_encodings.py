"""The encoding of a text is told from its bytes, and what cannot be told is left to UTF-8, which refuses it."""

import pytest

from zoo.data.text import encodings


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"plain", "utf-8"),
        ("Grüße".encode(), "utf-8"),
        ("Grüße".encode("cp1252"), "cp1252"),
        (b"na\xefve \x81 text", "latin-1"),
        ("Grüße".encode("utf-8-sig"), "utf-8-sig"),
        ("Grüße".encode("utf-16"), "utf-16"),
        ("Grüße, wie es Brauch ist".encode("utf-16-le"), "utf-16-le"),
        ("Grüße, wie es Brauch ist".encode("utf-16-be"), "utf-16-be"),
        ("Grüße".encode("utf-32"), "utf-32"),
        ("Grüße, Größe".encode() + b" \xff", "utf-8"),  # damaged
        ("Привет, мир".encode("cp1251"), "utf-8"),  # of another script
        ("日本語の文章".encode("shift_jis"), "utf-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0", "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_encodings_are_told_from_bytes(content: bytes, encoding: str) -> None:
    assert encodings.detect(content) == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("这家酒店的房间很干净,服务也不错,下次还会再来。\n", "gb18030"),
        ("Отличный отель, чистые номера.\n", "cp1251"),
        ("이 호텔은 매우 좋았습니다.\n", "cp949"),
        ("這家酒店的房間很乾淨,服務也不錯。早餐種類太少。\n", "big5"),
    ],
)
def test_encodings_of_other_scripts_are_proposed(text: str, encoding: str) -> None:
    assert encodings.proposed((f"id,text,label\n1,{text}" * 20).encode(encoding))[0] == encoding


def test_no_encoding_is_proposed_for_damaged_utf8() -> None:
    assert encodings.proposed("Grüße, Größe\n".encode() + b"\xff") == []


def test_for_a_damaged_text_of_another_script_its_encoding_is_proposed() -> None:
    text = ("却说曹操引兵至" * 40 + "\n") * 30
    content = text.encode("gb18030")
    damaged = content[:999] + b"\xff" + content[999:] + "广告\n".encode()
    assert encodings.proposed(damaged)[0] == "gb18030"
    assert encodings.damage(content, "gb18030") == 0
    assert 0 < encodings.damage(damaged, "gb18030") < 9
