# `make help` lists the targets.  Everything is installed into .venv, once: the stamps depend on
# pyproject.toml and constraints.txt.  Needs Python 3.11 with pip, and make.
DATA ?= data/errands
PYTHON ?= $(shell command -v python3.11 || command -v python3)
export PIP_CONSTRAINT = constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK = 1
INSTALL = $(PYTHON) -m pip --python .venv/bin/python install --quiet --editable

.PHONY: help setup demo train mlflow tune test lint bench chaos lab
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

setup: .venv/dev.stamp ## install PML with what tests, linters and benchmarks need

demo: .venv/demo.stamp ## run a program on three real MCP servers, over this checkout's history
	@.venv/bin/pml demo

train: .venv/research.stamp ## run what has changed of traces -> features -> training -> package
	@PATH="$(CURDIR)/.venv/bin:$$PATH" DVC_NO_ANALYTICS=1 dvc repro

mlflow: .venv/research.stamp ## open what was tracked, at http://127.0.0.1:5000
	@MLFLOW_DISABLE_TELEMETRY=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false .venv/bin/mlflow ui \
	  --host 127.0.0.1 --port 5000 --backend-store-uri "$${MLFLOW_TRACKING_URI:-sqlite:///tracking/mlflow.db}"

tune: .venv/research.stamp ## search for parameters of the training, in two processes
	@.venv/bin/pml tune $(DATA) --params params.yaml --track

# Notebooks run in a call of their own: each plugin costs every start of pytest (nbval 0.7 s).
test: .venv/dev.stamp ## run all tests, then the notebooks
	.venv/bin/python -m pytest -n 2 --dist loadfile -p no:nbval
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --nbval-lax notebooks

lint: .venv/dev.stamp ## ruff, mypy and the import contracts
	.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && .venv/bin/lint-imports

bench: .venv/dev.stamp ## run every benchmark; the last line of each is one JSON object
	for script in experiments/bench/*.py; do echo "== $$script"; .venv/bin/python $$script || exit 1; done

chaos: .venv/dev.stamp ## kill everything 500 times under running programs, and judge what is left
	.venv/bin/python -m tests.chaos --kills 500

lab: .venv/research.stamp ## open the notebooks in JupyterLab
	.venv/bin/jupyter lab --allow-root --notebook-dir notebooks

# Only the core and the demo's two servers: no torch.
.venv/demo.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing PML into .venv (once, under a minute)"
	@$(INSTALL) '.[demo]' && touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing PML and its development tools into .venv (once, some minutes: torch is an oracle)"
	@$(INSTALL) '.[dev]' && touch $@

.venv/research.stamp: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing PML, torch, DVC, MLflow, Optuna and JupyterLab into .venv (once, about three minutes)"
	@$(INSTALL) '.[research]' && touch $@

# Without pip inside, so that a Python whose `ensurepip` was split off (Debian's) will do.
.venv/bin/python:
	@$(PYTHON) -m venv --without-pip .venv
