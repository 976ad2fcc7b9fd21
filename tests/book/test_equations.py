"""Every equation of a source is derived on a page, implemented by a function, and
tested."""

import pytest

from okbook_book.equations import equation_index, name, sort_key

INDEX = equation_index()


@pytest.mark.parametrize("label", INDEX)
def test_has_page_function_and_test(label):
    entry = INDEX[label]
    assert not entry.missing, (
        f"{label} ({name(label)}) lacks: {', '.join(entry.missing)}"
    )
    assert len(set(entry.pages)) == 1, (
        f"{label} is derived on several pages: {entry.pages}"
    )


def test_all_equations_of_ok3_are_there():
    assert {f"eq-ok3-{n}" for n in range(1, 22)} <= INDEX.keys()


def test_order_and_names():
    ok3, mkl, rrsn = (
        "eq-ok3-{}".format,
        "eq-mkl-{}".format,
        "thm-rrsn-{}".format,
    )  # no labels of this file's own
    assert sorted([mkl(2), ok3(10), ok3(9)], key=sort_key) == [ok3(9), ok3(10), mkl(2)]
    assert name(ok3(11)) == "OK3 eq. 11"
    assert name(rrsn(4)) == "RRSN thm. 4"


def test_a_missing_part_is_noticed(tmp_path):
    one, two = map("eq-ok3-{}".format, (1, 2))
    for folder in ("nbs", "okbook", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "nbs" / "page.md").write_text(
        f"$$\na = b\n$$ ({one})\n\n$$\nc\n$$ ({two})\n"
    )
    (tmp_path / "okbook" / "m.py").write_text(f'def f():\n    "As in {one}."\n')
    (tmp_path / "tests" / "test_m.py").write_text(
        f'def test_f():\n    "{one}"\n    assert True\n'
    )
    index = equation_index(tmp_path)
    assert index[one].missing == []
    assert index[two].missing == ["functions", "tests"]
    assert index[one].functions == ["okbook.m.f"]
