"""A claim, the problems on which it is tried, and how Hypothesis attacks it.

A claim has a function that draws a problem, and a judge that compares the package with
an oracle. Hypothesis draws the seed of the problem and which of its entries are left
out or rounded; if the claim fails, it makes all of these as small as it can.
"""

import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import hypothesis
import numpy as np
from cvxpy.error import SolverError
from hypothesis import HealthCheck, Phase, strategies as st
from threadpoolctl import threadpool_limits

EPS = float(np.finfo(float).eps)  # the unit of rounding, 2.2e-16
LARGEST_TOLERANCE = 1e-4  # a comparison that is allowed more than this says nothing
FEW, PART = 30, 0.1  # of so many attempts, this part at least must agree


class Tie(Exception):
    "Raised by a judge where the right answer is not unique; the message says why."


class PassedOver(Exception):
    "Raised by a judge where a problem says nothing: ill-conditioned, or out of range."


class Disagreement(AssertionError):
    "The package and the oracle differ by more than rounding explains."


class Difference(NamedTuple):
    "How far two answers are apart, relative to their size, and how far they may be."

    error: float
    tolerance: float
    what: str = ""


def compare(ours, theirs, tolerance, scale=None, what=""):
    """The largest difference of two arrays, relative to the size of the answer:
    ``scale``, by default the largest absolute value of ``theirs``, or 1."""
    if not tolerance <= LARGEST_TOLERANCE:
        raise PassedOver("the problem is too ill-conditioned to say anything")
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.shape != theirs.shape or (np.isnan(ours) != np.isnan(theirs)).any():
        return Difference(math.inf, tolerance, what)
    if scale is None:
        scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(ours == theirs, 0.0, np.abs(ours - theirs))
    error = np.nan_to_num(apart, nan=0.0, posinf=math.inf).max(initial=0.0) / scale
    return Difference(float(error), float(tolerance), what)


def identical(ours, theirs, what=""):
    "An error of 0 for two answers that are the same to the last bit, and else of 1."
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    numbers = ours.dtype.kind in "fc" and theirs.dtype.kind in "fc"
    same = ours.shape == theirs.shape and np.array_equal(ours, theirs, numbers)
    return Difference(0.0 if same else 1.0, 0.0, what)


def beyond(excess):
    "By how much a bound is exceeded at most, 0 if it is not; NaN stays NaN."
    return float(np.maximum(0.0, np.max(excess)))


@dataclass(frozen=True)
class Claim:
    """What is claimed, and how it is attacked.

    ``draw(rng)`` returns a problem, a dict of arrays, numbers and strings, and
    ``judge(**problem)`` a Difference or a list of them. ``axes`` names the axes of the
    arrays, a letter each: ``{"X": "np", "y": "n"}`` says that an example can be left
    out of both. ``refusals`` are parts of messages with which the package may refuse.
    """

    name: str
    claim: str
    oracle: str
    tolerance: str
    draw: Callable
    judge: Callable
    axes: Mapping = field(default_factory=dict)
    refusals: tuple = ()


class Claims(list):
    "The claims of a module, in the order of their definition."

    def add(self, name, claim, oracle, tolerance, *, draw, axes=(), refusals=()):
        "Make a claim of the judge that follows: a decorator."

        def register(judge):
            parts = (name, claim, oracle, tolerance, draw, judge, dict(axes), refusals)
            self.append(Claim(*parts))
            return judge

        return register


# Families of problems that are covered by the proofs and hurt programs. Sizes are
# small, and the smallest one is drawn often.


def draw_size(rng, least, most):
    "One time in four the least, otherwise uniformly."
    return least if rng.random() < 0.25 else int(rng.integers(least, most + 1))


def draw_matrix(rng, n, p, scaled=True):
    """Gaussian, of few whole numbers, binary, of low rank, with repeated rows, with
    constant columns, or far from the origin; if scaled, in units a factor 1e6 apart."""
    kind = rng.integers(8)
    X = rng.normal(size=(n, p))
    if kind == 1:
        X = rng.integers(-2, 3, size=(n, p)).astype(float)
    elif kind == 2:
        X = (rng.random((n, p)) < 0.3).astype(float)
    elif kind == 3:
        X = rng.normal(size=(n, 1)) @ rng.normal(size=(1, p))
    elif kind == 4:
        X = X[rng.integers(0, max(1, n // 2), size=n)]
    elif kind == 5:
        X[:, rng.random(p) < 0.5] = 1.0
    elif kind == 6:
        X = np.round(X, 1) + 10.0
    if scaled and rng.random() < 0.25:
        X = X * 10.0 ** rng.integers(-6, 7)
    elif scaled and rng.random() < 0.1:
        X = X * 10.0 ** rng.integers(-3, 4, size=p)
    return X


def draw_classes(rng, n, n_classes=2, at_least=1):
    "Every class occurs; one time in three all but one are almost absent."
    sure = np.repeat(np.arange(n_classes), at_least)
    if rng.random() < 1 / 3:
        rest = np.zeros(n - len(sure), dtype=int)
    else:
        rest = rng.integers(0, n_classes, size=n - len(sure))
    return rng.permutation(np.concatenate([sure, rest]))


def draw_weights(rng, n):
    "Equal, whole numbers with zeros, or spread over three powers of ten."
    kind = rng.integers(3)
    if kind == 0:
        return np.ones(n)
    if kind == 1:
        weight = rng.integers(0, 3, size=n).astype(float)
        weight[rng.integers(n)] = 1.0
        return weight
    return 10.0 ** rng.uniform(-3, 0, size=n)


# Attempts. Hypothesis tries small bytes when it shrinks: they leave entries out, and
# round what is left to few digits.


def shorten(values, digits):
    "Rounded numbers; those in single precision stay so."
    with np.errstate(over="ignore"):
        single = (values == values.astype(np.float32)).all()
    rounded = np.round(values, digits) + 0.0
    return rounded.astype(np.float32).astype(float) if single else rounded


@st.composite
def problems(draw, claim):
    "A problem of a claim, a few entries of which may be left out."
    seed = draw(st.integers(0, 2**32 - 1))
    problem = claim.draw(np.random.default_rng([zlib.crc32(claim.name.encode()), seed]))
    places, sizes = {}, {}
    for name, axes in claim.axes.items():
        for axis, letter in enumerate(axes if problem.get(name) is not None else ""):
            places.setdefault(letter, []).append((name, axis))
            sizes[letter] = problem[name].shape[axis]
    floats = [
        k
        for k, v in problem.items()
        if isinstance(v, np.ndarray) and v.dtype.kind == "f"
    ]
    # one draw for all, since Hypothesis repeats what comes in several of a kind
    n_bytes = sum(sizes.values()) + len(floats)
    small = iter(draw(st.binary(min_size=n_bytes, max_size=n_bytes)))
    for letter, size in sizes.items():
        kept = [i for i in range(size) if next(small) > 3] or [0]
        for name, axis in places[letter] if len(kept) < size else []:
            problem[name] = problem[name].take(kept, axis)
    for name in floats:
        if (digits := next(small)) < 3:
            problem[name] = shorten(problem[name], digits)
    return problem


def judge(claim, problem):
    """What comes of an attempt, and its worst difference; an error that the claim does
    not foresee passes through."""
    given = {k: np.copy(v) for k, v in problem.items() if isinstance(v, np.ndarray)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = claim.judge(**problem)
    except Tie as tie:
        return "tie", str(tie)
    except PassedOver as reason:
        return "passed over", str(reason)
    except SolverError as error:  # of an oracle: the package turns its own into others
        return "passed over", str(error)
    except (ValueError, TypeError) as error:
        words = f"{type(error).__name__}: {error}"
        if not any(part in words for part in claim.refusals):
            raise
        return "refused", words
    for name, before in given.items():
        if not np.array_equal(before, problem[name], before.dtype.kind == "f"):
            raise Disagreement(f"the input {name} was changed")
    worst = max([found] if isinstance(found, Difference) else found, key=strain)
    if not worst.error <= worst.tolerance:
        raise Disagreement(
            f"{worst.what or 'it'} is {worst.error:.3g} apart, and "
            f"{worst.tolerance:.3g} is allowed"
        )
    return "agrees", worst


def strain(difference):
    "The error as a part of the tolerance."
    error, tolerance = difference[:2]
    return error / tolerance if tolerance > 0 else (math.inf if error > 0 else 0.0)


@dataclass
class Record:
    "What has happened to a claim."

    claim: Claim
    outcomes: Counter = field(default_factory=Counter)
    ties: Counter = field(default_factory=Counter)
    error: float = 0.0
    strain: float = 0.0
    seconds: float = 0.0
    failure: str = ""

    @property
    def attempts(self):
        return self.outcomes.total()

    @property
    def says_nothing(self):
        "Whether hardly any attempt could have failed."
        return self.attempts >= FEW and self.outcomes["agrees"] < PART * self.attempts

    def note(self, outcome, said):
        self.outcomes[outcome] += 1
        if outcome == "tie":
            self.ties[said] += 1
        if outcome == "agrees":
            self.error = max(self.error, said.error)
            self.strain = max(self.strain, strain(said))


def attack(claim, seed=0, examples=100, record=None, shrinking=True):
    """Attempt to refute a claim; an error that Hypothesis describes if it is refuted.

    The record counts attempts up to the first failure.
    """
    record = Record(claim) if record is None else record
    failed = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        phases=[Phase.generate] + [Phase.shrink] * shrinking,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(problem=problems(claim))
    def attempt(problem):
        try:
            outcome = judge(claim, problem)
        except Exception:
            failed.append(True)
            with np.printoptions(threshold=400, linewidth=76, precision=17):
                hypothesis.note(f"{claim.name}: {claim.claim}; oracle: {claim.oracle}")
                for name, value in problem.items():
                    hypothesis.note(f"{name} = {value!r}")
            raise
        if not failed:
            record.note(*outcome)

    with threadpool_limits(1):
        attempt()
    return record
