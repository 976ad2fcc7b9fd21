"""The protocols of the labs: one module a lab, exported from its notebook, each with its ``TABLE`` (or ``TABLES``).

``okbook tables list`` shows what is here; :func:`okbook.tables.find` fetches one by its id.
"""
