# `make lab` teaches, `make test` proves; `make` alone lists the rest.
# ARGS, PINS, TORCH_INDEX and PYTHON may be given on the command line: see README.md.

PYTHON ?= $(shell command -v python3 || command -v python)
RUN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
ONE := OMP_NUM_THREADS=1
NEEDS = $(RUN) tools/setup.py

.PHONY: help setup lab test test-browser test-colab test-offline test-oldest test-newest test-gpu notebooks standalone html reproduce laboratory bench \
	latency mutants versions images address readme clean

help:
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

lab: setup  ## open the lessons in JupyterLab (ARGS="--no-browser --port 8899" is passed on)
	@$(RUN) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

test: setup  ## check everything: package, examples in its documentation, notebooks
	@$(ONE) $(RUN) -m pytest -n 2 $(ARGS)

test-browser: setup  ## drive the notebooks and their interactive pieces in a real browser, by keyboard
	@$(NEEDS) browser html
	@$(ONE) $(RUN) -m pytest -n 2 -m browser tests $(ARGS)

test-colab: setup  ## run the notebooks as Colab would, in an environment of its versions (.venv-colab)
	@$(RUN) tools/environments.py colab $(ARGS)

test-offline: setup  ## check everything without a network, and that nothing is written where it shouldn't be
	@$(ONE) $(RUN) tools/offline.py -n 2 $(ARGS)

test-oldest: setup  ## check everything with the oldest versions that pyproject.toml admits (.venv-oldest)
	@$(RUN) tools/environments.py oldest $(ARGS)

test-newest: setup  ## check everything with today's newest versions (.venv-newest)
	@$(RUN) tools/environments.py newest $(ARGS)

test-gpu: setup  ## check everything where there is an NVIDIA GPU
	@$(RUN) tools/environments.py gpu $(ARGS)

setup:  ## make or repair .venv, nothing more
	@test -n "$(PYTHON)" || { echo "No Python found: install Python 3.11 or later."; exit 1; }
	@"$(PYTHON)" tools/setup.py

notebooks: setup  ## run all notebooks and store their outputs
	@$(ONE) $(RUN) tools/notebooks/execute.py $(ARGS)

standalone: setup  ## write notebooks that carry the package with them, one file each, into dist/standalone
	@$(ONE) $(RUN) tools/notebooks/standalone.py $(ARGS)

html: setup  ## write pages to read and play with offline into dist/html
	@$(NEEDS) html
	@$(RUN) tools/notebooks/export.py $(ARGS)

reproduce: setup  ## run notebooks twice and compare all that they show (ARGS="--runs 10 --busy")
	@$(ONE) $(RUN) tools/notebooks/reproduce.py $(ARGS)

laboratory: setup  ## train again the tables of three seeds in 05 and 06 (half an hour); that of 07: tools/train/dates.py
	@$(ONE) $(RUN) tools/train/tasks.py $(ARGS)

bench: setup  ## measure speed, memory and the cost of the whole, as ratios (an hour)
	@$(ONE) $(RUN) -m tools.bench $(ARGS)

latency: setup  ## measure how fast the interactive pieces answer a key
	@$(NEEDS) browser html
	@$(RUN) tools/bench/latency.py $(ARGS)

mutants: setup  ## make mistakes in the package, and see whether the tests notice (an hour)
	@$(NEEDS) mutants
	@$(ONE) $(RUN) tools/mutants.py $(ARGS)

versions: setup  ## write README's table of the environments in which everything was run
	@$(RUN) tools/notebooks/versions.py $(ARGS)

images: setup  ## draw the pictures in images/ anew
	@$(RUN) tools/draw/draw.py $(ARGS)

address: setup  ## write the repository's address from pyproject.toml wherever it is needed
	@$(RUN) tools/notebooks/address.py $(ARGS)

readme: setup  ## write README's table from the notebooks
	@$(RUN) tools/notebooks/readme.py $(ARGS)

clean:  ## remove the environments and what the tools left behind
	@rm -rf .venv .venv-* dist mutants .pytest_cache .hypothesis build *.egg-info
	@find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
