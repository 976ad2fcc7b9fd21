"""Trees whose outputs live in the feature space of a kernel.

`criterion` measures the variance of outputs and the score of a split, `tree` has one
tree and what it consists of, `pruning` removes its branches, `export` shows it, and
`forest` averages many of them. The hot loops of the search are in `_splits`.
"""

from .columns import (
    DTYPES,
    categorical_columns,
    read_inputs,
)
from .criterion import (
    split_score,
)
from .export import (
    export_text,
    node_prototypes,
    plot_tree,
)
from .forest import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    bootstrap_counts,
    mean_weights,
    out_of_bag_weights,
)
from .lookup import (
    LeafMixin,
    LeftOutLeaves,
    PackedTrees,
    ReachedLeaves,
    leaf_means,
)
from .pruning import (
    prune_tree,
    weakest_links,
)
from .tree import (
    FactorOutputs,
    GramOutputs,
    LARGEST_RANK,
    NO_GRAM,
    OutputKernelTree,
    TREE_CONSTRAINTS,
    Tree,
    TreeGrower,
    check_queries,
    decision_paths,
    feature_shares,
    find_leaves,
    growth_rules,
    impurity_decreases,
    node_depths,
    node_weights,
    prepare_growth,
    resolve_max_features,
    resolve_min_samples,
    search_form,
    tree_leaves,
)

__all__ = [
    "DTYPES",
    "FactorOutputs",
    "GramOutputs",
    "LARGEST_RANK",
    "LeafMixin",
    "LeftOutLeaves",
    "NO_GRAM",
    "OutputKernelBagging",
    "OutputKernelExtraTrees",
    "OutputKernelRandomForest",
    "OutputKernelTree",
    "PackedTrees",
    "ReachedLeaves",
    "TREE_CONSTRAINTS",
    "Tree",
    "TreeGrower",
    "bootstrap_counts",
    "categorical_columns",
    "check_queries",
    "decision_paths",
    "export_text",
    "feature_shares",
    "find_leaves",
    "growth_rules",
    "impurity_decreases",
    "leaf_means",
    "mean_weights",
    "node_depths",
    "node_prototypes",
    "node_weights",
    "out_of_bag_weights",
    "plot_tree",
    "prepare_growth",
    "prune_tree",
    "read_inputs",
    "resolve_max_features",
    "resolve_min_samples",
    "search_form",
    "split_score",
    "tree_leaves",
    "weakest_links",
]
