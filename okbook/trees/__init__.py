"""Trees whose outputs live in the feature space of a kernel.

`criterion` measures the variance of outputs and the score of a split, `nodes` is a
grown tree, `growth` grows one, `tree` has the estimator, `pruning` removes its
branches, `export` shows it, and `forest` averages many of them. The hot loops of the search are in `_splits`.
"""

from .criterion import (
    split_score,
)
from .export import (
    export_text,
    plot_tree,
)
from .forest import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
)
from .lookup import (
    LeafMixin,
)
from .nodes import (
    Tree,
)
from .pruning import (
    prune_tree,
    weakest_links,
)
from .tree import (
    OutputKernelTree,
)

__all__ = [
    "LeafMixin",
    "OutputKernelBagging",
    "OutputKernelExtraTrees",
    "OutputKernelRandomForest",
    "OutputKernelTree",
    "Tree",
    "export_text",
    "plot_tree",
    "prune_tree",
    "split_score",
    "weakest_links",
]
