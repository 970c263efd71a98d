# `make lab` teaches, `make test` proves; `make` alone lists the rest.
# ARGS, PINS, TORCH_INDEX and PYTHON may be given on the command line: see README.md.

PYTHON ?= $(shell command -v python3 || command -v python)
RUN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python

.PHONY: help setup lab test notebooks reproduce laboratory bench images address readme clean

help:
	@awk -F ':[^#]*## ' '/^[a-z]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

lab: setup  ## open the lessons in JupyterLab (ARGS="--no-browser --port 8899" is passed on)
	@$(RUN) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

test: setup  ## check everything: package, examples in its documentation, notebooks
	@OMP_NUM_THREADS=1 $(RUN) -m pytest -n 2 $(ARGS)

setup:  ## make or repair .venv, nothing more
	@test -n "$(PYTHON)" || { echo "No Python found: install Python 3.11 or later."; exit 1; }
	@"$(PYTHON)" tools/setup.py

notebooks: setup  ## run all notebooks and store their outputs
	@OMP_NUM_THREADS=1 $(RUN) tools/execute.py $(ARGS)

reproduce: setup  ## run notebooks twice and compare all that they show (ARGS="--runs 10 --busy")
	@OMP_NUM_THREADS=1 $(RUN) tools/reproduce.py $(ARGS)

laboratory: setup  ## train again what stands in the lessons' tables of three seeds (half an hour)
	@OMP_NUM_THREADS=1 $(RUN) tools/laboratory.py $(ARGS)

bench: setup  ## measure speed, memory and the cost of the whole, as ratios (an hour)
	@OMP_NUM_THREADS=1 $(RUN) -m tools.bench $(ARGS)

images: setup  ## draw the pictures in images/ anew
	@$(RUN) images/draw.py $(ARGS)

address: setup  ## write the repository's address from pyproject.toml wherever it is needed
	@$(RUN) tools/address.py $(ARGS)

readme: setup  ## write README's table from the notebooks
	@$(RUN) tools/readme.py $(ARGS)

clean:  ## remove .venv and what the tools left behind
	@rm -rf .venv .pytest_cache .hypothesis build *.egg-info
	@find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
