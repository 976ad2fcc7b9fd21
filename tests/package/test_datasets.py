"""Where data is looked for, and what is refused."""

import gzip
import http.server
import subprocess
import sys
import threading

import numpy as np
import pytest

from okbook import datasets
from okbook.datasets import DatasetDamaged, DatasetNotFound

RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.integers(0, 10, 30), RNG.uniform(-1, 1, (30, 16)).round(3)])


def as_text(rows, end="\n"):
    return "".join(
        " ".join(f"{value:.4f}" for value in row) + end for row in rows
    ).encode()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A dataset `toy` in the registry, OKBOOK_DATA and the cache in empty folders;
    its file's path is returned."""
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OKBOOK_OFFLINE", "1")
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)
    arrays = {"data": ROWS[:, 1:], "target": ROWS[:, 0].astype(int)}
    entry = {
        "title": "toy",
        "published": "https://example.org/toy",
        "files": {"toy.train.gz": {"url": "https://example.org/toy/toy.train.gz"}},
        "parts": {
            "train": {"file": "toy.train.gz", "parser": "usps"}
            | datasets.describe(arrays)
        },
    }
    monkeypatch.setitem(datasets.REGISTRY, "toy", entry)
    path = tmp_path / "data" / "toy" / "toy.train.gz"
    path.parent.mkdir(parents=True)
    return path


def test_order_of_the_folders(toy, tmp_path):
    cached = tmp_path / "cache" / "okbook" / "toy" / "toy.train.gz"
    cached.parent.mkdir(parents=True)
    assert not datasets.available("toy")
    cached.write_bytes(gzip.compress(as_text(ROWS)))
    assert datasets.available("toy")
    np.testing.assert_allclose(
        datasets.read_part("toy", "train")["data"],
        ROWS[:, 1:],
        rtol=0,
        atol=0,
        strict=True,
    )
    toy.write_bytes(
        gzip.compress(b"damaged")
    )  # OKBOOK_DATA comes first, even with a damaged file
    with pytest.raises(DatasetDamaged, match=str(toy)):
        datasets.read_part("toy", "train")


@pytest.mark.parametrize(
    "change", ["CR LF", "header", "no last newline", "blank lines", "unpacked"]
)
def test_copies_that_differ_in_form_are_accepted(toy, change):
    text = as_text(
        ROWS,
        "\r\n" if change == "CR LF" else "\n\n" if change == "blank lines" else "\n",
    )
    if change == "header":
        text = b"digit " + b" ".join(b"p%d" % i for i in range(16)) + b"\n" + text
    if change == "no last newline":
        text = text.rstrip()
    if change == "unpacked":
        toy.with_suffix("").write_bytes(text)
    else:
        toy.write_bytes(gzip.compress(text))
    part = datasets.read_part("toy", "train")
    assert datasets.fingerprint(**part) == datasets.check("toy")["train"]


def swapped(rows):
    return rows[np.r_[1, 0, 2:30]]


def altered(rows, i, j, value):
    rows = rows.copy()
    rows[i, j] = value
    return rows


DAMAGE = {
    "truncated archive": (gzip.compress(as_text(ROWS))[:-40], "got: "),
    "no archive": (b"<html>404</html>", "got: "),
    "an error page": (gzip.compress(b"<html>\n404\n</html>"), "got: "),
    "empty": (gzip.compress(b""), "no rows"),
    "truncated between rows": (
        gzip.compress(as_text(ROWS[:20])),
        r"shapes.*\[30, 16\].*got.*\[20, 16\]",
    ),
    "truncated in a row": (gzip.compress(as_text(ROWS)[:-60]), "got: "),
    "an altered label": (
        gzip.compress(as_text(altered(ROWS, 3, 0, (ROWS[3, 0] + 1) % 10))),
        "class_counts",
    ),
    "an altered cell": (
        gzip.compress(as_text(altered(ROWS, 3, 5, 0.123))),
        "fingerprint",
    ),
    "two rows exchanged": (gzip.compress(as_text(swapped(ROWS))), "fingerprint"),
    "a missing value": (
        gzip.compress(as_text(altered(ROWS, 3, 5, np.nan))),
        "fingerprint",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_file_is_refused_by_name(toy, damage):
    content, said = DAMAGE[damage]
    toy.write_bytes(content)
    with pytest.raises(
        DatasetDamaged,
        match=f"dataset 'toy' is damaged: .*toy.train.gz: expected .*{said}",
    ):
        datasets.read_part("toy", "train")


def test_missing_file_says_what_to_put_where(toy):
    with pytest.raises(DatasetNotFound) as caught:
        datasets.read_part("toy", "train")
    for said in (
        "'toy'",
        "https://example.org/toy;",
        "https://example.org/toy/toy.train.gz",
        str(toy),
        "switched off",
    ):
        assert said in str(caught.value)


def test_a_file_that_changes_is_read_again(toy):
    toy.write_bytes(gzip.compress(as_text(ROWS)))
    first = datasets.read_part("toy", "train")
    first["data"][:] = 0  # a caller's array is his own
    assert datasets.read_part("toy", "train")["data"].any()
    toy.write_bytes(gzip.compress(as_text(ROWS[:20])))
    with pytest.raises(DatasetDamaged):
        datasets.read_part("toy", "train")


def test_unknown_names():
    with pytest.raises(
        ValueError, match="unknown dataset 'nothing': the registry has .*digits"
    ):
        datasets.available("nothing")
    with pytest.raises(
        ValueError, match="dataset 'digits' has no part 'test': it has all"
    ):
        datasets.read_part("digits", "test")
    with pytest.raises(
        ValueError, match="subset must be 'ok3', 'train' or 'test', got 'all'"
    ):
        datasets.load_usps("all")


@pytest.fixture
def server(toy):
    """A web server on this machine that publishes `toy`."""
    content = gzip.compress(as_text(ROWS))
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{httpd.server_port}/toy.train.gz"
        datasets.REGISTRY["toy"]["files"]["toy.train.gz"]["url"] = url
        yield asked
        httpd.shutdown()


def test_download_only_when_allowed(toy, server, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for download in (None, False):  # OKBOOK_OFFLINE is set
        with pytest.raises(DatasetNotFound):
            datasets.read_part("toy", "train", download)
    monkeypatch.delenv("OKBOOK_OFFLINE")
    with pytest.raises(DatasetNotFound):
        datasets.read_part("toy", "train", download=False)
    assert server == []
    assert datasets.read_part("toy", "train")["data"].shape == (30, 16)
    assert server == ["/toy.train.gz"]
    assert (tmp_path / "cache" / "okbook" / "toy" / "toy.train.gz").exists()
    datasets.read_part("toy", "train")
    assert len(server) == 1


def test_failed_download_is_a_missing_dataset(toy, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    datasets.REGISTRY["toy"]["files"]["toy.train.gz"]["url"] = (
        "http://127.0.0.1:9/toy.train.gz"
    )
    with pytest.raises(
        DatasetNotFound, match="'toy' not found.*the download failed: .*save it as"
    ):
        datasets.read_part("toy", "train", download=True)


def test_import_touches_no_network():
    code = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "import okbook.datasets, okbook.tables, okbook.cli\n"
        "okbook.datasets.available('usps')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_registry_is_complete():
    for name, entry in datasets.REGISTRY.items():
        assert entry.keys() == {
            "title",
            "published",
            "citation",
            "licence",
            "notes",
            "files",
            "parts",
        }, name
        for file in entry["files"].values():
            assert (
                file.keys() == {"url", "bytes", "sha256"} and len(file["sha256"]) == 64
            )
        for part in entry["parts"].values():
            assert part["parser"] in datasets.PARSERS and part.get("file") in [
                None,
                *entry["files"],
            ]
            assert {"shapes", "fingerprint"} <= part.keys()
            assert len(part["fingerprint"]) == 16


def test_usps(require_dataset):
    require_dataset("usps")
    train, test, ok3 = (
        datasets.load_usps(subset) for subset in ("train", "test", "ok3")
    )
    assert train.data.shape == (7291, 256) and test.images.shape == (2007, 16, 16)
    assert train.target[:15].tolist() == [6, 5, 4, 7, 3, 6, 3, 1, 0, 1, 7, 0, 1, 1, 7]
    assert test.target[:15].tolist() == [9, 6, 3, 6, 6, 0, 0, 0, 6, 9, 6, 2, 2, 4, 0]
    assert train.data.min() == -1 and train.data.max() == 1
    seen, first = np.zeros(10, int), []  # the sentence of OK3, word for word
    for i, digit in enumerate(train.target):
        if seen[digit] < 100:
            first.append(i)
            seen[digit] += 1
    np.testing.assert_array_equal(ok3.data, train.data[first], strict=True)
    np.testing.assert_array_equal(ok3.target, train.target[first], strict=True)
    assert max(first) < 1936
    np.testing.assert_array_equal(
        np.hstack([ok3.top, ok3.bottom]), ok3.images.reshape(1000, -1), strict=True
    )


def test_truncated_usps_is_refused(require_dataset, tmp_path, monkeypatch):
    require_dataset("usps")
    whole = datasets._find("usps", "zip.train.gz").read_bytes()
    half = tmp_path / "usps" / "zip.train.gz"
    half.parent.mkdir()
    half.write_bytes(whole[: len(whole) // 2])
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    with pytest.raises(DatasetDamaged, match="'usps' is damaged: .*zip.train.gz"):
        datasets.load_usps("ok3")


def test_stand_ins():
    digits, cancer = datasets.load_digits_halves("all"), datasets.load_uci("wdbc")
    assert (
        digits.images.shape == (1797, 8, 8)
        and digits.data.min() == -1
        and digits.data.max() == 1
    )
    assert np.unique(cancer.target, return_counts=True)[1].tolist() == [357, 212]
    with pytest.raises(ValueError, match="subset must be 'ok3' or 'all', got 'test'"):
        datasets.load_digits_halves("test")


# counted on the files by hand, apart from the package: rows, attributes, categorical,
# missing, class counts
SHAPES = {
    "sonar": (208, 60, 0, 0, {"M": 111, "R": 97}),
    "liver": (345, 6, 0, 0, {1: 145, 2: 200}),
    "parkinsons": (195, 22, 0, 0, {0: 48, 1: 147}),
    "pima": (768, 8, 0, 0, {0: 500, 1: 268}),
    "ionosphere": (351, 34, 0, 0, {"b": 126, "g": 225}),
    "german": (1000, 20, 13, 0, {1: 700, 2: 300}),
    "wdbc": (569, 30, 0, 0, {"B": 357, "M": 212}),
    "australian": (690, 14, 8, 0, {0: 383, 1: 307}),
    "heart": (270, 13, 6, 0, {1: 150, 2: 120}),
    "spambase": (4601, 57, 0, 0, {0: 2788, 1: 1813}),
    "vote": (435, 16, 16, 392, {"democrat": 267, "republican": 168}),
    "chess": (3196, 36, 36, 0, {"nowin": 1527, "won": 1669}),
}


@pytest.mark.parametrize("name", datasets.UCI)
def test_uci(name, require_dataset):
    require_dataset(name)
    bunch = datasets.load_uci(name)
    n, p, categorical, missing, classes = SHAPES[name]
    assert (
        bunch.data.shape == (n, p)
        and len(bunch.feature_names) == p
        and bunch.categorical.sum() == categorical
    )
    assert np.isnan(bunch.data).sum() == missing
    assert (
        dict(
            zip(
                *(part.tolist() for part in np.unique(bunch.target, return_counts=True))
            )
        )
        == classes
    )
    assert len(set(bunch.feature_names)) == p and list(bunch.categories) == list(
        np.array(bunch.feature_names)[bunch.categorical]
    )
    assert (
        datasets.check(name)["all"] == bunch.fingerprint
        and f"**{name}**" in bunch.DESCR
    )


@pytest.mark.parametrize("name", [name for name in datasets.UCI if name != "wdbc"])
def test_uci_cell_by_cell(name, require_dataset):
    "Codes and numbers, turned back into words, are the file's fields."
    require_dataset(name)
    bunch, columns = (
        datasets.load_uci(name),
        datasets.REGISTRY[name]["parts"]["all"]["columns"],
    )
    file = next(iter(datasets.REGISTRY[name]["files"]))
    lines = datasets._find(name, file).read_text().replace(",", " ").split("\n")
    lines = [line.split() for line in lines if line.strip()][-len(bunch.target) :]
    for row, label, line in zip(bunch.data, bunch.target, lines, strict=True):
        fields = dict(zip(columns["names"], line, strict=True))
        assert fields[columns["target"]] == str(label)
        for value, name_ in zip(row, bunch.feature_names, strict=True):
            if name_ not in bunch.categories:
                assert float(fields[name_]) == value
            elif np.isnan(value):
                assert fields[name_] == "?"
            else:
                word = bunch.categories[name_][int(value)]
                assert fields[name_] == word or float(fields[name_]) == float(word)


def test_embedded_wdbc_is_the_published_file(tmp_path):
    """Where the file is at hand: equal in all values and row order, without the
    column of identifiers."""
    path = datasets._find("wdbc", "wdbc.data")
    if path is None:
        pytest.skip("no file wdbc.data")
    rows = [line.split(",") for line in path.read_text().split()]
    bunch = datasets.load_uci("wdbc")
    np.testing.assert_array_equal(
        bunch.data, np.array([row[2:] for row in rows], float), strict=True
    )
    assert bunch.target.tolist() == [row[1] for row in rows]


WORDS = ["2.50 f yes", "0 t no", "-1e3 ? yes"]
COLUMNS = {
    "names": ["x", "flag", "class"],
    "target": "class",
    "categories": {"flag": "f t"},
    "delimiter": " ",
}


@pytest.fixture
def words(toy, monkeypatch):
    """A set of numbers and words in the registry; a function that writes its file
    and reads it."""
    arrays = {
        "data": np.array([[2.5, 0], [0, 1], [-1000, np.nan]]),
        "target": np.array(["yes", "no", "yes"]),
    }
    part = {
        "file": "toy.train.gz",
        "parser": "rows",
        "columns": COLUMNS,
    } | datasets.describe(arrays)
    monkeypatch.setitem(datasets.REGISTRY["toy"]["parts"], "train", part)

    def read(lines, end="\n"):
        toy.write_bytes(gzip.compress("".join(line + end for line in lines).encode()))
        return datasets.read_part("toy", "train")

    return read


@pytest.mark.parametrize(
    "lines", [WORDS, ["x flag class", *WORDS], ["  2.5   f  yes", "", *WORDS[1:]]]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_and_numbers(words, lines, end):
    np.testing.assert_array_equal(
        words(lines, end)["data"], [[2.5, 0], [0, 1], [-1000, np.nan]]
    )


@pytest.mark.parametrize(
    "lines, said",
    [
        (
            [WORDS[0], "0 maybe no", WORDS[2]],
            "column 'flag' has 'maybe', which is none of f t",
        ),
        ([WORDS[0], "zero t no", WORDS[2]], "zero"),
        ([WORDS[0], "0 t", WORDS[2]], "index out of range|argument"),
        (WORDS[:2], "shapes"),
        ([WORDS[0], "0 t yes", WORDS[2]], "class_counts"),
        ([WORDS[0], "0 f no", WORDS[2]], "fingerprint"),
        ([], "got: "),
    ],
)
def test_damaged_words_are_refused(words, lines, said):
    with pytest.raises(DatasetDamaged, match=said):
        words(lines)


def test_unknown_uci_name():
    with pytest.raises(
        ValueError, match="name must be one of sonar, liver, .*chess, got 'usps'"
    ):
        datasets.load_uci("usps")


# Networks and proteins: what is counted here was counted on the files by hand, apart
# from the package.


def rows_of(name, file):
    "The fields of a text file of a dataset, its header first."
    path = datasets._find(name, file)
    lines = (
        (
            gzip.decompress(path.read_bytes())
            if path.suffix == ".gz"
            else path.read_bytes()
        )
        .decode()
        .splitlines()
    )
    return [line.split("," if ".csv" in file else "\t") for line in lines]


INPUT_FILES = {
    "expression": ("expression_spellman77.csv.gz", 77),
    "expression_eisen": ("expression_eisen79.csv.gz", 79),
    "localisation": ("localisation23.csv.gz", 23),
    "phylogenetic": ("phylogenetic_fungi32.csv.gz", 32),
    "phylogenetic_pavlidis": ("phylogenetic_pavlidis24.csv.gz", 24),
}


@pytest.mark.parametrize(
    "name, n, n_edges, rows",
    [("yeast_enzyme", 625, 2896, 401), ("yeast_ppi", 984, 2438, 555)],
)
def test_networks_of_yeast(name, n, n_edges, rows, require_dataset):
    require_dataset(name)
    network = getattr(datasets, f"load_{name}")()
    assert network.adjacency.dtype == np.uint8 and network.adjacency.shape == (n, n)
    assert (
        network.adjacency.sum() == 2 * n_edges
        and not network.adjacency.diagonal().any()
    )
    np.testing.assert_array_equal(network.adjacency, network.adjacency.T, strict=True)
    assert (
        len(set(network.nodes)) == len(network.genes) == n
        and network.adjacency.any(axis=1).all()
    )
    edges = {
        (network.nodes[i], network.nodes[j])
        for i, j in zip(*np.nonzero(np.triu(network.adjacency)), strict=True)
    }
    assert edges == {tuple(row[:2]) for row in rows_of(name, "edges.tsv.gz")[1:]}
    complete = np.ones(n, bool)
    for key, (file, p) in INPUT_FILES.items():
        header, *lines = rows_of(name, file)
        values = {
            line[0]: [float(cell or "nan") for cell in line[1:]] for line in lines
        }
        assert network.input_names[key] == header[1:] and network.inputs[key].shape == (
            n,
            p,
        )
        for node, row in zip(network.nodes, network.inputs[key], strict=True):
            np.testing.assert_array_equal(row, values.get(node, np.full(p, np.nan)))
        complete &= ~np.isnan(network.inputs[key]).all(axis=1)
    assert complete.sum() == rows
    assert (
        f"**{name}**" in network.DESCR
        and "SUBSTITUTE" in network.DESCR
        and len(network.fingerprint) == 16
    )


def test_what_is_known_of_the_nodes(require_dataset):
    require_dataset("yeast_enzyme", "yeast_ppi")
    enzymes, proteins = datasets.load_yeast_enzyme(), datasets.load_yeast_ppi()
    assert dict(zip(enzymes.nodes, enzymes.genes, strict=True))["YAL038W"] == "CDC19"
    assert (
        dict(zip(enzymes.nodes, enzymes.pathways, strict=True))["YAL038W"]
        == "Glycolysis / gluconeogenesis"
    )
    assert dict(zip(proteins.nodes, proteins.genes, strict=True))["YAL003W"] == "EFB1"
    assert all(gene and gene == gene.upper() for gene in proteins.genes)
    assert (
        set(proteins.classes) == {*datasets.MIPS_CLASSES, ""}
        and (proteins.classes == "").sum() == 10
    )


@pytest.mark.parametrize(
    "nodes, n, n_edges", [("words", 1458, 2933), ("1999", 1394, 2745)]
)
def test_nips_coauthors(nodes, n, n_edges, require_dataset):
    require_dataset("nips_coauthors")
    bunch = datasets.load_nips_coauthors(nodes)
    assert (
        bunch.adjacency.shape == (n, n)
        and bunch.adjacency.nnz == 2 * n_edges
        and bunch.adjacency.dtype == np.uint8
    )
    assert (
        bunch.adjacency != bunch.adjacency.T
    ).nnz == 0 and bunch.adjacency.diagonal().sum() == 0
    assert (
        bunch.counts.shape == (n, 14036)
        and bunch.counts.sum(axis=1).min() > 0
        and len(set(bunch.nodes)) == n
    )
    assert len(bunch.words) == 14036 and (bunch.counts.sum(axis=0) == 0).sum() >= 387
    names = np.array(
        [row[1] for row in rows_of("nips_coauthors", "authors.tsv.gz")[1:]]
    )
    place = {name: i for i, name in enumerate(bunch.nodes)}
    years, edges = bunch.first_year.toarray(), bunch.adjacency.toarray()
    for first, second, _, year in rows_of("nips_coauthors", "edges.tsv.gz")[1:]:
        i, j = place.get(names[int(first)]), place.get(names[int(second)])
        if i is not None and j is not None:
            assert years[i, j] == years[j, i] == int(year)
            assert edges[i, j] == (nodes == "words" or int(year) <= 1999)
    assert nodes == "1999" or bunch.first_year.nnz == bunch.adjacency.nnz


def test_networks_of_coauthors_have_the_published_size(require_dataset):
    "RRSN, section 6.4: 2865 authors, 2026 with at least two links, density 0.002."
    require_dataset("nips_coauthors")
    year = datasets._author_matrices(
        **{
            part: datasets.read_part("nips_coauthors", part)
            for part in ("authors", "edges", "words", "counts")
        }
    )[1]
    kept = np.flatnonzero(np.diff(year.indptr) >= 2)
    assert year.shape == (2865, 2865) and year.nnz == 2 * 4733 and len(kept) == 2026
    assert year[kept][:, kept].nnz == 2 * 4191
    assert np.diff(year.indptr).tolist() == [
        int(row[4]) for row in rows_of("nips_coauthors", "authors.tsv.gz")[1:]
    ]
    early = year.copy()
    early.data[early.data > 1999] = 0
    early.eliminate_zeros()
    assert early.nnz == 2 * 3131


PROTEINS = {
    "psortPos": (
        [194, 103, 61, 183],
        ["Cytoplasmic", "CytoplasmicMembrane", "Cellwall", "Extracellular"],
        541,
    ),
    "psortNeg_like": (
        [278, 309, 276, 391, 190],
        [
            "Cytoplasmic",
            "CytoplasmicMembrane",
            "Periplasmic",
            "OuterMembrane",
            "Extracellular",
        ],
        777,
    ),
    "plant_like": (
        [141, 368, 269, 162],
        ["Chloroplast", "Mitochondrion", "SecretoryPathway", "Other"],
        0,
    ),
}


@pytest.mark.parametrize("name", PROTEINS)
def test_proteins(name, require_dataset):
    require_dataset(name)
    bunch = datasets.load_proteins(name)
    counts, classes, originals = PROTEINS[name]
    n = sum(counts)
    assert (
        np.bincount(bunch.target).tolist() == counts and bunch.target_names == classes
    )
    assert (bunch.source == "psortb2").sum() == originals and len(set(bunch.ids)) == n
    rows = rows_of(name, "proteins.tsv")[1:]
    assert [row[4] for row in rows] == bunch.sequences.tolist() and [
        row[0] for row in rows
    ] == bunch.ids.tolist()
    assert [row[2] for row in rows] == [classes[code] for code in bunch.target]
    assert bunch.neglog10_evalues.shape == (n, n) and bunch.genome_bits.shape == (
        n,
        68,
    ) == (
        n,
        len(bunch.genome_taxids),
    )
    assert (
        bunch.neglog10_evalues.min() == -2
        and bunch.neglog10_evalues.max() <= 180
        and bunch.genome_bits.min() == 0
    )
    assert (
        set(datasets.check(name)) == {"proteins", "blast"}
        and f"**{name}**" in bunch.DESCR
    )


DERIVED = ("yeast_enzyme", "yeast_ppi", "nips_coauthors", *PROTEINS)
LOADERS = {
    "yeast_enzyme": datasets.load_yeast_enzyme,
    "yeast_ppi": datasets.load_yeast_ppi,
    "nips_coauthors": datasets.load_nips_coauthors,
} | {name: (lambda name=name: datasets.load_proteins(name)) for name in PROTEINS}


@pytest.mark.parametrize("name", DERIVED)
def test_missing_derived_set_names_its_sources(name, tmp_path, monkeypatch):
    """There is no address to download from: the error says so, and nothing is asked
    of the network."""
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.delenv("OKBOOK_OFFLINE", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(
        datasets, "_download", lambda *_: pytest.fail("a download was tried")
    )
    with pytest.raises(DatasetNotFound) as caught:
        LOADERS[name]()
    file = next(iter(datasets.REGISTRY[name]["files"]))
    for said in (
        f"'{name}'",
        "derived for this book",
        "https://",
        f"description('{name}')",
        str(tmp_path / name / file),
    ):
        assert said in str(caught.value)
    assert not datasets.available(name)


FILES = [(name, file) for name in DERIVED for file in datasets.REGISTRY[name]["files"]]
FAULTS = [(*file, damage) for file in FILES for damage in ("cut", "page", "cell")]


# an archive has check sums of its own: no cell of it can change unnoticed
@pytest.mark.parametrize(
    "name, file, damage",
    [
        fault
        for fault in FAULTS
        if not (fault[1].endswith("npz") and fault[2] == "cell")
    ],
)
def test_damaged_derived_file_is_refused(
    name, file, damage, require_dataset, tmp_path, monkeypatch
):
    require_dataset(name)
    whole = datasets._find(name, file).read_bytes()
    if damage == "cell":
        text = gzip.decompress(whole) if file.endswith("gz") else whole
        last = text.rstrip()[-1:]
        whole = text.rstrip()[:-1] + (b"1" if last == b"0" else b"0") + b"\n"
        whole = gzip.compress(whole) if file.endswith("gz") else whole
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    (tmp_path / name).mkdir()
    (tmp_path / name / file).write_bytes(
        {"cut": whole[: len(whole) // 2], "page": b"<html>404</html>", "cell": whole}[
            damage
        ]
    )
    part = next(
        part
        for part, e in datasets.REGISTRY[name]["parts"].items()
        if e["file"] == file
    )
    with pytest.raises(
        DatasetDamaged, match=f"'{name}' is damaged: .*{file}: expected"
    ):
        datasets.read_part(name, part)


def test_unknown_networks_and_proteins():
    with pytest.raises(
        ValueError, match="nodes must be 'words', '1999' or 'all', got '2003'"
    ):
        datasets.load_nips_coauthors("2003")
    with pytest.raises(
        ValueError,
        match="name must be one of psortPos, psortNeg_like, plant_like, got 'psortNeg'",
    ):
        datasets.load_proteins("psortNeg")


def test_counts_are_papers_times_words(require_dataset):
    """The words of an author are those of his papers, where the files with the
    papers are at hand too."""
    require_dataset("nips_coauthors")
    from scipy.sparse import csr_array, load_npz

    if not all(
        datasets._find("nips_coauthors", f)
        for f in ("docs.tsv.gz", "doc_word_counts_1987_1999.npz")
    ):
        pytest.skip("no papers")
    papers = rows_of("nips_coauthors", "docs.tsv.gz")[1:]
    pairs = [
        (int(author), int(row[0]))
        for row in papers
        for author in row[3].split()
        if int(row[2]) <= 1999
    ]
    ends = tuple(zip(*pairs, strict=True))
    incidence = csr_array((np.ones(len(pairs), int), ends), shape=(2865, 1740))
    words = load_npz(datasets._find("nips_coauthors", "doc_word_counts_1987_1999.npz"))
    expected = incidence @ csr_array(words)
    bunch = datasets.load_nips_coauthors("words")
    names = [row[1] for row in rows_of("nips_coauthors", "authors.tsv.gz")[1:]]
    assert (
        expected[[names.index(name) for name in bunch.nodes]] != bunch.counts
    ).nnz == 0


def test_people_know_whom_they_meet_along_the_road():
    "Links are as frequent as the way along the road says, not as the distance."
    X, A = datasets.make_winding_road(2000, reach=0.1, random_state=0)
    assert (A == A.T).all() and not A.diagonal().any() and set(A.flat) == {0, 1}
    again = datasets.make_winding_road(2000, reach=0.1, random_state=0)
    assert (again[0] == X).all() and (again[1] == A).all()
    # the places without the deviates: the road's radius grows from the middle to 1
    t = np.sqrt(np.sort(np.random.default_rng(0).random(2000)))
    road = t[:, None] * np.c_[np.cos(5 * np.pi * t), np.sin(5 * np.pi * t)]
    assert abs(np.std(X - road) - 0.02) < 1e-3
    way = np.insert(np.hypot(*np.diff(road, axis=0).T).cumsum(), 0, 0)
    i, j = np.triu_indices(2000, 1)
    apart = way[j] - way[i]
    for low, high in ((0, 0.01), (0.05, 0.06), (0.1, 0.11), (0.2, 0.21)):
        pairs = (apart >= low) & (apart < high)
        wanted = 0.9 * np.exp(-(apart[pairs] ** 2) / 0.02)
        spread = np.sqrt((wanted * (1 - wanted)).sum())
        assert abs(A[i, j][pairs].sum() - wanted.sum()) < 5 * spread
    assert not A[i, j][apart > 1].any()
