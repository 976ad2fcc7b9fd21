"""From measurements of cell nuclei to a diagnosis: the kernel of a random forest in a
support vector machine, cross-validated in a pipeline, saved, and served from another
process.

python examples/diagnose_tumours.py
"""

import tempfile
import time

from serving import save_and_serve
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from okbook import ForestKernel, ForestKernelSVC


def main():
    data = load_breast_cancer()
    X, y = data.data.copy(), data.target_names[data.target]
    X[::7, 3] = float("nan")  # as raw data are
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    forest = RandomForestClassifier(100, random_state=0)
    machine = ForestKernelSVC(ForestKernel(forest), random_state=0)
    search = GridSearchCV(
        make_pipeline(SimpleImputer(), machine),
        {"forestkernelsvc__C": [0.1, 1.0, 10.0]},
        scoring="balanced_accuracy",
        cv=3,
    )
    start = time.perf_counter()
    model = search.fit(X, y).best_estimator_
    seconds = time.perf_counter() - start
    baseline = make_pipeline(SimpleImputer(), forest).fit(X, y)

    print(f"tumours:     {len(X)} to learn from, {len(X_test)} to diagnose")
    print(f"trained:     {seconds:.1f} s, {search.best_params_}")
    for name, fitted in (("okbook", model), ("baseline", baseline)):
        right = balanced_accuracy_score(y_test, fitted.predict(X_test))
        print(f"{name + ':':12} balanced accuracy {right:.3f}")
    with tempfile.TemporaryDirectory() as folder:
        save_and_serve(model, X_test, f"{folder}/tumours.joblib")


if __name__ == "__main__":
    main()
