"""From scans of digits to a service that completes them: extra-trees with an RBF kernel
on the lower halves, chosen on a validation set, saved, and served from another process.

python examples/complete_digits.py
"""

import tempfile
import time

import numpy as np
from serving import save_and_serve
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import train_test_split

from okbook import OutputKernelExtraTrees


def main():
    images = load_digits().images.astype(np.float32) / 16
    upper, lower = images[:, :4].reshape(-1, 32), images[:, 4:].reshape(-1, 32)
    X, X_test, Y, Y_test = train_test_split(upper, lower, random_state=0)
    X_fit, X_choose, Y_fit, Y_choose = train_test_split(X, Y, random_state=0)

    def trees(sigma):
        return OutputKernelExtraTrees(
            output_kernel="rbf",
            output_kernel_params={"sigma": sigma},
            random_state=0,
            n_jobs=2,
        )

    def grey(halves):
        return np.mean((halves > 0.2) & (halves < 0.8))

    start = time.perf_counter()
    errors = {}
    for sigma in (1.0, 2.0, 4.0):  # by the error after decoding, see nbs/63_trouble
        guess = trees(sigma).fit(X_fit, Y_fit).predict(X_choose)
        errors[sigma] = np.square(guess - Y_choose).mean()
    best = min(errors, key=errors.get)
    model = trees(best).fit(X, Y)
    seconds = time.perf_counter() - start
    baseline = ExtraTreesRegressor(random_state=0, n_jobs=2).fit(X, Y)

    print(f"digits:      {len(X)} to learn from, {len(X_test)} to complete")
    print(f"trained:     {seconds:.1f} s, sigma={best}")
    for name, halves in (
        ("okbook", model.predict(X_test)),
        ("baseline", baseline.predict(X_test)),
    ):
        error = np.square(halves - Y_test).mean()
        print(f"{name + ':':12} squared error {error:.3f}, grey {grey(halves):.0%}")
    print(f"truth:       grey {grey(Y_test):.0%}")
    with tempfile.TemporaryDirectory() as folder:
        save_and_serve(model, X_test, f"{folder}/digits.joblib")


if __name__ == "__main__":
    main()
