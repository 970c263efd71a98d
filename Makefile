# `make` alone lists what there is. ARGS is passed on; PINS, TORCH_INDEX and PYTHON: see README.md.

PYTHON ?= $(shell command -v python3 || command -v python)
RUN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
ONE := OMP_NUM_THREADS=1
PYTEST = $(ONE) $(RUN) -m pytest -n 2
QUICK = -p no:logging --doctest-modules --dist=loadscope
NEEDS = $(RUN) tools/setup.py
NOTEBOOKS = $(foreach name,$(NB),$(or $(wildcard notebooks/$(name)*.ipynb),\
	$(error No notebook is called $(name))))

.PHONY: help setup lab test quick test-browser test-clients frameworks notebooks standalone html site \
	slides lecture student handout grade translation readme bench mutants clean

help:
	@awk -F ':[^#]*## ' '/^[a-z%-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

lab: setup  ## open the lessons in JupyterLab (ARGS="--no-browser --port 8899")
	@$(RUN) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

test: setup  ## check package, examples and notebooks; NB="02 05": only these notebooks
	@$(PYTEST) $(NOTEBOOKS) $(ARGS)

quick: setup  ## the same without notebooks and slow tests: half a minute
	@$(PYTEST) -q -p no:nbval -o addopts="$(QUICK)" -m "not slow" tests d2l_ext $(ARGS)

test-browser: setup  ## check pages and interactive pieces in a real browser
	@$(NEEDS) browser html slides site
	@$(PYTEST) -m browser tests $(ARGS)

test-clients: setup  ## check what is recorded of models of other packages (100 MB)
	@$(NEEDS) clients trained
	@$(PYTEST) tests/core/test_clients.py $(ARGS)

frameworks: setup  ## open lesson 11 with JAX, TensorFlow and MXNet; ARGS=store: store its outputs
	@$(RUN) tools/frameworks.py $(ARGS)

test-%: setup  ## make test elsewhere: test-colab, -offline, -oldest, -newest, -gpu, -frameworks, -wheel
	@$(ONE) $(RUN) tools/environments.py $* $(ARGS)

notebooks: setup  ## run notebooks and store their outputs; ARGS="--runs 2": only compare runs
	@$(ONE) $(RUN) tools/notebooks/execute.py $(ARGS)

standalone: setup  ## write notebooks that carry the package with them into dist/standalone
	@$(ONE) $(RUN) tools/notebooks/standalone.py $(ARGS)

html: setup  ## write pages to read and play with offline into dist/html
	@$(NEEDS) html
	@$(RUN) tools/notebooks/export.py $(ARGS)

site: setup  ## write a website into dist/site; ARGS=--serve opens it at a local address
	@$(NEEDS) html slides site
	@$(RUN) tools/website/website.py $(ARGS)

slides: setup  ## write decks to lecture with offline into dist/slides; NB="02 05": only these
	@$(NEEDS) html slides
	@$(RUN) tools/classroom/slides.py $(NB) $(ARGS)

lecture: setup  ## open a copy of a lesson that is cut for a lecture: make lecture NB=02
	@$(RUN) tools/classroom/lecture.py $(NB) $(ARGS)

student: setup  ## write editions for students and for teachers into dist/student, dist/instructor
	@$(RUN) tools/classroom/student.py $(ARGS)

handout: setup  ## write PDFs to print or project into dist/handout
	@$(NEEDS) browser html
	@$(RUN) tools/classroom/handout.py $(ARGS)

grade: setup  ## grade notebooks that were handed in: make grade FOLDER=submissions
	@$(RUN) tools/classroom/grade.py "$(or $(FOLDER),submissions)" $(ARGS)

translation: setup  ## bring the other languages' lessons up to date, and show what has changed
	@$(RUN) tools/notebooks/translation.py $(ARGS)

readme: setup  ## write minutes, tables, versions and address wherever they stand
	@$(RUN) tools/notebooks/readme.py $(ARGS)
	@$(RUN) tools/classroom/guide.py $(ARGS)

bench: setup  ## measure speed and memory as ratios (an hour); ARGS=latency, ARGS=frameworks: others
	@$(if $(findstring latency,$(ARGS)),$(NEEDS) browser html)
	@$(ONE) $(RUN) -m tools.bench $(ARGS)

mutants: setup  ## make mistakes in the package, and see whether the tests notice (hours)
	@$(NEEDS) mutants
	@$(ONE) $(RUN) tools/mutants.py $(ARGS)

clean:  ## remove the environments and what the tools left behind
	@rm -rf .venv .venv-* dist mutants .pytest_cache .hypothesis build *.egg-info
	@find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} +

setup:
	@test -n "$(PYTHON)" || { echo "No Python found: install Python 3.11 or later."; exit 1; }
	@"$(PYTHON)" tools/setup.py
