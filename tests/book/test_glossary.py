"""The glossary has a French term for each entry, and an index of the sources' terms
that agrees with the entries; the page of notation lists the symbols of each source."""

import re

import pytest

from okbook_book.equations import SOURCES
from okbook_book.project import ROOT

GLOSSARY = (ROOT / "nbs" / "glossary.md").read_text(encoding="utf8")
NOTATION = (ROOT / "nbs" / "notation.md").read_text(encoding="utf8")
ENTRIES = dict(
    block.split("\n", 1)
    for block in re.search(r"```\{glossary\}\n(.*?)\n```", GLOSSARY, re.S)[1].split(
        "\n\n"
    )
)


def french(entry):
    "The French terms of an entry; terms before one bracket share its sources."
    out = []
    for part in ENTRIES[entry].rsplit("French: ", 1)[1].split(";"):
        used = re.search(r"\[([^\]]+)\]", part)
        sources = tuple(used[1].split(", ")) if used else ()
        out += [(term, sources) for term in re.findall(r"\*([^*]+)\*", part)]
    return out


def rows(text):
    "The rows of the tables in a text, without their heads."
    found = [
        tuple(cell.strip() for cell in re.split(r"\n  - ", row))
        for table in re.findall(r"```\{list-table\}\n(.*?)\n```", text, re.S)
        for row in re.split(r"^\* - ", table, flags=re.M)[2:]
    ]
    assert found
    return found


def has_french_terms(entry):
    "Of sources that are known."
    if not ENTRIES[entry].startswith("  ") or ENTRIES[entry].count("French: ") != 1:
        return False
    terms = french(entry)
    sources = {source for _, used in terms for source in used}
    named = bool(terms) and all(term.strip() for term, _ in terms)
    return named and sources <= set(SOURCES.values())


def test_every_entry_has_a_french_term():
    assert len(ENTRIES) > 100
    assert not [entry for entry in ENTRIES if not has_french_terms(entry)]


def test_entries_are_in_order():
    assert list(ENTRIES) == sorted(ENTRIES, key=str.lower)


def test_the_index_is_that_of_the_entries():
    "Both ways: the French term, the entry, and the sources."
    index = {
        (
            re.match(r"\*(.+?)\*", term)[1],
            re.fullmatch(r"\{term\}`(.+)`", entry)[1],
            used,
        )
        for term, entry, used in rows(GLOSSARY[GLOSSARY.index("(glossary-french)=") :])
    }
    wanted = {
        (term, entry, ", ".join(used))
        for entry in ENTRIES
        for term, used in french(entry)
        if used
    }
    assert index == wanted


# What a reader of a source looks up: the symbols of its numbered statements.
SYMBOLS = {
    "OK3": r"LS N_{LS} E_{x,y} T S_l N_r \hat\phi_L k_t M V K \phi \hat\phi_L \ell",
    "RRSN": r"\mathcal{O} f_\theta \kappa_y K_{Y_\ell} \mathcal{F}_y \kappa_x L V_j U"
    r" \mathcal{K}_x \mathcal{H} \mathbf{c}_j Y_\ell \lambda_1 \lambda_2 W \beta_2",
    "Forest": r"\tilde K \varphi A(S, K_{ens} T_{ij} l_i D M p \theta \rho \alpha_i",
    "MKL": r"k_\mu \mathbf{z} t_{y,y'} \lambda R_2 R_1 R_2^Q R_1^Q Q_{ij} \alpha_i l",
    "Votes": r"A' h_t H(x) w_i \epsilon_t \alpha_t Z_t r_t f(x) \theta \mathcal{C} m",
}


@pytest.mark.parametrize("source", SOURCES.values())
def test_notation_starts_from_the_symbols_of_each_source(source):
    part = NOTATION[NOTATION.index("(notation-sources)=") :]
    part = part[: part.index("(notation-letters)=")]
    table = rows(re.search(rf"^### {source}$(.*?)(?=^###|\Z)", part, re.M | re.S)[0])
    theirs = " ; ".join(row[0] for row in table)
    assert all(len(row) == 3 and all(row) for row in table)
    lacking = [s for s in SYMBOLS[source].split() if not _names(theirs, s)]
    assert not lacking


def _names(text, symbol):
    return re.search(rf"(?<![A-Za-z\\]){re.escape(symbol)}(?![A-Za-z])", text)
