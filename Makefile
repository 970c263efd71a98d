# `make` alone lists what there is. ARGS is passed on; PINS, TORCH_INDEX and PYTHON: see README.md.

PYTHON ?= $(shell command -v python3 || command -v python)
RUN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
ONE := OMP_NUM_THREADS=1
PYTEST = $(ONE) $(RUN) -m pytest -n 2
QUICK = -p no:logging -p no:anyio --doctest-modules --dist=loadscope
NEEDS = $(RUN) tools/setup.py
ifeq ($(HOME)$(OS),)  # a user without a home, as in a container: Jupyter needs one
export HOME := $(CURDIR)/dist/home
endif
NOTEBOOKS = $(foreach name,$(NB),$(or $(wildcard $(foreach folder,notebooks notebooks/deeper,\
	$(folder)/$(name)*.ipynb)),\
	$(error No notebook is called $(name))))

.PHONY: help setup lab address test quick test-browser test-clients frameworks notebooks standalone html site \
	slides lecture student release report translation readme bench pins clean

help:
	@awk -F ':[^#]*## ' '/^[a-z%-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile

lab: setup  ## open the lessons in JupyterLab (ARGS=zh, ARGS="--ip 0.0.0.0 --port 8899")
	@$(RUN) -m tools.lab $(ARGS)

test: setup  ## check package, examples and notebooks; NB="02 deeper/05": only these notebooks
	@$(PYTEST) $(NOTEBOOKS) $(ARGS)

quick: setup  ## the same without notebooks and slow tests: half a minute
	@$(PYTEST) -q -p no:nbval -o addopts="$(QUICK)" -m "not slow" tests d2l_ext attention_lessons $(ARGS)

test-browser: setup  ## check pages and interactive pieces in a real browser
	@$(NEEDS) browser html slides site
	@$(PYTEST) -m browser tests $(ARGS)

test-clients: setup  ## check what is recorded of models of other packages
	@$(NEEDS) clients
	@$(PYTEST) tests/core/test_clients.py $(ARGS)

address: setup  ## set the repository's address everywhere: make address URL=https://github.com/you/name
	@$(RUN) -m tools.address "$(URL)"
	@$(MAKE) --no-print-directory readme

frameworks: setup  ## open lesson 14 with JAX, TensorFlow and MXNet; ARGS=store: store its outputs
	@$(RUN) -m tools.environments frameworks $(or $(ARGS),lab)

test-%: setup  ## make test elsewhere: test-colab, -offline, -oldest, -newest, -gpu, -frameworks, -wheel, -sections, -nbgrader
	@$(ONE) $(RUN) -m tools.environments $* $(ARGS)

notebooks: setup  ## run notebooks and store their outputs; ARGS="02 zh/02": only these
	@$(ONE) $(RUN) -m tools.notebooks.execute $(ARGS)

html:  ## write pages to read and play with offline into dist/html; NB="02 05": only these
standalone:  ## write notebooks that carry the packages with them into dist/standalone
slides:  ## write decks to lecture with offline into dist/slides
site:  ## write a website into dist/site
html standalone slides site: setup
	@$(NEEDS) html slides site
	@$(RUN) -m tools.publish $@ $(NB) $(ARGS)

release: setup  ## write what others download into dist/release: wheel, zips, checksums
	@$(NEEDS) html slides site
	@$(RUN) -m tools.release

lecture: setup  ## open a copy of a lesson that is cut for a lecture: make lecture NB=02
	@$(RUN) -m tools.classroom.lecture $(NB) $(ARGS)

student: setup  ## write editions for students and for teachers into dist/student, dist/instructor
	@$(RUN) -m tools.classroom.editions $(ARGS)

report: setup  ## report what `check` said in notebooks handed in: make report FOLDER=submissions
	@$(RUN) -m tools.classroom.report "$(or $(FOLDER),submissions)"

readme:  ## write what is made from the lessons: minutes, tables, other languages, teachers' pages
translation:  ## the same; both name what is not translated yet
readme translation: setup
	@wrong=0; for tool in notebooks.readme notebooks.translation classroom.teacher_pages; do \
		$(RUN) -m tools.$$tool $(ARGS) || wrong=1; done; exit $$wrong

bench: setup  ## measure attention's time and memory as ratios to PyTorch's (half an hour)
	@$(ONE) $(RUN) -m tools.bench.attention

mutants: setup  ## make mistakes in d2l_ext, and see whether the tests notice (hours)
	@$(NEEDS) mutants
	@$(ONE) $(RUN) -m mutmut run $(ARGS)

# Without what one system alone needs, a build's name (+cpu) and this folder; markers are kept.
pins:  ## write the newest versions that go together into pins.txt, extras too (after make clean)
	@PINS= "$(PYTHON)" tools/setup.py html slides site browser
	@$(RUN) -m pip freeze --exclude-editable --exclude d2l --exclude pexpect --exclude ptyprocess | \
		awk -F == 'NR == FNR && / ; / {kept[$$1] = substr($$0, index($$0, " ; "))} \
		NR == FNR {if (/^#/) print; next} {sub(/\+.*/, ""); print $$0 kept[$$1]}' pins.txt - \
		> pins.new && mv pins.new pins.txt

clean:  ## remove the environments and what the tools left behind
	@rm -rf .venv .venv-* dist mutants .pytest_cache .hypothesis build *.egg-info
	@find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} +

setup:
	@test -n "$(PYTHON)" || { echo "No Python found: install Python 3.11 or later."; exit 1; }
	@"$(PYTHON)" tools/setup.py
