"""The claims of all modules."""

from fnmatch import fnmatchcase

from claims.certificates import CERTIFICATES
from claims.closed_forms import CLOSED_FORMS
from claims.estimators import ESTIMATORS
from claims.networks import NETWORKS
from claims.trees import TREES
from claims.votes import VOTES

LISTS = CLOSED_FORMS, TREES, CERTIFICATES, ESTIMATORS, NETWORKS, VOTES
CLAIMS = {claim.name: claim for claims in LISTS for claim in claims}


def find_claims(pattern="*"):
    "The claims with such names, as in ``tree-*``."
    return [claim for name, claim in CLAIMS.items() if fnmatchcase(name, pattern)]
