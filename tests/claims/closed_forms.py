"""Closed forms against the printed equations, solved in exact arithmetic.

The claims of the closed forms: of kernels, on vectors and on other objects, of losses
without a pre-image, of decoding, of ridge regression, and of scores.

The oracle of a closed form is the equation as its source prints it, evaluated in the
most direct way, and where a linear system has to be solved, it is solved in exact
rational arithmetic.
"""

import itertools
from fractions import Fraction

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import (
    average_precision_score,
    matthews_corrcoef,
    roc_auc_score,
    roc_curve,
)

from claims.claim import (
    EPS,
    Claims,
    PassedOver,
    Tie,
    beyond,
    compare,
    draw_classes,
    draw_matrix,
    draw_size,
    draw_weights,
    identical,
)
from okbook._types import Array, ArrayLike
from okbook.core import (
    ChiSquaredKernel,
    DiffusionKernel,
    DiracKernel,
    IntersectionKernel,
    JaccardKernel,
    KendallKernel,
    MallowsKernel,
    OutputKernelMixin,
    PolynomialKernel,
    RBFKernel,
    SimilarityKernel,
    SpectrumKernel,
    SubsequenceKernel,
    TanimotoKernel,
    WeisfeilerLehmanKernel,
    alignment,
    alignment_matrix,
    center_gram,
    centered_alignment,
    decode_weights,
    decoding_accuracy,
    feature_space_losses,
    feature_space_r2,
    feature_space_variance,
    graph_laplacian,
    is_psd,
    make_psd,
    mean_mcc,
    normalize_gram,
    output_kernel_loss,
    pivoted_cholesky,
    pr_auc,
    predicted_gram,
    roc_auc,
    squared_distances,
    top_k_decoding_accuracy,
    vertical_roc,
)
from okbook.rkhs import (
    KernelDependencyEstimation,
    OutputKernelRidge,
    RKHSFunction,
    choose_threshold,
    leave_one_out_losses,
    operator_ridge,
    ridge_factor,
    ridge_path,
    ridge_weights,
    times_identity,
)
from okbook.rkhs.links import curve_areas
from okbook.rkhs.semi_supervised import kernel_factor

# The checks of closed forms.
CLOSED_FORMS = Claims()


# Exact arithmetic
#
# A floating-point number is a fraction whose denominator is a power of two. Elimination
# with Python's fractions therefore solves a linear system without any rounding, if
# slowly: eight equations take a few milliseconds. Any difference that remains is the
# error of the code alone.


def solve_exactly(A: ArrayLike, B: ArrayLike) -> Array:
    "Solve a linear system in rational arithmetic, rounded at the very end."
    rows = [
        [Fraction(float(x)) if not isinstance(x, Fraction) else x for x in (*a, *b)]
        for a, b in zip(A, B, strict=True)
    ]
    n = len(rows)
    for i in range(n):
        pivot = next((k for k in range(i, n) if rows[k][i]), None)
        if pivot is None:
            raise PassedOver("the system has no unique solution")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        first = rows[i][i]
        rows[i] = [x / first for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return np.array([[float(x) for x in row[n:]] for row in rows])


def as_fractions(A: ArrayLike) -> Array:
    "The entries of a matrix as fractions, for which the products are exact."
    A = np.asarray(A, dtype=float)
    exact = np.empty(A.shape, dtype=object)
    for index in np.ndindex(A.shape):
        exact[index] = Fraction(float(A[index]))
    return exact


# Kernels and their matrices
#
# The first checks compare kernels with their definitions, entry by entry, and the
# operations on Gram matrices with what they do to explicit feature vectors.


def _draw_outputs(rng, least=1, most=8, scaled=True):
    "Vectors, one an output."
    n, d = draw_size(rng, least, most), draw_size(rng, 1, 4)
    return {"Phi": draw_matrix(rng, n, d, scaled)}


def _draw_weighted(rng):
    "Vectors, and a weight for each."
    problem = _draw_outputs(rng)
    return problem | {"weight": draw_weights(rng, len(problem["Phi"]))}


def _gram_scale(Phi):
    "The largest entry of the Gram matrix of some vectors."
    return np.square(Phi).sum(axis=1).max(initial=0.0) or 1.0


@CLOSED_FORMS.add(
    "variance",
    "variance in feature space (eq-ok3-4, 6, 9, 11)",
    "the mean squared distance to the mean, of explicit vectors",
    "64 n d eps of the largest squared norm: cancellation",
    draw=_draw_weighted,
    axes={"Phi": "nd", "weight": "n"},
)
def _judge_variance(Phi, weight):
    if not weight.sum() > 0:
        raise PassedOver("no weight")
    share, scale = weight / weight.sum(), _gram_scale(Phi)
    theirs = share @ np.square(Phi - share @ Phi).sum(axis=1)
    ours = feature_space_variance(Phi @ Phi.T, weight)
    return compare(ours, theirs, 1e-13 + 64 * Phi.size * EPS, scale)


def _draw_two(rng):
    return {
        "A": (A := draw_matrix(rng, draw_size(rng, 1, 6), draw_size(rng, 1, 4))),
        "B": draw_matrix(rng, draw_size(rng, 1, 6), A.shape[1]),
        "width": float(10.0 ** rng.integers(-1, 2)),
    }


@CLOSED_FORMS.add(
    "kernel-rbf",
    "Gaussian kernel (eq-ok3-10)",
    "the definition, pair by pair",
    "16 d eps of the squared norms over the width: cancellation of distances",
    draw=_draw_two,
    axes={"A": "nd", "B": "md"},
)
def _judge_rbf(A, B, width):
    if not width > 0:
        raise PassedOver("no width")
    sigma = width * (np.abs(np.r_[A, B]).max() or 1.0)
    theirs = [[np.exp(-np.sum((a - b) ** 2) / (2 * sigma**2)) for b in B] for a in A]
    size = _gram_scale(np.r_[A, B]) / (2 * sigma**2)
    return compare(
        RBFKernel(sigma=sigma).gram(A, B),
        theirs,
        EPS * (64 * A.shape[1] * size + 16),
        1.0,
    )


@CLOSED_FORMS.add(
    "kernel-tanimoto",
    "Tanimoto kernel",
    "the definition, pair by pair",
    "32 d eps of the condition of the denominator",
    draw=_draw_two,
    axes={"A": "nd", "B": "md"},
)
def _judge_tanimoto(A, B, width):
    theirs, worst = np.ones((len(A), len(B))), 1.0
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            union = a @ a + b @ b - a @ b
            if union > 0:
                theirs[i, j] = (a @ b) / union
                worst = max(worst, (a @ a + b @ b) / union)
    ours = TanimotoKernel().gram(A, B)
    return compare(ours, theirs, 32 * A.shape[1] * EPS * worst, 1.0)


@CLOSED_FORMS.add(
    "kernel-polynomial",
    "polynomial kernel and its diagonal",
    "explicit monomials of degree two",
    "64 d eps of the largest value",
    draw=_draw_two,
    axes={"A": "nd", "B": "md"},
)
def _judge_polynomial(A, B, width):
    def monomials(X):
        X = np.sqrt(0.5) * np.c_[X, np.full(len(X), np.sqrt(2.0))]
        return np.einsum("ia,ib->iab", X, X).reshape(len(X), -1)

    kernel = PolynomialKernel(degree=2, gamma=0.5, coef0=1.0)
    F, G = monomials(A), monomials(B)
    scale = np.sqrt(_gram_scale(F) * _gram_scale(G))
    tolerance = 64 * (A.shape[1] + 1) * EPS
    return [
        compare(kernel.gram(A, B), F @ G.T, tolerance, scale),
        compare(kernel.diag(A), np.square(F).sum(axis=1), tolerance),
    ]


def _draw_graph(rng):
    "A graph with weights, sometimes without edges or with equal weights."
    n = draw_size(rng, 2, 8)
    A = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.3, 0.7]), 1).astype(float)
    if rng.random() < 0.5:
        A *= rng.random((n, n)) * 10.0 ** rng.integers(-3, 3)
    return {"edges": A, "beta": float(rng.choice([0.0, 0.1, 1.0, 5.0]))}


@CLOSED_FORMS.add(
    "kernel-diffusion",
    "diffusion kernel exp(-beta L), the Laplacian, and the normalised one",
    "scipy.linalg.expm; edge by edge; products with the roots of the degrees",
    "128 n eps (1 + beta |L|)",
    draw=_draw_graph,
    axes={"edges": "nn"},
)
def _judge_diffusion(edges, beta):
    A = np.triu(edges, 1) + np.triu(edges, 1).T
    L = np.zeros_like(A)
    for i, j in zip(*np.nonzero(np.triu(A))):
        d = np.zeros(len(A))
        d[i], d[j] = 1.0, -1.0
        L += A[i, j] * np.outer(d, d)
    tolerance = 128 * len(A) * EPS * (1 + beta * np.abs(L).max())
    ours = DiffusionKernel(beta=beta, adjacency=A).fit().gram(np.arange(len(A)))
    degree = L.diagonal()
    root = np.zeros_like(degree)
    root = np.diag(np.divide(1.0, np.sqrt(degree), root, where=degree > 0))
    scaled = graph_laplacian(A, normalized=True)
    return [
        compare(graph_laplacian(A), L, 16 * len(A) * EPS, what="Laplacian"),
        compare(scaled, root @ L @ root, 64 * len(A) * EPS, 1.0, "normalised"),
        compare(ours, sla.expm(-beta * L), tolerance, 1.0, "kernel"),
    ]


@CLOSED_FORMS.add(
    "gram-algebra",
    "centring, normalising, distances from a Gram matrix",
    "the same on explicit vectors",
    "64 n d eps of the largest squared norm",
    draw=_draw_outputs,
    axes={"Phi": "nd"},
)
def _judge_algebra(Phi):
    K, scale = Phi @ Phi.T, _gram_scale(Phi)
    centred, tolerance = Phi - Phi.mean(axis=0), 64 * Phi.size * EPS
    apart = np.square(Phi[:, None] - Phi[None]).sum(axis=2)
    norms = np.sqrt(np.square(Phi).sum(axis=1))
    unit = np.divide(
        Phi, norms[:, None], out=np.zeros_like(Phi), where=norms[:, None] > 0
    )
    return [
        compare(center_gram(K), centred @ centred.T, tolerance, scale, "centred"),
        compare(squared_distances(K), apart, tolerance, scale, "distances"),
        compare(normalize_gram(K), unit @ unit.T, tolerance, 1.0, "cosines"),
    ]


@CLOSED_FORMS.add(
    "alignment",
    "alignments of Gram matrices",
    "sums over all pairs of entries",
    "64 n n eps, times the condition of the centring",
    draw=lambda rng: {
        "A": draw_matrix(rng, n := draw_size(rng, 2, 7), 3),
        "B": draw_matrix(rng, n, draw_size(rng, 1, 3)),
    },
    axes={"A": "nd", "B": "ne"},
)
def _judge_alignment(A, B):
    def cosine(P, Q):
        K, L = P @ P.T, Q @ Q.T
        size = np.sqrt(sum(k * k for k in K.ravel())) * np.sqrt(
            sum(x * x for x in L.ravel())
        )
        return sum(k * x for k, x in zip(K.ravel(), L.ravel())) / size if size else 0.0

    tolerance = 64 * len(A) ** 2 * EPS
    stack = np.array([A @ A.T, B @ B.T])
    found = [
        compare(alignment(*stack), cosine(A, B), tolerance, 1.0, "alignment"),
        compare(alignment_matrix(stack)[0, 1], cosine(A, B), tolerance, 1.0),
    ]
    P, Q = A - A.mean(axis=0), B - B.mean(axis=0)
    sizes = [
        np.abs(P).max() / (np.abs(A).max() or 1),
        np.abs(Q).max() / (np.abs(B).max() or 1),
    ]
    if min(sizes) > 1e-4:
        loss = tolerance / min(sizes) ** 2
        found.append(
            compare(centered_alignment(*stack), cosine(P, Q), loss, 1.0, "centred")
        )
    return found


@CLOSED_FORMS.add(
    "pivoted-cholesky",
    "K = Phi Phi', with the residual as a bound",
    "the product, and the trace",
    "1e-10 of the trace, the tolerance of the factor",
    draw=lambda rng: _draw_outputs(rng, scaled=False),
    axes={"Phi": "nd"},
)
def _judge_cholesky(Phi):
    K = Phi @ Phi.T
    F, pivots, residual = pivoted_cholesky(K)
    R, order = kernel_factor(K)
    size = K.trace() or 1.0
    bound = np.maximum(
        0.0, np.linalg.norm(K - F @ F.T) - residual - 64 * len(K) * EPS * size
    )
    return [
        compare(F @ F.T, K, 1e-9, size, "pivoted_cholesky"),
        compare(bound, 0.0, 1e-14, size, "residual as a bound"),
        compare(R @ R.T, K, 1e-12, size, "kernel_factor"),
        identical(is_psd(K), True, "positive semi-definite"),
    ]


# Kernels on objects
#
# The definition of a kernel on strings, rankings, sets or graphs is a sum over pieces
# that two objects share. The package finds the pieces of both objects by counting,
# sorting or recursion. The oracle does neither: it writes out all words over the
# alphabet, all pairs of items, or all nested neighbourhoods of nodes, and compares them
# one by one. This takes exponential time, and is possible because the objects are
# small. A similarity with negative eigenvalues is turned into a kernel by its
# eigenvectors; the oracle uses the singular value decomposition instead, from which the
# absolute value of a symmetric matrix follows without any eigenvalue of either sign.
# The similarities of its new objects are sums of known rows, so that what becomes of
# them follows by linearity.


def _letters(row):
    "The string that a row of small numbers stands for; a zero is no letter."
    return "".join("abc"[c - 1] for c in row if c)


def _draw_strings(rng):
    "Strings of up to six letters, some of them empty."
    codes = rng.integers(0, 4, size=(draw_size(rng, 1, 5), 6))
    codes[:, draw_size(rng, 1, 6) :] = 0
    return {
        "codes": codes,
        "length": int(rng.integers(1, 4)),
        "decay": float(rng.choice([0.3, 0.5, 1.0])),
        "normalize": bool(rng.random() < 0.5),
    }


def _from_features(features, normalize):
    "The kernel of explicit feature vectors, or their cosines, 0 for a vector of zeros."
    F = np.array(features, dtype=float)
    K, norms = F @ F.T, np.sqrt(np.square(F).sum(axis=1))
    if not normalize:
        return K
    sizes = np.outer(norms, norms)
    return np.divide(K, sizes, out=np.zeros_like(K), where=sizes > 0)


def _whole_and_parts(kernel, Y, theirs, tolerance, what):
    "A Gram matrix, its lower left corner as a cross Gram matrix, and its diagonal."
    half, scale = len(Y) // 2, np.abs(theirs).max(initial=0.0) or 1.0
    kernel = kernel.fit(Y)
    cross = kernel.gram(Y[half:], Y[: half + 1])
    return [
        compare(kernel.gram(Y), theirs, tolerance, scale, what),
        compare(cross, theirs[half:, : half + 1], tolerance, scale, f"{what}, cross"),
        compare(kernel.diag(Y), theirs.diagonal(), tolerance, scale, f"{what}, diag"),
    ]


@CLOSED_FORMS.add(
    "objects-strings",
    "spectrum and subsequence kernels (eq-objects-spectrum, eq-objects-subsequence)",
    "all words over the alphabet, counted letter by letter; all choices of places",
    "1e-13: sums of a few hundred terms",
    draw=_draw_strings,
    axes={"codes": "nl"},
)
def _judge_strings(codes, length, decay, normalize):
    if length < 1 or not 0 < decay <= 1:
        raise PassedOver("no kernel")
    strings = [_letters(row) for row in codes]
    exact = ["".join(word) for word in itertools.product("abc", repeat=length)]
    shorter = range(1, length + 1)
    blended = ["".join(w) for k in shorter for w in itertools.product("abc", repeat=k)]

    def occurrences(s, word):
        return sum(s[i : i + len(word)] == word for i in range(len(s)))

    def stretches(s, word):
        return sum(
            decay ** (places[-1] - places[0] + 1)
            for places in itertools.combinations(range(len(s)), length)
            if all(s[i] == letter for i, letter in zip(places, word))
        )

    found = []
    for words, blend in ((exact, False), (blended, True)):
        theirs = [[occurrences(s, word) for word in words] for s in strings]
        theirs = _from_features(theirs, normalize)
        ours = SpectrumKernel(length, blended=blend, normalize=normalize)
        found += _whole_and_parts(ours, strings, theirs, 1e-13, "spectrum")
    theirs = [[stretches(s, word) for word in exact] for s in strings]
    theirs = _from_features(theirs, normalize)
    ours = SubsequenceKernel(length, decay, normalize)
    return found + _whole_and_parts(ours, strings, theirs, 1e-13, "subsequence")


@CLOSED_FORMS.add(
    "objects-rankings",
    "Kendall and Mallows kernels (eq-objects-kendall)",
    "pairs of items, one by one: ordered alike, differently, or tied in one ranking",
    "1e-12: the exponent is a sum over all pairs",
    draw=lambda rng: {
        "R": rng.integers(0, draw_size(rng, 2, 5), (draw_size(rng, 1, 6), 4)),
        "lam": float(rng.choice([0.0, 0.1, 1.0])),
    },
    axes={"R": "nm"},
)
def _judge_rankings(R, lam):
    n, m = R.shape
    if m < 2:
        raise PassedOver("one item")
    alike, differing = np.zeros((n, n)), np.zeros((n, n))
    for a, b in itertools.product(range(n), repeat=2):
        for i, j in itertools.combinations(range(m), 2):
            first, second = R[a, i] - R[a, j], R[b, i] - R[b, j]
            alike[a, b] += np.sign(first * second)
            one_tied = (first == 0) != (second == 0)
            differing[a, b] += 1.0 if first * second < 0 else 0.25 * one_tied
    n_pairs = m * (m - 1) / 2
    rate = lam if lam > 0 else 4.0 / (m * (m - 1))
    mallows = MallowsKernel(lam if lam > 0 else None)
    return [
        *_whole_and_parts(KendallKernel(), R, alike / n_pairs, 1e-13, "Kendall"),
        *_whole_and_parts(mallows, R, np.exp(-rate * differing), 1e-12, "Mallows"),
    ]


@CLOSED_FORMS.add(
    "objects-counts",
    "intersection, Jaccard and chi-squared kernels (eq-objects-intersection)",
    "elements one by one: of sets, of dictionaries of counts, of histograms",
    "1e-13: sums of a few terms",
    draw=lambda rng: {
        "H": rng.integers(0, draw_size(rng, 2, 4), (draw_size(rng, 1, 6), 4))
        * float(rng.choice([1.0, 0.1, 1e6])),
        "gamma": float(rng.choice([0.1, 1.0])),
    },
    axes={"H": "nd"},
)
def _judge_counts(H, gamma):
    if not gamma > 0:
        raise PassedOver("no rate")
    n = len(H)
    common, ratio, chi = (np.zeros((n, n)) for _ in range(3))
    for i, j in itertools.product(range(n), repeat=2):
        pairs = list(zip(H[i], H[j]))
        common[i, j] = sum(min(a, b) for a, b in pairs)
        union = sum(max(a, b) for a, b in pairs)
        ratio[i, j] = common[i, j] / union if union > 0 else 1.0
        chi[i, j] = sum((a - b) ** 2 / (a + b) for a, b in pairs if a + b > 0)
    sizes = np.sqrt(np.outer(common.diagonal(), common.diagonal()))
    cosine = np.divide(common, sizes, out=np.zeros_like(common), where=sizes > 0)
    forms = [[{k: v for k, v in enumerate(row) if v} for row in H.tolist()], [*H]]
    if np.isin(H, [0, 1]).all():
        forms.append([set(counts) for counts in forms[0]])
    size, found = max(1.0, gamma * np.abs(H).max(initial=0.0)), []
    for Y in forms:
        for kernel, theirs in (
            (IntersectionKernel(), common),
            (IntersectionKernel(normalize=True), cosine),
            (JaccardKernel(), ratio),
        ):
            name = type(kernel).__name__
            found += _whole_and_parts(kernel, Y, theirs, 1e-13, name)
    ours, theirs = ChiSquaredKernel(gamma), np.exp(-gamma * chi)
    return found + _whole_and_parts(ours, H, theirs, 64 * size * EPS, "chi-squared")


@CLOSED_FORMS.add(
    "objects-graphs",
    "Weisfeiler-Lehman kernel (eq-objects-refine, eq-objects-wl)",
    "pairs of nodes whose nested neighbourhoods are equal, written out in full",
    "1e-13: whole numbers, and their cosines",
    draw=lambda rng: {
        "edges": np.triu(
            rng.random((draw_size(rng, 1, 4), n := draw_size(rng, 1, 5), n)) < 0.5, 1
        ),
        "labels": rng.integers(0, 3, n),
        "n_iter": int(rng.integers(0, 4)),
        "labelled": bool(rng.random() < 0.5),
        "normalize": bool(rng.random() < 0.5),
    },
    axes={"edges": "gnn", "labels": "n"},
)
def _judge_graphs(edges, labels, n_iter, labelled, normalize):
    graphs, patterns = [], []
    for upper in edges:
        A = (upper | upper.T).astype(float)
        graphs.append((A, labels.tolist()) if labelled else A)
        now = labels.tolist() if labelled else A.sum(axis=1).tolist()
        rounds = [now]
        for _ in range(n_iter):
            near = [sorted(map(repr, np.array(now, object)[row > 0])) for row in A]
            now = [repr((own, around)) for own, around in zip(now, near)]
            rounds.append(now)
        patterns.append(rounds)
    K = np.array(
        [
            [sum(a == b for s, t in zip(P, Q) for a in s for b in t) for Q in patterns]
            for P in patterns
        ],
        dtype=float,
    )
    sizes = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    theirs = np.divide(K, sizes, out=np.zeros_like(K), where=sizes > 0)
    ours = WeisfeilerLehmanKernel(n_iter, normalize)
    theirs = theirs if normalize else K
    return _whole_and_parts(ours, graphs, theirs, 1e-13, "Weisfeiler-Lehman")


@CLOSED_FORMS.add(
    "similarity",
    "clipped, flipped and shifted similarities (eq-core-spectrum, eq-core-new-rows)",
    "absolute values of matrices by a singular value decomposition",
    "1024 n eps of the largest singular value, or of the terms of a similarity",
    draw=lambda rng: {
        "Y": draw_matrix(rng, draw_size(rng, 1, 6), d := draw_size(rng, 1, 4), False),
        "signs": rng.choice([-1.0, 1.0], size=d),
        "C": rng.normal(size=(2, 6)),
        "method": str(rng.choice(["clip", "flip", "shift"])),
    },
    axes={"Y": "nd", "signs": "d"},
)
def _judge_similarity(Y, signs, C, method):
    "New objects are sums of known ones, so that their rows are sums of known rows."
    C = C[:, : len(Y)]
    Q = C @ Y

    def similarity(A, B):
        return (A * signs) @ B.T

    S = similarity(Y, Y)
    _, s, V = np.linalg.svd(S)
    size = V.T @ (s[:, None] * V)
    shift = max(0.0, -np.linalg.eigvalsh(S)[0])
    K = {"flip": size, "clip": (size + S) / 2, "shift": S + shift * np.eye(len(S))}[
        method
    ]
    cross = C @ (S if method == "shift" else K)
    tolerance = 1024 * len(S) * EPS
    terms = (np.abs(Y) @ np.abs(Y).T).max()  # which may cancel
    top, much = max(s.max(), terms) or 1.0, max(1.0, np.abs(C).sum(axis=1).max())
    ours, ours_cross = make_psd(S, method, similarity(Q, Y))
    kernel = SimilarityKernel(similarity, method).fit(Y)
    if method != "shift":
        new = kernel.gram(Q)
        again = [
            compare(kernel.gram(Y), K, tolerance, top, "kernel of the known"),
            compare(kernel.gram(Q, Y), cross, tolerance, much * top, "kernel, cross"),
            compare(new, C @ K @ C.T, tolerance, much**2 * top, "kernel of the new"),
        ]
    else:
        same = np.array([[float((a == b).all()) for b in Y] for a in Y])
        new, moved = kernel.gram(Q), S + shift * same
        again = [compare(kernel.gram(Y), moved, tolerance, top, "kernel of the known")]
    diagonal = compare(kernel.diag(Q), new.diagonal(), 1e-12, much**2 * top, "diagonal")
    return [
        compare(ours, K, tolerance, top, "matrix"),
        compare(ours_cross, cross, tolerance, much * top, "rows"),
        *again,
        diagonal,
    ]


# Losses, scalar products and decoding
#
# Every prediction in feature space is a weighted sum $\sum_i w_i \phi(y_i)$. The loss
# of such a point, its scalar products and its nearest candidate are computed from Gram
# matrices alone, whereas the oracle uses the vectors themselves.
#
# Where several candidates are equally near, the first of them has to be chosen. With
# real numbers this cannot be judged, because a rounding error decides which distances
# are equal. Half of the problems of decoding therefore consist of whole numbers, for
# which the oracle computes the distances without rounding; the code receives the same
# vectors turned by an angle, so that its own distances are rounded and the tolerance
# within which it regards distances as equal is tried as well.


def _draw_prediction(rng):
    "Outputs, candidates and weights of predictions, of either sign, many of them zero."
    n, m, q, d = (draw_size(rng, 1, 6) for _ in range(4))
    W = rng.normal(size=(q, n)) if rng.random() < 0.5 else rng.dirichlet(np.ones(n), q)
    W = W * (rng.random((q, n)) < 0.7)
    if rng.random() < 0.3:
        W = np.round(W)
    Phi = draw_matrix(rng, n + m, d)
    return {"W": W, "Phi": Phi[:n], "Psi": Phi[n:]}


_PREDICTION = {"W": "qn", "Phi": "nd", "Psi": "md"}


@CLOSED_FORMS.add(
    "loss",
    "loss without a pre-image (eq-ok3-12)",
    "explicit points in feature space",
    "64 n n eps of the squared lengths: cancellation",
    draw=_draw_prediction,
    axes=_PREDICTION,
)
def _judge_loss(W, Phi, Psi):
    rows = np.arange(len(W)) % len(Psi)
    truth, K = Psi[rows], Phi @ Phi.T
    theirs = np.square(W @ Phi - truth).sum(axis=1)
    given = truth @ Phi.T, np.square(truth).sum(axis=1)
    scale = _gram_scale(np.r_[Phi, Psi]) * (1 + np.abs(W).sum(axis=1).max()) ** 2
    tolerance = 64 * (len(Phi) + Phi.shape[1]) * EPS
    dense = feature_space_losses(W, K, *given)
    sparse = feature_space_losses(sp.csr_array(W), K, *given)
    return [
        compare(dense, theirs, tolerance, scale, "dense weights"),
        compare(sparse, theirs, tolerance, scale, "sparse weights"),
    ]


@CLOSED_FORMS.add(
    "loss-outputs",
    "loss of decoded outputs (eq-ok3-8, 12)",
    "squared distances of explicit monomials",
    "256 d eps of the squared lengths",
    draw=_draw_two,
    axes={"A": "nd", "B": "md"},
)
def _judge_output_loss(A, B, width):
    n = min(len(A), len(B))
    A, B = (X[:n] / (np.abs(np.r_[A, B]).max() or 1.0) for X in (A, B))

    def squares(X):
        return np.einsum("ia,ib->iab", X, X).reshape(n, -1)

    theirs = np.square(squares(A) - squares(B)).sum(axis=1).mean()
    params = {"degree": 2, "gamma": 1.0, "coef0": 0.0}
    ours = output_kernel_loss(A, B, "polynomial", params)
    return compare(ours, theirs, 256 * A.shape[1] * EPS, A.shape[1] ** 2)


@CLOSED_FORMS.add(
    "predicted-gram",
    "predicted kernel (eq-ok3-19, 20, 21)",
    "scalar products of explicit points, of two sets of queries",
    "32 n n eps of the squared lengths",
    draw=lambda rng: (
        (problem := _draw_prediction(rng))
        | {"V": rng.normal(size=(draw_size(rng, 1, 4), len(problem["Phi"])))}
    ),
    axes=_PREDICTION | {"V": "rn"},
)
def _judge_predicted_gram(W, Phi, Psi, V):
    theirs, K = (W @ Phi) @ (V @ Phi).T, Phi @ Phi.T
    largest = np.abs(W).sum(axis=1).max() * np.abs(V).sum(axis=1).max()
    scale = _gram_scale(Phi) * max(largest, 1e-300)
    tolerance = 64 * (len(Phi) + Phi.shape[1]) * EPS
    sparse = sp.csr_array(W), sp.csr_array(V)
    return [
        compare(predicted_gram(W, V, K), theirs, tolerance, scale, "dense weights"),
        compare(predicted_gram(*sparse, K), theirs, tolerance, scale, "sparse weights"),
    ]


def _draw_decoding(rng):
    """Half of the problems are in whole numbers, in which ties are exact and, between
    candidates that are reflections of one, frequent; an angle then rounds them."""
    problem = _draw_prediction(rng)
    if rng.random() < 0.5:
        W, (n, m) = problem["W"], (len(problem[name]) for name in ("Phi", "Psi"))
        Phi = rng.integers(-2, 3, size=(n + m, draw_size(rng, 1, 4))).astype(float)
        if rng.random() < 0.5:
            Phi[n:] = Phi[n] * rng.choice([-1.0, 1.0], size=(m, Phi.shape[1]))
        angle = float(rng.choice([0.0, 0.3, 1.0]))
        return {"W": np.round(W), "Phi": Phi[:n], "Psi": Phi[n:], "angle": angle}
    return problem | {"angle": 0.0}


def _turned(A, angle):
    "Vectors turned in the plane of each two neighbouring axes, with one axis more."
    turn = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    A = np.c_[A, np.zeros(len(A))]
    for j in range(A.shape[1] - 1):
        A[:, j : j + 2] = A[:, j : j + 2] @ turn
    return A


def _whole(size, *arrays):
    "Whether numbers are whole, and squares of this size tell them apart."
    return size < 1e6 and all((np.rint(A) == A).all() for A in arrays)


def _first_nearest(W, Phi, Psi, ours, distances, size):
    "Differences of a choice to the nearest ones; of whole numbers, to the first."
    chosen, least = distances[np.arange(len(W)), ours], distances.min(axis=1)
    found = compare(chosen, least, 1e-9 + 64 * Phi.size * EPS, size or 1.0)
    if _whole(size, W, Phi, Psi):
        return [found, identical(ours, distances.argmin(axis=1), "the first")]
    near = (distances <= least[:, None] + 1e-9 * size).sum(axis=1)
    if found.error <= found.tolerance and (near > 1).any():
        raise Tie("two candidates are equally near")
    return [found]


@CLOSED_FORMS.add(
    "decoding",
    "nearest candidate, the first among equals (eq-ok3-14, 18)",
    "distances to all candidates",
    "the distance of the choice is least, up to 1e-9 of the k(c, c)",
    draw=_draw_decoding,
    axes=_PREDICTION,
)
def _judge_decoding(W, Phi, Psi, angle):
    distances = np.square((W @ Phi)[:, None] - Psi[None]).sum(axis=2)
    size = np.square(Psi).sum(axis=1).max() + np.square(W @ Phi).sum(axis=1).max()
    F, G = _turned(Phi, angle), _turned(Psi, angle)
    ours = decode_weights(W, F @ G.T, np.square(G).sum(axis=1))
    return _first_nearest(W, Phi, Psi, ours, distances, size)


@CLOSED_FORMS.add(
    "decoding-support",
    "nearest output of a leaf, the first among equals (eq-ok3-14)",
    "distances to the outputs of non-zero weight",
    "the distance of the choice is least, up to 1e-9 of the k(c, c)",
    draw=_draw_decoding,
    axes=_PREDICTION,
)
def _judge_support(W, Phi, Psi, angle):
    diag = np.square(Phi).sum(axis=1)
    distances = np.square((W @ Phi)[:, None] - Phi[None]).sum(axis=2)
    distances = np.where(W != 0, distances, np.inf)
    distances[~(W != 0).any(axis=1)] = diag
    size = diag.max() + np.square(W @ Phi).sum(axis=1).max()
    F, found = _turned(Phi, angle), []
    given = F @ F.T, np.square(F).sum(axis=1), True
    for weights in (W, sp.csr_array(W)):
        ours = decode_weights(weights, *given)
        found += _first_nearest(W, Phi, Psi, ours, distances, size)
    return found


# The predictor
#
# All estimators inherit their losses, scores, ranks and decoded outputs from one class,
# which computes them from weights. The next checks give it weights directly, by an
# estimator whose queries *are* the weights, so that nothing but this class is judged.
# The oracle computes with explicit points in feature space, which are the outputs
# themselves or their monomials of degree two.


class _Given(OutputKernelMixin, BaseEstimator):
    "A predictor whose queries are their own weights."

    def __init__(
        self, output_kernel="linear", output_kernel_params=None, candidates="train"
    ):
        self.output_kernel = output_kernel
        self.output_kernel_params = output_kernel_params
        self.candidates = candidates

    def fit(self, X, y):
        "Keep the outputs; the inputs do not matter."
        self._fit_outputs(y, n_samples=len(X))
        return self

    def weights(self, X):
        "The queries themselves."
        return np.asarray(X, dtype=float)


def _draw_given(rng):
    "Weights, training outputs, candidates, true outputs, and weights of the queries."
    whole, (n, m, q) = rng.random() < 0.5, (draw_size(rng, 2, 6) for _ in range(3))
    d = draw_size(rng, 1, 3)
    Y = draw_matrix(rng, n + m + q, d, scaled=False)
    Y = rng.integers(-2, 3, size=Y.shape).astype(float) if whole else Y
    W = rng.normal(size=(q, n)) * (rng.random((q, n)) < 0.7)
    return {
        "W": np.round(W) if whole else W,
        "Y": Y[:n],
        "C": Y[n : n + m],
        "T": Y[n + m :],
        "weight": draw_weights(rng, q),
        "k": int(rng.integers(1, 4)),
        "kernel": str(rng.choice(["linear", "polynomial", "precomputed"])),
    }


_GIVEN = {"W": "qn", "Y": "nd", "C": "md", "T": "qd", "weight": "q"}


def _features(Y, kernel):
    "Explicit feature vectors: the outputs, or their monomials of degree two."
    squares = np.einsum("ia,ib->iab", Y, Y).reshape(len(Y), -1)
    return squares if kernel == "polynomial" else Y


def _model(Y, kernel):
    "A predictor with these training outputs."
    params = {"degree": 2, "gamma": 1.0, "coef0": 0.0}
    y = Y @ Y.T if kernel == "precomputed" else Y
    model = _Given(kernel, params if kernel == "polynomial" else None)
    return model.fit(np.zeros((len(Y), 1)), y)


def _squared_distances(points, F):
    return np.square(points[:, None] - F[None]).sum(axis=2)


@CLOSED_FORMS.add(
    "predictor",
    "losses, score and ranks of a predictor (eq-core-predictor, eq-core-loss)",
    "explicit points in feature space",
    "256 n d eps of the squared lengths; ranks of whole numbers are exact",
    draw=_draw_given,
    axes=_GIVEN,
)
def _judge_predictor(W, Y, C, T, weight, k, kernel):
    if len(Y) < 2 or not weight.sum() > 0 or k < 1:
        raise PassedOver("too little")
    F, G, H = (_features(A, kernel) for A in (Y, C, T))
    points, model, k = W @ F, _model(Y, kernel), min(k, len(C), len(Y))
    known = np.square(np.r_[F, G, H]).sum(axis=1).max() or 1.0
    size = known * (1 + np.abs(W).sum(axis=1).max()) ** 2
    tolerance = 256 * F.size * EPS
    losses = np.square(points - H).sum(axis=1)
    mean = (weight * losses).sum() / weight.sum()
    true = (H @ F.T,) if kernel == "precomputed" else (T,)
    more = {"diag": np.square(H).sum(axis=1)} if kernel == "precomputed" else {}
    found = [
        compare(model.losses(W, *true, **more), losses, tolerance, size, "losses"),
        compare(model.loss(W, *true, weight, **more), mean, tolerance, size, "loss"),
        compare(
            model.predict_gram(W[::-1], W[:1]),
            points[::-1] @ points[:1].T,
            tolerance,
            size,
            "predicted kernel",
        ),
    ]
    center = weight @ H / weight.sum()
    variance = (weight * np.square(H - center).sum(axis=1)).sum() / weight.sum()
    if variance > 1e-3 * known and kernel != "precomputed":
        score, large = 1.0 - mean / variance, size / variance
        found += [
            compare(
                model.score(W, T, weight), score, 8 * tolerance * large, large, "score"
            ),
            compare(
                feature_space_r2(losses, variance, weight),
                score,
                1e-12,
                large,
                "determination",
            ),
        ]
    tries = [("train", F, {})]
    if kernel != "precomputed":
        tries += [(C, G, {}), ([C] * len(W), G, {"per_query": True})]
    for candidates, among, how in tries:
        distances = _squared_distances(points, among)
        indices, scores = model.rank(W, candidates, k, **how)
        nearest = np.sort(distances, axis=1)[:, :k]
        found.append(compare(-np.array(scores), nearest, tolerance, size, "scores"))
        if all((np.rint(A) == A).all() for A in (W, Y, C)) and size < 1e6:
            order = np.argsort(distances, axis=1, kind="stable")[:, :k]
            found += [
                identical(np.array(indices), order, "ranks"),
                identical(
                    model.decode(W, candidates, **how), order[:, 0], "the nearest"
                ),
            ]
    return found


def _draw_hits(rng):
    "Whole numbers; the true outputs are among the candidates, and there are classes."
    problem = _draw_given(rng)
    problem |= {name: np.round(problem[name]) for name in "WYC"}
    true = rng.integers(0, len(problem["C"]), len(problem["W"]))
    labels = draw_classes(rng, len(problem["Y"]))
    return problem | {"T": problem["C"][true], "labels": labels}


@CLOSED_FORMS.add(
    "accuracies",
    "exact hits of a predictor, and hits among the nearest",
    "distances of whole numbers to all candidates; sums of weights by class",
    "1e-13: a mean of zeros and ones",
    draw=_draw_hits,
    axes=_GIVEN | {"labels": "n"},
)
def _judge_accuracies(W, Y, C, T, weight, k, kernel, labels):
    if len(Y) < 2 or not weight.sum() > 0 or k < 1 or len(np.unique(labels)) < 2:
        raise PassedOver("too little")
    kernel = "polynomial" if kernel == "precomputed" else kernel
    model, k = _model(Y, kernel), min(k, len(C))
    distances = _squared_distances(W @ _features(Y, kernel), _features(C, kernel))
    if not distances.max() < 1e6 or any((np.rint(A) != A).any() for A in (W, Y, C)):
        raise PassedOver("the numbers are not whole, or too large")
    order = np.argsort(distances, axis=1, kind="stable")
    hits = [[(C[i] == true).all() for i in row] for row, true in zip(order, T)]
    first, among = (np.mean([any(row[:m]) for row in hits]) for m in (1, k))
    votes = [[sum(w[labels == c]) for c in np.unique(labels)] for w in W]
    classes = np.array([np.unique(labels)[np.argmax(v)] for v in votes])
    truth = labels[np.arange(len(W)) % len(labels)]
    right = (weight * (classes == truth)).sum() / weight.sum()
    classifier = _model(labels, "dirac")
    return [
        compare(decoding_accuracy(model, W, T, C), first, 1e-13, 1.0, "exact"),
        compare(top_k_decoding_accuracy(model, W, T, k, C), among, 1e-13, 1.0, "top k"),
        identical(classifier.predict(W), classes, "classes"),
        compare(classifier.score(W, truth, weight), right, 1e-13, 1.0, "accuracy"),
    ]


# Ridge regression
#
# Theorem thm-rrsn-2 reduces ridge regression to a linear system, which is solved here
# exactly. The oracle of the leave-one-out error in closed form is its definition:
# remove an example, and fit again.
#
# A computed solution of a linear system with condition number $\kappa$ has a relative
# error of about $\kappa\varepsilon$, so this is used as the tolerance, with a factor
# for the number of operations. At $\lambda_1 = 10^{-12}\,\|K\|$ it exceeds $10^{-4}$,
# and the problem is passed over.


def _draw_ridge(rng):
    "Inputs in feature space, queries, outputs and a ridge."
    n, d = draw_size(rng, 1, 7), draw_size(rng, 1, 4)
    X = draw_matrix(rng, n + 2, d)
    return {
        "X": X[:n],
        "Q": X[n:],
        "Y": draw_matrix(rng, n, draw_size(rng, 1, 3)),
        "ridge": float(10.0 ** rng.integers(-9, 3)),
    }


_RIDGE = {"X": "nd", "Q": "qd", "Y": "ne"}


def _ridge_problem(X, ridge):
    "The Gram matrix, the ridge in its units, and the condition number."
    if not ridge > 0:
        raise PassedOver("no ridge")
    K = X @ X.T
    size = K.trace() or 1.0
    return K, ridge * size, (1 + ridge) / ridge


@CLOSED_FORMS.add(
    "ridge-weights",
    "ridge regression (thm-rrsn-3, eq-rrsn-4)",
    "the linear system in rational arithmetic",
    "32 n eps times the condition number",
    draw=_draw_ridge,
    axes=_RIDGE,
)
def _judge_ridge(X, Q, Y, ridge):
    K, lam, condition = _ridge_problem(X, ridge)
    A = as_fractions(K) + Fraction(lam) * as_fractions(np.eye(len(K)))
    theirs = solve_exactly(A, X @ Q.T).T
    tolerance = 32 * len(K) * EPS * condition
    scale = max(np.abs(theirs).max(), np.abs(Q @ X.T).max() / (lam * condition), 1e-300)
    ours = ridge_weights(ridge_factor(K, lam), Q @ X.T)
    model = (
        OutputKernelRidge(input_kernel="linear", lam=lam).fit(X, Y)
        if len(X) > 1
        else None
    )
    found = [compare(ours, theirs, tolerance, scale, "weights")]
    if model:
        found.append(compare(model.weights(Q), theirs, tolerance, scale, "estimator"))
    path = next(iter(ridge_path(K, Q @ X.T, [lam])))
    return [*found, compare(path, theirs, tolerance, scale, "path")]


def _draw_loo(rng):
    """A ridge problem, one in four with so many examples and outputs of so high a rank
    that pairs of eigenvalues are summed, some of them nearly equal."""
    if rng.random() < 0.75:
        return _draw_ridge(rng) | {"outputs": "linear"}
    n = int(rng.integers(24, 31))
    X = draw_matrix(rng, n, draw_size(rng, 1, 4), False)
    if rng.random() < 0.5:
        X = np.diag(1.0 + 10.0 ** -rng.integers(2, 7) * rng.normal(size=n))
    return {
        "X": X,
        "Q": X[:2],
        "Y": draw_matrix(rng, n, draw_size(rng, 1, 3), False),
        "ridge": float(10.0 ** rng.integers(-5, 2)),
        "outputs": str(rng.choice(["rbf", "identity"])),
    }


@CLOSED_FORMS.add(
    "ridge-loo",
    "leave-one-out in closed form (thm-rkhs-loo, eq-rkhs-loo)",
    "fitting again without each example",
    "1024 n eps times the condition number, and 1e-9 if the outputs' rank is above 20",
    draw=_draw_loo,
    axes=_RIDGE,
)
def _judge_loo(X, Q, Y, ridge, outputs):
    K, lam, condition = _ridge_problem(X, ridge)
    if len(K) < 2:
        raise PassedOver("one example")
    theirs, n = [], len(K)
    if outputs == "identity":
        Y = np.eye(n)
    K_out = RBFKernel(sigma=1.0).gram(Y) if outputs == "rbf" else Y @ Y.T
    for i in range(n):
        kept = np.flatnonzero(np.arange(n) != i)
        A = K[np.ix_(kept, kept)] + lam * np.eye(n - 1)
        w = sla.solve(A, K[kept, i], assume_a="pos")
        if outputs == "rbf":
            cross = w @ K_out[kept, i]
            theirs.append(w @ K_out[np.ix_(kept, kept)] @ w - 2 * cross + 1.0)
        else:
            theirs.append(np.square(w @ Y[kept] - Y[i]).sum())
    ours = leave_one_out_losses(K, K_out, [lam])[0]
    scale = max(max(theirs), K_out.diagonal().max()) or 1.0
    least = 0.0 if outputs == "linear" else 1e-9
    return compare(ours, theirs, least + 1024 * n * EPS * condition, scale)


@CLOSED_FORMS.add(
    "ridge-operator",
    "operator-valued ridge regression (thm-rrsn-2, eq-rrsn-3, 4, 5)",
    "the blocks of eq-rrsn-4 in rational arithmetic",
    "64 n d eps times the condition number",
    draw=lambda rng: _draw_ridge(rng) | {"M": rng.normal(size=(2, 2))},
    axes={"X": "nd", "Q": "qd", "Y": "ne"},
)
def _judge_operator(X, Q, Y, ridge, M):
    X, Q = (A / (np.abs(np.r_[X, Q]).max() or 1.0) for A in (X, Q))
    Y = np.c_[Y[:, 0], Y[:, -1]] / (np.abs(Y).max() or 1.0)
    B = M @ M.T

    def kernel(A, C):
        scalar = np.asarray(A) @ np.asarray(C).T
        return scalar[:, :, None, None] * B + (scalar**2)[:, :, None, None] * np.eye(2)

    if not ridge > 0:
        raise PassedOver("no ridge")
    n, blocks = len(X), kernel(X, X)
    A = np.block([[blocks[j, i] for i in range(n)] for j in range(n)])
    lam = ridge * (np.trace(A) or 1.0)
    exact = as_fractions(A) + Fraction(lam) * as_fractions(np.eye(2 * n))
    C = solve_exactly(exact, Y.reshape(-1, 1)).reshape(n, 2)
    theirs = np.einsum("qiab,ib->qa", kernel(Q, X), C)
    ours = operator_ridge(kernel, X, Y, lam)
    scale = max(
        np.abs(theirs).max(), np.abs(kernel(Q, X)).max() * np.abs(C).max(), 1e-300
    )
    tolerance = 64 * n * EPS * (1 + ridge) / ridge
    return [
        compare(ours(Q), theirs, tolerance, scale, "values"),
        compare(ours.coefficients, C, tolerance, None, "coefficients"),
    ]


@CLOSED_FORMS.add(
    "ridge-minimum",
    "the criterion is least at the solution (eq-rrsn-2)",
    "the criterion at 30 functions nearby",
    "a lower value by 1e-10 of the criterion",
    draw=lambda rng: _draw_ridge(rng) | {"seed": int(rng.integers(1000))},
    axes=_RIDGE,
)
def _judge_minimum(X, Q, Y, ridge, seed):
    K, lam, _ = _ridge_problem(X, ridge)
    C, rng = (
        ridge_weights(ridge_factor(K, lam), np.eye(len(K))) @ Y,
        np.random.default_rng(seed),
    )

    def criterion(C):
        return np.square(K @ C - Y).sum() + lam * np.sum(C * (K @ C))

    least, size = criterion(C), np.abs(C).max() or 1.0
    tries = (
        criterion(C + rng.normal(size=C.shape) * size * 10.0 ** -rng.integers(0, 7))
        for _ in range(30)
    )
    return compare(beyond(least - min(tries)), 0.0, 1e-10, np.square(Y).sum() or 1.0)


@CLOSED_FORMS.add(
    "reproducing",
    "reproducing property (eq-rrsn-1, thm-rrsn-1)",
    "explicit functions of degree one, their sums and multiples",
    "256 n d eps of the norms",
    draw=lambda rng: {
        "A": draw_matrix(rng, draw_size(rng, 1, 5), 2, False),
        "C": rng.normal(size=(5, 2)),
        "x": rng.normal(size=2),
        "y": rng.normal(size=2),
    },
    axes={"A": "nd", "x": "d"},
)
def _judge_reproducing(A, C, x, y):
    kernel = times_identity("linear", 2)
    h = RKHSFunction(kernel, A, C[: len(A)])
    at_x = RKHSFunction(kernel, x[None], y[None])
    total = h + at_x * 2.0
    slope = A.T @ C[: len(A)]  # h(x) = slope' x
    sum_slope = slope + 2.0 * np.outer(x, y)
    blocks = [
        [[[a @ b * (i == j) for j in range(2)] for i in range(2)] for b in A] for a in A
    ]
    scale = (
        (1.0 + np.abs(A).max())
        * np.abs(C).max()
        * (1.0 + np.abs(x).max() + np.abs(y).max()) ** 2
    )
    tolerance = 256 * A.size * EPS
    return [
        compare(h.inner(at_x), h(x[None])[0] @ y, tolerance, scale, "property"),
        compare(h(x[None])[0], x @ slope, tolerance, scale, "values"),
        compare(h.inner(h), np.sum(slope**2), tolerance, scale**2, "norm"),
        compare(total(A), A @ sum_slope, tolerance, scale**2, "sum and multiple"),
        compare(kernel(A, A), blocks, tolerance, scale**2, "blocks"),
    ]


@CLOSED_FORMS.add(
    "kde",
    "kernel dependency estimation (eq-rkhs-weston)",
    "principal directions of explicit outputs, by a singular value decomposition",
    "4096 n eps times the condition number, and the gap of the singular values",
    draw=lambda rng: _draw_ridge(rng) | {"center": bool(rng.random() < 0.5)},
    axes=_RIDGE,
)
def _judge_kde(X, Q, Y, ridge, center):
    K, lam, condition = _ridge_problem(X, ridge)
    origin = Y.mean(axis=0) if center else np.zeros(Y.shape[1])
    _, s, V = np.linalg.svd(Y - origin, full_matrices=False)
    if len(X) < 2 or not s[0] > 1e-3 * np.abs(Y).max():
        raise PassedOver("nothing to project")
    if len(s) > 1 and s[0] - s[1] < 1e-3 * s[0]:
        raise Tie("two principal directions are equally good")
    mean = X.mean(axis=0) if center else np.zeros(X.shape[1])  # of the intercept
    A = (X - mean) @ (X - mean).T + lam * np.eye(len(K))
    targets = (Y - origin) @ V[:1].T
    dual = sla.solve(A, targets, assume_a="pos")
    theirs = (Q - mean) @ (X - mean).T @ dual @ V[:1] + origin
    how = {"input_kernel": "linear", "lam": lam, "n_components": 1, "center": center}
    ours = KernelDependencyEstimation(**how).fit(X, Y).weights(Q) @ Y
    gap = (s[0] - (s[1] if len(s) > 1 else 0.0)) / s[0]
    loss = (s[0] / np.abs(Y).max()) ** -2 / gap
    far = max(1.0, np.abs(Q).max() / (np.abs(X).max() or 1.0))
    scale = max(np.abs(theirs).max(), np.abs(Y).max() * far)
    return compare(ours, theirs, 4096 * len(X) * EPS * (condition + 1e3) * loss, scale)


# Scores
#
# Ranked pairs may have equal scores, and every function that computes a curve or an
# area has to treat these consistently. Scikit-learn's functions are the oracle for the
# areas; the choice of a threshold is compared with a search over all thresholds, and
# the mean of several curves with the segments of each.


def _draw_ranking(rng):
    "A truth, and scores with ties."
    n = draw_size(rng, 2, 12)
    scores = rng.normal(size=n) * 10.0 ** rng.integers(-6, 7)
    if rng.random() < 0.6:
        scores = rng.integers(0, 4, size=n) * 10.0 ** rng.integers(-6, 7)
    return {"truth": rng.random(n) < 0.4, "scores": scores.astype(float)}


_RANKING = {"truth": "n", "scores": "n"}


@CLOSED_FORMS.add(
    "areas",
    "areas under the two curves (eq-links-areas)",
    "scikit-learn's roc_auc_score and average_precision_score",
    "1e-12",
    draw=_draw_ranking,
    axes=_RANKING,
    refusals=("needs both classes",),
)
def _judge_areas(truth, scores):
    ours = roc_auc(truth, scores), pr_auc(truth, scores)
    theirs = roc_auc_score(truth, scores), average_precision_score(truth, scores)
    return [
        compare(ours, theirs, 1e-12, 1.0, "core"),
        compare(curve_areas(truth, scores), theirs, 1e-12, 1.0, "links"),
    ]


@CLOSED_FORMS.add(
    "threshold",
    "best threshold (eq-rrsn-10, eq-links-f1, eq-mkl-4)",
    "the value of the rule at all thresholds",
    "1e-12",
    draw=_draw_ranking,
    axes=_RANKING,
)
def _judge_threshold(truth, scores):
    if truth.all() or not truth.any():
        raise PassedOver("one class")

    def f1(threshold):
        called = scores > threshold
        hits = (called & truth).sum()
        return 2 * hits / max(called.sum() + truth.sum(), 1)

    def balanced(threshold):
        called = scores > threshold
        return called[truth].mean() - called[~truth].mean()

    levels = [-np.inf, *scores]
    return [
        compare(
            rule(choose_threshold(truth, scores, name)),
            max(map(rule, levels)),
            1e-12,
            1.0,
            name,
        )
        for name, rule in (("f1", f1), ("balanced", balanced))
    ]


@CLOSED_FORMS.add(
    "mcc",
    "Matthews' coefficient (eq-mkl-3)",
    "scikit-learn's, class by class",
    "1e-12",
    draw=lambda rng: {
        "truth": rng.integers(0, 3, n := draw_size(rng, 1, 10)),
        "said": rng.integers(0, 3, n),
    },
    axes={"truth": "n", "said": "n"},
)
def _judge_mcc(truth, said):
    labels = np.unique(np.r_[truth, said])
    theirs = [matthews_corrcoef(truth == c, said == c) for c in labels]
    return compare(mean_mcc(truth, said), np.mean(theirs), 1e-12, 1.0)


@CLOSED_FORMS.add(
    "dirac",
    "Dirac kernel (eq-ok3-10)",
    "equality, pair by pair",
    "none",
    draw=lambda rng: {"y": rng.integers(0, 4, draw_size(rng, 1, 8))},
    axes={"y": "n"},
)
def _judge_dirac(y):
    kernel = DiracKernel().fit(y)
    F = kernel.features(y)
    return [
        identical(kernel.gram(y), [[float(a == b) for b in y] for a in y]),
        identical(F @ F.T, kernel.gram(y)),
        identical(F.sum(axis=1), np.ones(len(y))),
    ]


def _draw_curves(rng):
    "Two rankings of one truth, and rates at which their curves are averaged."
    problem = _draw_ranking(rng)
    n = len(problem["truth"])
    return problem | {
        "truth": draw_classes(rng, n) > 0,
        "other": rng.integers(0, 4, n).astype(float),
        "grid": np.sort(rng.integers(0, 9, 5) / int(rng.choice([8, 10]))),
    }


@CLOSED_FORMS.add(
    "vertical-mean",
    "mean of ROC curves at fixed false positive rates",
    "the highest point of all segments of a curve, rate by rate",
    "1e-12",
    draw=_draw_curves,
    axes=_RANKING | {"other": "n", "grid": "g"},
)
def _judge_vertical(truth, scores, other, grid):
    if truth.all() or not truth.any() or grid.max() > 1.0:
        raise PassedOver("no curve")
    curves = [roc_curve(truth, s)[:2] for s in (scores, other)]

    def highest(fpr, tpr, rate):
        found = []
        for a, b, low, high in zip(fpr, fpr[1:], tpr, tpr[1:]):
            if a <= rate <= b:
                part = (rate - a) / (b - a) if b > a else 1.0
                found.append(low + part * (high - low))
        return max(found)

    theirs = np.array([[highest(*curve, rate) for rate in grid] for curve in curves])
    rates, mean, deviation = vertical_roc(curves, grid)
    half = np.abs(theirs[0] - theirs[1]) / 2
    return [
        identical(rates, grid, "rates"),
        compare(mean, theirs.sum(axis=0) / 2, 1e-12, 1.0, "mean"),
        compare(deviation, half, 1e-12, 1.0, "deviation"),
    ]
