"""The primer: what its two pages claim is searched for counterexamples, each of their
sections is complete, and the chapters that need it refer to it."""

import itertools
import re

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from okbook.core import is_psd, refute
from okbook_book.project import ROOT, notebooks

PAGES = {
    path.stem: "\n".join(
        "".join(cell["source"])
        for cell in nb["cells"]
        if cell["cell_type"] == "markdown"
    )
    for path, nb in notebooks()
}
PRIMER = ("95_hilbert", "96_duality")
CHAPTERS = sorted(name for name in PAGES if re.match(r"0\d_", name))


def survives(claim, draw, **search):
    found = refute(claim, draw, **search)
    assert found.survived, found


def falls(claim, draw, **search):
    assert not refute(claim, draw, **search).survived, claim.__doc__


def whole(rng, *shape):
    return rng.integers(-2, 3, size=shape).astype(float)


# Hilbert spaces


def draw_cone(rng, size):
    "A cone, a point, and another point of the cone."
    A = whole(rng, size, size + 1)
    return A, rng.normal(size=size), A @ rng.exponential(size=size + 1)


def test_the_nearest_point_of_a_convex_set():
    def obtuse(A, u, rival):
        "from the nearest point the angle between u and any other point is obtuse"
        p = A @ nnls(A, u)[0]
        nearer = np.linalg.norm(u - rival) < np.linalg.norm(u - p) - 1e-9
        return bool((u - p) @ (rival - p) <= 1e-8 and not nearer)

    def orthogonal(A, u, rival):
        "the difference from the nearest point is orthogonal to the set"
        p = A @ nnls(A, u)[0]
        return bool(abs((u - p) @ (rival - p)) <= 1e-8)

    survives(obtuse, draw_cone, sizes=range(1, 6))  # thm-primer-projection, 2
    falls(orthogonal, draw_cone, sizes=range(1, 6))  # part 3 needs a subspace


def test_farkas():
    def either(A, b, rival):
        "either Ax = b for an x >= 0, or A'y >= 0 and b'y < 0 for y = p - b"
        p = A @ nnls(A, b)[0]
        y = p - b
        solved = np.linalg.norm(y) < 1e-8
        return bool(solved or (A.T @ y).min() > -1e-7 and b @ y < 0)

    survives(either, draw_cone, sizes=range(1, 6))  # lem-primer-farkas


def draw_operator(rng, size):
    "A matrix, and two bases."
    return whole(rng, size, size), *np.linalg.qr(rng.normal(size=(2, size, size)))[0]


def test_norms_of_an_operator():
    def largest(A):
        "The factor by which A stretches, by power iteration on A'A, not by an SVD."
        v = np.sin(np.arange(1.0, len(A) + 1))  # in no null space of whole numbers
        for _ in range(4000):
            w = A.T @ (A @ v)
            if np.linalg.norm(w) < 1e-12:
                return 0.0
            v = w / np.linalg.norm(w)
        return np.linalg.norm(A @ v)

    def same(A, U, V):
        "|A| = |A*|"
        return bool(np.isclose(largest(A), largest(A.T), rtol=1e-4, atol=1e-6))

    def basis(A, U, V):
        "the Hilbert-Schmidt norm does not depend on the basis"
        return bool(np.isclose(np.sum((A @ U) ** 2), np.sum((A.T @ V) ** 2)))

    def entries(A, U, V):
        "the sum of the absolute entries does not depend on the basis"
        return bool(np.isclose(np.abs(A @ U).sum(), np.abs(A).sum()))

    survives(same, draw_operator, tries=100, sizes=range(1, 4))  # thm-primer-adjoint
    survives(basis, draw_operator, sizes=range(1, 6))  # thm-primer-schmidt
    falls(entries, draw_operator, sizes=range(1, 6))


def test_the_square_root_is_the_only_positive_one():
    def draw(rng, size):
        R = whole(rng, size, size)
        return R @ R.T, np.linalg.qr(rng.normal(size=(size, size)))[0]

    def root(K, Q):
        s, U = np.linalg.eigh(K)
        return U * np.sqrt(s.clip(0)) @ U.T

    def squares(K, Q):
        "the root is positive semi-definite, its square is K, and it follows a rotation"
        S = root(K, Q)
        turned = root(Q @ K @ Q.T, Q)
        return bool(
            np.allclose(S @ S, K, atol=1e-9)
            and is_psd(S)
            and np.allclose(turned, Q @ S @ Q.T, atol=1e-6)
        )

    def of_entries(K, Q):
        "the roots of the absolute entries of a Gram matrix are a Gram matrix"
        return bool(np.linalg.eigvalsh(np.sqrt(np.abs(K)))[0] > -1e-9)

    survives(squares, draw, sizes=range(1, 5))  # thm-primer-root
    falls(of_entries, draw, sizes=range(2, 5))  # ex-primer-entries


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_what_breaks_in_infinite_dimension(n):
    i = np.arange(1, n + 1.0)
    D = 1 / i  # diagonal, injective, not bounded below
    wanted = 1 / i
    assert np.isclose(np.sum((wanted / D) ** 2), n)  # the solution grows without bound
    shift = np.eye(n, n + 1, k=1).T[:, :n]  # into one more dimension
    assert np.array_equal(shift.T @ shift, np.eye(n))
    assert not np.array_equal(shift @ shift.T, np.eye(n + 1))
    spike_norm = 2 / (3 * n)  # value one, norm to zero
    x = (np.arange(200 * n) + 0.5) / (200 * n)
    spike = np.clip(1 - n * np.abs(x - 0.5), 0, None)
    assert np.isclose(np.mean(spike**2), spike_norm, rtol=1e-3)


def test_the_least_norm_with_given_values():
    def draw(rng, size):
        "Points, values, and coefficients of a function on twice as many points."
        x = np.sort(rng.choice(np.arange(1, 41), 2 * size, replace=False)) / 40
        return x, rng.normal(size=size), rng.normal(size=2 * size)

    def least(x, y, b):
        "no function with the same values has a smaller norm"
        K = np.minimum.outer(x, x)
        known = slice(0, len(y))
        c = np.linalg.solve(K[known, known], y)
        b = b.copy()  # changed at the known points such that the values are right
        b[known] += np.linalg.solve(K[known, known], y - K[known] @ b)
        assert np.allclose(K[known] @ b, y)
        return bool(b @ K @ b >= y @ c - 1e-7)

    survives(least, draw, sizes=range(1, 6))  # thm-primer-rkhs, 4


# duality


def test_slater_is_needed():
    """In example (c) every multiplier leaves the gap of one; in (b) there is no gap,
    and no multiplier."""
    for alpha in np.geomspace(1e-6, 1e6, 25):
        x = np.array([1.0, 10.0, 100.0, 700.0, 1e4, 1e9])
        lagrangian = np.exp(-x) + alpha * x**2 / (x**3 * max(1.0, alpha) * 1e3)
        assert lagrangian.min() < 1e-9  # pairs with y = 1000 max(1, alpha) x^3
        x = -1 / (2 * alpha)
        q = x + alpha * x**2
        assert np.isclose(q, -1 / (4 * alpha)) and q < 0
    admitted = np.exp(-0.0)  # only x = 0 satisfies x^2 / y <= 0
    assert admitted == 1


def test_slater():
    """Random convex quadratic problems with a point inside: the dual by its own
    maximisation over a grid of multipliers has the value of the primal problem."""

    def draw(rng):
        c, centre = rng.normal(size=(2, 2))
        return c, centre, rng.uniform(0.3, 2.0)

    def no_gap(c, centre, radius):
        "the nearest point of a disc: the best multiplier leaves no gap"
        distance = np.linalg.norm(c - centre)
        primal = max(0.0, distance - radius) ** 2 / 2
        alpha = np.linspace(0, 30, 60_001)
        # L = |x - c|^2 / 2 + alpha (|x - centre|^2 - radius^2) / 2
        dual = alpha / (1 + alpha) * distance**2 / 2 - alpha * radius**2 / 2
        assert dual.max() <= primal + 1e-12  # eq-primer-weak
        return bool(np.isclose(dual.max(), primal, atol=1e-5))

    survives(no_gap, draw, tries=200)  # thm-primer-slater


def test_linear_programs_and_complementary_slackness():
    def draw(rng, size):
        A = rng.integers(-1, 4, size=(size, size + 1)).astype(float)
        return A, rng.integers(-1, 3, size).astype(float), rng.integers(1, 4, size + 1)

    def dual(A, b, c):
        "the two programs have one value, and multipliers times slack vanish"
        primal = linprog(c, A_ub=-A, b_ub=-b)
        other = linprog(-b, A_ub=A.T, b_ub=c)
        if primal.status == 2:  # infeasible: the dual has no bound (y = 0 is feasible)
            return other.status in (3, 4)
        x, y = primal.x, other.x
        return bool(
            np.isclose(primal.fun, -other.fun, atol=1e-7)
            and np.allclose(y * (A @ x - b), 0, atol=1e-6)
            and np.allclose(x * (c - A.T @ y), 0, atol=1e-6)
        )

    survives(dual, draw, tries=200, sizes=range(1, 5))  # thm-primer-programs


# probability


def draw_sum(rng, size):
    "A distribution on an interval, a number of draws, and a deviation."
    values = np.sort(rng.integers(0, 5, size + 1))
    return values, rng.dirichlet(np.ones(size + 1)), int(rng.integers(1, 8)), size


def tail(values, p, n, tau):
    "P(mean - expectation >= tau) of n independent draws, exactly."
    single = np.bincount(values, weights=p, minlength=5)
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, single)
    mean = np.arange(len(total)) / n
    return total[mean - single @ np.arange(5) >= tau - 1e-12].sum()


def test_hoeffding_holds_and_its_constant_is_the_best():
    def bound(values, p, n, size, constant=2.0):
        "the tail is at most exp(-2 n tau^2 / range^2), for every tau"
        length = max(values[-1] - values[0], 1)
        return all(
            tail(values, p, n, tau) <= np.exp(-constant * n * tau**2 / length**2) + 1e-9
            for tau in np.linspace(0.05, length, 12)
        )

    def better(values, p, n, size):
        "the same with 2.6 in the place of 2"
        return bound(values, p, n, size, 2.6)

    survives(bound, draw_sum, sizes=range(1, 5))  # thm-primer-hoeffding
    falls(better, draw_sum, sizes=range(1, 5))


def test_hoeffdings_lemma():
    def draw(rng, size):
        p = rng.dirichlet(np.ones(size + 1))
        z = rng.normal(size=size + 1)
        return p, z - p @ z, rng.normal() * 3

    def lemma(p, z, s):
        "E exp(sZ) <= exp(s^2 (b - a)^2 / 8)"
        return bool(p @ np.exp(s * z) <= np.exp(s**2 * np.ptp(z) ** 2 / 8) + 1e-9)

    def smaller(p, z, s):
        "E exp(sZ) <= exp(s^2 (b - a)^2 / 9)"
        return bool(p @ np.exp(s * z) <= np.exp(s**2 * np.ptp(z) ** 2 / 9) + 1e-9)

    survives(lemma, draw, sizes=range(1, 5))  # lem-primer-hoeffding
    falls(smaller, draw, sizes=range(1, 5))


def test_draws_without_replacement_are_negatively_associated():
    def draw(rng, size):
        """All hands of a few cards of some, and two increasing functions, of the first
        cards and of the others."""
        hand = int(rng.integers(1, size))
        hands = [
            [int(i in chosen) for i in range(size)]
            for chosen in itertools.combinations(range(size), hand)
        ]
        cut = int(rng.integers(1, size))
        return np.array(hands), cut, *rng.exponential(size=(2, size))

    def negative(hands, cut, a, b):
        "increasing functions of disjoint groups have no positive covariance"
        f = (hands[:, :cut] @ a[:cut]) ** 2
        g = np.exp(hands[:, cut:] @ b[cut:])
        return bool(np.mean(f * g) <= f.mean() * g.mean() + 1e-9)

    def overlapping(hands, cut, a, b):
        "increasing functions of overlapping groups have no positive covariance"
        f = hands[:, : cut + 1] @ a[: cut + 1]
        g = hands[:, cut:] @ b[cut:]
        return bool(np.mean(f * g) <= f.mean() * g.mean() + 1e-9)

    survives(negative, draw, tries=500, sizes=range(2, 6))  # def-primer-negative
    falls(overlapping, draw, tries=500, sizes=range(2, 6))


def test_the_first_of_several_clocks():
    rates = np.array([0.5, 1.0, 2.5])
    t = np.linspace(0, 30, 300_001)
    for j, rate in enumerate(rates):
        others = np.delete(rates, j)
        density = rate * np.exp(-rate * t) * np.exp(-np.outer(others, t)).prod(axis=0)
        for start in (0.0, 0.4, 1.0):  # independent of the time: thm-primer-clocks
            late = t >= start
            expected = rate / rates.sum() * np.exp(-rates.sum() * start)
            assert np.isclose(np.trapezoid(density[late], t[late]), expected, rtol=1e-3)


# the pages


@pytest.mark.parametrize("page", PRIMER)
def test_each_section_is_complete(page):
    "One picture, an example on paper, an exercise, and where the book uses it."
    sections = re.split(r"^## ", PAGES[page], flags=re.M)[1:]
    assert [s.split("\n")[0] for s in sections[-2:]] == ["Summary", "Further reading"]
    for section in sections[:-2]:
        section = section.split("```{quiz}")[0]
        title = section.split("\n")[0]
        assert len(set(re.findall(r"\{numref\}`(fig-[\w-]+)`", section))) == 1, title
        assert "*An example on paper.*" in section, title
        assert section.count("{exercise-start}") == 1, title
        assert re.search(r"^:class: (warm-up|standard|hard)", section, re.M), title
        if title != "Scalar products":  # all other sections use it
            assert "*Where the book uses it.*" in section, title


def test_each_proof_and_solution_is_there():
    for page in PRIMER:
        text = PAGES[page]
        claims = len(
            re.findall(r":::\{prf:(?:theorem|lemma|proposition|corollary)", text)
        )
        assert claims == text.count(":::{prf:proof}")
        for label in re.findall(r":label: ex-([\w-]+)", text):
            assert f":label: sol-{label}" in text


def test_every_section_is_linked_from_a_chapter_or_from_the_glossary():
    targets = {
        label
        for page in PRIMER
        for label in re.findall(r"^\(((?:sec-)?primer-[\w-]+)\)=", PAGES[page], re.M)
    }
    glossary = (ROOT / "nbs" / "glossary.md").read_text(encoding="utf8")
    others = "\n".join(PAGES[name] for name in CHAPTERS) + glossary
    linked = set(re.findall(r"\{ref\}`(?:[^`<]*<)?((?:sec-)?primer-[\w-]+)>?`", others))
    assert linked <= targets
    assert targets - linked <= {"sec-primer-scalar"}


def test_each_page_says_what_it_needs():
    assert not [page for page in CHAPTERS if "**What you need.**" not in PAGES[page]]


@pytest.mark.parametrize(
    "page",
    """02_rkhs 02_rkhs_2_semi_supervised 02_rkhs_5_beyond 02_rkhs_8_joint
    03_forest_kernel 03_forest_kernel_1_hyperplanes 03_forest_kernel_2_quality
    04_mkl_1_duality 04_mkl_2_solvers 04_mkl_5_semidefinite 05_ensembles
    05_ensembles_1_adaboost 05_ensembles_3_margins""".split(),
)
def test_what_a_page_needs_is_linked_to_the_primer(page):
    needs = PAGES[page].split("**What you need")[1].split("\n\n")[0]
    assert re.search(r"`(?:[^`<]*<)?(?:sec-)?primer-", needs)
