# Needs git, make and Python >= 3.11 with venv. Everything else goes into .venv.
#
#   make book      the whole book, warnings are errors      make lab      the teacher's notebooks in JupyterLab
#   make test      the package, labs and stored tables      make edit     the sources in JupyterLab
#   make test-book the book: its pages, also in Chromium, and all answers to its exercises (builds it if need be)
#   make class     notebooks for a class                    make export   notebooks -> okbook/
#   make slides    slides of the course                     make assignments  sheets that nbgrader marks: ASSIGN=week3
#   make elsewhere all of it as other machines would        make lock     remake requirements.lock
#   make verify    attempts to refute the book              make clean     forget what was built
#   make rerun     all stored tables computed again         make sums      list the files of tables/ anew
#   make site      what is put on the web: the book, PDFs, slides, notebooks (needs Chromium)
#   make readme    the tables and pictures of README.md
#   make package   wheel and source distribution, checked and installed in empty environments (needs the network)
#   make pdf       the built book, and its core course, as PDFs in _build (needs Chromium)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := PYTHONPATH=book $(BIN)/python
PYTEST = $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal --durations 15 --durations-min 5
STAMP := _build/html/sources.sha256

# The threads of a BLAS on small matrices only get in each other's way.
export OMP_NUM_THREADS ?= 1
export PYDEVD_DISABLE_FILE_VALIDATION = 1

# A build never waits for a download: data is there or it is not.
book class assignments slides test-class test test-book test-peers pytest test-data elsewhere notebooks: export OKBOOK_OFFLINE = 1

.DEFAULT_GOAL := help
.PHONY: help env book book-if-stale pdf test test-book check pytest peers test-peers test-data elsewhere rerun sums verify package
.PHONY: lab edit class slides assignments teachers test-class publish-class site readme export format clean distclean lock notebooks

help:
	@sed -n '3,14s/^# *//p' Makefile

env: $(VENV)/ready

$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("okbook needs Python 3.11 or later, not " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/npm install --silent --no-audit --no-fund --prefix $(VENV) katex@0.19.1
	@touch $@

# The stamp in the built book is the fingerprint of the sources it was built from. A failed build leaves none,
# and its parsed pages are dropped: Sphinx would not repeat their warnings.
book: env
	@rm -rf $(STAMP) _build/html/reports
	@made=$$($(PY) -m okbook_book.fingerprint) && \
	$(PY) -m okbook_book.execute && \
	{ $(BIN)/jupyter-book build . -W -n --keep-going || { rm -rf _build/.doctrees; exit 1; }; } && \
	echo $$made > $(STAMP)
	@$(PY) -m okbook_book.layers
	@echo
	@echo "The book is built. Its first page: $(CURDIR)/_build/html/nbs/index.html"

book-if-stale: env
	@test "$$(cat $(STAMP) 2>/dev/null)" = "$$($(PY) -m okbook_book.fingerprint)" || $(MAKE) --no-print-directory book

# Every page of the built book, printed by one Chromium and bound: some minutes, and the longer the slower the machine.
pdf: book-if-stale
	$(PY) -m okbook_book.pdf

# Needs no data, no built book and no browser. A file only: make pytest TESTS=tests/package/test_core.py
test: env
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory pytest

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PY) -m okbook_book.checks export clean

pytest: env
	$(PYTEST) --ignore tests/book --ignore tests/peers $(TESTS)

# Scikit-learn's own tests, as installed, with our estimators under its names: those of what we have.
test-peers: env
	$(PYTEST) tests/peers $(TESTS)

# All of them, and the counts. And himalaya, which is installed for this beside the environment: the same numbers
# from another library.
peers: env
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target _build/peers/site himalaya==0.4.11
	PYTHONPATH=book:_build/peers/site $(BIN)/python -m pytest -q tests/peers/test_himalaya.py
	$(PY) tests/peers/test_peers.py

# The book's build has executed all notebooks, and its stamp proves that they were these, with this package.
# Last, scikit-learn's checks of all configurations of an estimator, of which `make test` takes one.
# TESTS='--share 2/6' tries every sixth page only in a browser, and its exercises, from the second on.
test-book: env
	@$(MAKE) --no-print-directory book-if-stale
	$(PY) -m okbook_book.checks executed links
	OKBOOK_REQUIRE_BOOK=1 $(PYTEST) tests/book $(TESTS)
	$(PYTEST) tests/package -m contract --all-checks

# With the data of OKBOOK_DATA: what the tests skip without it.
test-data: env
	OKBOOK_REQUIRE_DATA=1 $(PYTEST) -m needs_data

# Built, checked and installed in empty environments, with the newest, the smallest and the oldest
# dependencies.
package: env
	OKBOOK_PACKAGE=1 $(BIN)/python -m pytest -q -s tests/package/test_packaging.py

# As other machines would compute: make elsewhere ELSEWHERE="--settings 3 --parts notebooks --notebooks '05*'"
# Do pages tell the same without data and with that of OKBOOK_DATA: ELSEWHERE="--settings 8 --parts notebooks"
elsewhere: env
	$(PY) -m okbook_book.elsewhere $(ELSEWHERE)

# Whole tables computed again, in the place of the stored ones, before a release: RERUN='ok3-table1 --n-jobs 2'.
RERUN ?= --n-jobs -1
rerun: env
	$(BIN)/okbook tables rerun $(RERUN)

# After a file of tables/ was changed by hand: a printed value, an entry of the ledger.
sums:
	cd tables && LC_ALL=C sha256sum */*.* > SHA256SUMS

# Ten minutes of attempts to refute what the book claims; the book shows the last such run (tables/verify).
VERIFY ?= --seconds 600 --store
verify: env
	PYTHONPATH=tests $(BIN)/python -m claims.run $(VERIFY)

# The notebooks once more, in fresh processes and without the book's cache; one: NOTEBOOKS='--path nbs/00_core.ipynb'.
notebooks: env
	$(BIN)/nbdev_test --n_workers 2 $(NOTEBOOKS)

# The class edition, in _build/class: student, teacher (with the solutions), and slides of the built book.
# FIGURES=1: the students' notebooks hold the figures, drawn beforehand (minutes, unless the book is built).
class: env
	$(if $(FIGURES),$(PY) -m okbook_book.execute)
	$(PY) -m okbook_book.classes $(if $(FIGURES),--figures)

slides: book-if-stale
	$(PY) -m okbook_book.slides

# Sheets for nbgrader, in the folder of a course. ASSIGN: weeks of the plan (all of them), pages, or sheet=ex-one,ex-two.
COURSE ?= _build/course
assignments: class
	$(PY) -m okbook_book.assignments $(COURSE) $(ASSIGN)

# What teachers get of a release: the notebooks with all solutions, the slides, the sheets.
teachers: COURSE = _build/teachers/course
teachers: slides assignments
	cd _build && rm -f okbook-teachers.zip && ../$(BIN)/python -m zipfile -c okbook-teachers.zip class/teacher class/slides teachers/course

# Its notebooks run and are opened in JupyterLab, in Chromium: some forty minutes; CLASS='-k 02_' takes chapter 2 only.
test-class: class slides
	OKBOOK_CLASS=1 $(PYTEST) tests/book/test_class.py $(CLASS)

# Sends it, without the teacher's folder, to the branch that the buttons of the book lead to.
publish-class: class slides
	export GIT_INDEX_FILE=$(CURDIR)/_build/class/index && rm -f $$GIT_INDEX_FILE && \
	git --work-tree=_build/class add --force README.md binder student slides && \
	git push --force origin $$(git commit-tree -m "The class edition of $$(git rev-parse HEAD)" $$(git write-tree)):refs/heads/class

# What is put on the web, in _build/site: the book, PDFs of all and of the core course, slides, and a class's notebooks.
site: pdf slides class
	rm -rf _build/site && cp -r _build/html _build/site && cp _build/okbook.pdf _build/okbook-core.pdf _build/site
	cp -r _build/class/slides _build/site/slides
	cd _build/class/student && $(CURDIR)/$(BIN)/python -m zipfile -c $(CURDIR)/_build/site/okbook-notebooks.zip .

# Plain notebooks, as their readers see them: book/lab turns jupyterlab-myst off.
lab: class
	JUPYTER_CONFIG_PATH=book/lab $(BIN)/jupyter lab --notebook-dir=_build/class/teacher

edit: env
	$(BIN)/jupyter lab --notebook-dir=. nbs/index.md

# What the README quotes of the ledger and of the benchmarks, and its pictures; tests/package/test_readme.py compares them.
readme: env
	$(PY) -m cogapp -r README.md
	$(PY) -m okbook_book.readme

export: env
	$(BIN)/nbdev_export

format: env
	$(BIN)/ruff check --fix --quiet --exit-zero .
	$(BIN)/ruff format .
	$(BIN)/ruff check .
	$(BIN)/nbdev_clean --fname nbs

clean:
	rm -rf _build build nbs/api *.egg-info .pytest_cache .ruff_cache

distclean: clean
	rm -rf $(VENV)

lock:
	rm -rf _build/lock && $(PYTHON) -m venv _build/lock
	_build/lock/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.in
	{ echo "# Made by 'make lock' from requirements.in."; _build/lock/bin/python -m pip freeze --all --exclude pip; } > requirements.lock
	rm -rf _build/lock
