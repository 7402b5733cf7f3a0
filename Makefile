# AI-QMS. Two commands matter: `make run` and `make test`. Each works alone, on a fresh clone, in any order.
#   make run [PORT=8000] [DEMO=0]   start here; DEMO=0 starts empty, without demo data
#   make test [STRICT=1]            lint, types, architecture, tests; STRICT=1 fails where a system part is missing
#   make backup TO=FOLDER [KEYS=FOLDER] · make restore FILE=... INTO=... [KEYS=...] [PIN=...] · make upgrade
# For maintainers: lint lock test-full test-frontends test-postgres bench fuzz services screenshots texts doctor clean

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= python3
PORT ?= 8000
DEMO ?= 1
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
PANGO := libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0

# A demo and a real installation never share a folder; QMS_DATA from outside wins.
ifeq ($(DEMO),1)
  QMS_DATA ?= $(CURDIR)/var/demo
else
  QMS_DATA ?= $(CURDIR)/var/betrieb
endif
QMS_PUBLIC_URL ?= http://localhost:$(PORT)
HOUSE := QMS_DATA="$(QMS_DATA)" QMS_DEMO=$(DEMO) QMS_PUBLIC_URL="$(QMS_PUBLIC_URL)" PYTHONUNBUFFERED=1

.PHONY: help
help:
	@sed -n '2,6s/^# *//p' Makefile

.PHONY: python
python:
	@command -v $(PYTHON) >/dev/null || { echo "Es fehlt Python 3.11 oder neuer. Debian/Ubuntu: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 oder neuer wird gebraucht, gefunden: $$($(PYTHON) -V). Anderes Python: make PYTHON=/pfad/python3 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python kann keine Umgebung anlegen. Debian/Ubuntu: apt-get install python3-venv"; exit 1; }
	@if [ -e .venv ] && ! $(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "Die Umgebung .venv ist unbrauchbar und wird neu angelegt."; rm -rf .venv; fi
	@[ -e .venv ] || $(PYTHON) -m venv .venv

.venv/.run: requirements.lock | python
	@echo "Pakete werden eingerichtet (einmalig) ..."
	@$(PIP) install --require-hashes --no-deps --no-compile -r requirements.lock
	@touch .venv/.run

.venv/.dev: requirements-dev.lock | python
	@echo "Pakete für die Tests werden eingerichtet (einmalig) ..."
	@$(PIP) install --require-hashes --no-deps --no-compile -r requirements-dev.lock
	@touch .venv/.run .venv/.dev

.PHONY: pango
pango: .venv/.run
	@$(PY) -m qms.core.libraries && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Pango für PDF-Dateien wird eingerichtet ..."; \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $(PANGO); } >/dev/null 2>&1 \
	  || echo "Pango ließ sich nicht einrichten; alles außer PDF funktioniert."; \
	else \
	  echo "Für PDF-Dateien fehlt Pango; alles andere funktioniert. Einrichten mit:"; \
	  echo "  Debian/Ubuntu: sudo apt-get install $(PANGO)"; \
	  echo "  Fedora: sudo dnf install pango harfbuzz"; \
	  echo "  macOS: brew install pango"; \
	fi

.PHONY: run
run: .venv/.run pango
	@$(PY) -m qms.core.catalogues
	@$(HOUSE) $(PY) manage.py prepare
ifeq ($(DEMO),1)
	@$(HOUSE) $(PY) manage.py demo --seed
	@$(HOUSE) $(PY) manage.py demo --freigabe & \
	exec env $(HOUSE) $(PY) manage.py serve --port $(PORT)
else
	@$(HOUSE) $(PY) manage.py first_run_link
	@exec env $(HOUSE) $(PY) manage.py serve --port $(PORT)
endif

.PHONY: doctor
doctor: .venv/.run
	@$(HOUSE) $(PY) manage.py doctor

.PHONY: backup
backup: .venv/.run
	@$(HOUSE) $(PY) manage.py backup "$(or $(TO),$(error TO=ORDNER fehlt))" $(if $(KEYS),--keys "$(KEYS)")

.PHONY: restore
restore: .venv/.run
	@$(HOUSE) $(PY) manage.py restore "$(or $(FILE),$(error FILE=SICHERUNG fehlt))" --into "$(or $(INTO),$(error INTO=LEERER_ORDNER fehlt))" \
	  $(if $(KEYS),--keys "$(KEYS)") $(if $(PIN),--pin "$(PIN)")

.PHONY: upgrade
upgrade: .venv/.run
	@$(HOUSE) $(PY) manage.py upgrade $(if $(TO),--backup-to "$(TO)")

.PHONY: lint
lint: .venv/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

.PHONY: test
test: .venv/.dev lint
	@$(PY) -m qms.core.catalogues
	STRICT=$(STRICT) $(PY) -m pytest -q -n auto --maxprocesses 8 --dist loadfile -rs $(ARGS)

.PHONY: test-full
test-full: .venv/.dev
	@$(PY) -m qms.core.catalogues
	STRICT=$(STRICT) $(PY) -m pytest -q -rs -m full $(ARGS) || [ $$? = 5 ]  # 5: no test is marked full

# Front ends on the real frameworks (CPU). On Linux torch comes from its CPU index: set PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL.
.venv/.frontends: requirements-frontends.lock .venv/.dev
	@echo "PyTorch, JAX und ONNX für die Tests werden eingerichtet ..."
	@$(PIP) install --require-hashes --no-deps --no-compile -r requirements-frontends.lock
	@touch .venv/.frontends

.PHONY: test-frontends
test-frontends: .venv/.frontends
	STRICT=$(STRICT) $(PY) -m pytest -q -rs -m frontends tests/pilots/graph/frontends $(ARGS)

.PHONY: test-postgres
test-postgres: .venv/.dev
	@$(PY) -m qms.core.catalogues
	STRICT=$(STRICT) .ci/with_postgres $(PY) -m pytest -q -n auto --maxprocesses 8 --dist loadfile -rs -m "not full and not browser and not system and not frontends" $(ARGS)

.PHONY: bench
bench: .venv/.dev
	@$(PY) -m qms.core.catalogues
	$(PY) -m tests.bench $(ARGS)

# Pictures of the README, made by the product itself; needs Chromium and poppler-utils.
.PHONY: screenshots
screenshots: .venv/.dev
	@$(PY) -m qms.core.catalogues
	$(PY) -m tests.screenshots $(ARGS)

# New texts for translation, and the generated pages of docs/.
.PHONY: texts
texts: .venv/.dev
	$(PY) -m tests.messages
	$(PY) -m tests.codes

.PHONY: fuzz
fuzz: .venv/.dev
	HYPOTHESIS_PROFILE=fuzz $(PY) -m pytest -q -n auto --maxprocesses 8 -m hypothesis $(ARGS)

# PostgreSQL for trying out, in its own folder, until Ctrl-C.
.PHONY: services
services:
	@.ci/with_postgres bash -c 'echo "PostgreSQL läuft (Ende mit Strg+C): QMS_DB=$$QMS_DB QMS_DB_HOST=$$QMS_DB_HOST QMS_DB_USER=$$QMS_DB_USER QMS_DB_NAME=$$QMS_DB_NAME"; exec sleep infinity'

.PHONY: lock
lock: .venv/.dev
	@$(PIP) install uv
	$(PY) -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -o requirements.lock
	$(PY) -m uv pip compile pyproject.toml --group dev -c requirements.lock --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q -o requirements-dev.lock
	$(PY) -c 'import tomllib; print(*(item for group in tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"].values() for item in group), sep="\n")' \
	| $(PY) -m uv pip compile - -c requirements-dev.lock --python-version 3.11 --python-platform linux --generate-hashes --no-header --no-annotate -q -o requirements-frontends.lock

# Takes away what can be made again; var/ holds data and stays.
.PHONY: clean
clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
