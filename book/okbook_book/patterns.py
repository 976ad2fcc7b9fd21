"""Names that are chosen by patterns, as on the command lines of several modules."""

from fnmatch import fnmatch


def chosen(name, patterns):
    "Whether one of the patterns, such as '05*', is that of a name; without any, it is."
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)
