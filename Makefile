# Everything a checkout needs beyond python3 >= 3.10 is fetched by these targets (PyPI, npm), into .venv and js/node_modules;
# packages of the system are installed by `make system`, and of other targets only by root or with ALLOW_APT=1, where nothing else helps.
PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo lab test check nightly lint js docs pictures bench diagnose matrix fresh dist goldens system setup-demo setup-dev setup-docs clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup-demo ## execute notebooks/quickstart.ipynb for real, write build/quickstart.html, print a summary
	@$(PY) -m tools.demo

lab: setup-demo ## open the quickstart notebook live in JupyterLab
	@$(BIN)/jupyter-lab notebooks/quickstart.ipynb

test: setup-dev ## all checks and tests: Python, TypeScript, browser
	@$(PY) -m tools.checks lint js pytest

check: setup-dev ## in 90 s, before each commit: lint, types, TypeScript tests, and the Python tests of layers, columns, reading, ops and steps
	@$(PY) -m tools.checks lint js unit

nightly: setup-dev ## by hand, hours: Notebook 7, Voila, a host with Colab's rules, trainings of minutes, the fuzzers at length (CASES=200000 directories of broken structure drawn from SEED=0), `diagnose` and `matrix`
	@CASES=$(or $(CASES),200000) SEED=$(or $(SEED),0) $(PY) -m tools.checks nightly

lint: setup-dev ## ruff, mypy, biome, tsc
	@$(PY) -m tools.checks lint

js: setup-dev ## rebuild tfprof_widgets/static from js/src
	@$(PY) -m tools.checks build

docs: setup-docs ## build the documentation site, strictly, into build/site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

pictures: setup-dev ## take the pictures in docs/pictures anew, from real profiles; NAMES="ops timeline" takes these
	@$(PY) -m tools.site.pictures $(NAMES)

bench: setup-dev ## speed and memory at 10 k to 10 M events beside XProf's and speedscope's, of 10 to 1,000 hosts, and of captures beside bare ones: build/bench/report.md
	@$(PY) benchmarks/bench.py

diagnose: setup-dev ## programs with one known fault each: does the first card name it, and does the fix win what it says? NAMES="one another" runs these
	@$(PY) -m tests.nightly.diagnosis $(NAMES)

matrix: setup-dev ## capture, load and show with TensorFlow 2.16 to 2.21, Python 3.10 to 3.13, Keras 2, Colab's versions and the lowest of all else: an environment each in build/matrix. NAMES="2.18 colab" runs these
	@$(PY) -m tests.nightly.matrix $(NAMES)

fresh: dist ## install the wheel as a stranger does, with nothing of this machine but python3: time, size, and a first run
	@$(PY) -m tests.nightly.matrix.fresh "$$($(PYTHON) -c 'import sys; print(sys.executable)')"

dist: setup-dev ## build the archives of the source and the wheel into dist
	@rm -rf dist && $(PY) -m build --outdir dist

goldens: setup-dev ## the tables of the captures in tests/data anew, XProf's answers about them, and tests/vectors; with TABLES=1 the tables alone, with CAPTURES=1 the captures of CPUs first
	@$(PY) -m tests.goldens $(if $(CAPTURES),--captures) $(if $(TABLES),--tables)
	@$(PY) -m tests.make_vectors
	@$(PY) -m tools.typescript

system: ## as root, on Debian: install Chromium, a font and the venv module of Python where they are missing
	@$(PYTHON) -m tools.system

setup-demo:
	@$(PYTHON) -m tools.environment $(VENV) --extras tensorflow,lab --also nbclient

setup-docs:
	@$(PYTHON) -m tools.environment $(VENV) --extras docs

setup-dev:
	@$(PYTHON) -m tools.environment $(VENV) --extras tensorflow,dev

clean: ## remove what was built and fetched, except committed bundles
	rm -rf build dist $(VENV) js/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
