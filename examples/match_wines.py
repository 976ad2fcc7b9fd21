"""From cheap measurements of a wine to the most similar wine in a cellar: ridge
regression towards the kernel of the expensive measurements, in a pipeline, saved, and
served from another process.

python examples/match_wines.py
"""

import tempfile
import time

import numpy as np
from serving import save_and_serve
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from okbook import OutputKernelRidgeCV

CHEAP = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "hue"]


def main():
    table, kinds = load_wine(return_X_y=True, as_frame=True)
    X, Y = table[CHEAP].to_numpy(), scale(table.drop(columns=CHEAP))
    X, X_test, Y, Y_test, kind, kind_test = train_test_split(
        X, Y, kinds.to_numpy(), stratify=kinds, random_state=0
    )
    ridge = OutputKernelRidgeCV(
        input_kernel_params={"sigma": 2.0},
        output_kernel="rbf",
        output_kernel_params={"sigma": 2.0},
        candidates=Y,  # the cellar
    )
    start = time.perf_counter()
    model = make_pipeline(StandardScaler(), ridge).fit(X, Y)
    seconds = time.perf_counter() - start
    baseline = make_pipeline(StandardScaler(), KNeighborsRegressor(1)).fit(X, Y)

    print(f"wines:       {len(X)} in the cellar, {len(X_test)} to match")
    print(f"trained:     {seconds:.2f} s, lam={model[-1].lam_:.3g}")
    for name, fitted in (("okbook", model), ("baseline", baseline)):
        found = fitted.predict(X_test)
        far = np.square(found - Y_test).mean()
        chosen = np.square(found[:, None] - Y).sum(axis=2).argmin(axis=1)
        same = np.mean(kind[chosen] == kind_test)
        print(f"{name + ':':12} squared distance {far:.2f}, same kind {same:.0%}")
    with tempfile.TemporaryDirectory() as folder:
        save_and_serve(model, X_test, f"{folder}/wines.joblib")


if __name__ == "__main__":
    main()
