# Everything runs in .venv, made from nothing but python3, a C++ compiler and a package index.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
WERROR ?= OFF
SIZE ?=
MINUTES ?= 60
SANITIZED ?= tests/contract tests/kernels tests/text

BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check
STAMPS := $(VENV)/.stamps
SOURCES := pyproject.toml CMakeLists.txt \
  $(shell find cmake csrc python -type f -not -path '*/__pycache__/*' -not -name '*.so')
CXX_SOURCES := $(shell find csrc tests/cpp -name '*.h' -o -name '*.cc')
RATIOS := import project text encode lsa opca cca retrieval names wordbyword wtmf implicitals tucker bptf plsa rnn s2net lm open

.DEFAULT_GOAL := help
.PHONY: help venv build demo test test-cpp test-python test-sanitized fuzz lint bench wheel clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 10) else \
	  "semproj needs Python 3.10 or later; this is %d.%d. Try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=23'
	@mkdir -p $(STAMPS) && touch $@

# Built in isolation: what the build needs comes from the index, not from the system. An unchanged tree is
# not built again, and objects stay in build/python: the C++ tests link them.
$(STAMPS)/build: $(SOURCES) | $(STAMPS)/venv
	$(PIP) '.[test,plot]' cmake --config-settings build-dir=build/python \
	  --config-settings cmake.define.SEMPROJ_WERROR=$(WERROR)
	@touch $@

# By name, not by path: the installed package knows its extras, and is not built for them.
$(STAMPS)/lint $(STAMPS)/bench: pyproject.toml | $(STAMPS)/build
	$(PIP) 'semproj[$(@F)]'
	@touch $@

venv: $(STAMPS)/venv  ## Make the virtual environment

build: $(STAMPS)/build  ## Build the package and install it in the environment

demo: build  ## Learn from real bilingual text, time every stage, draw demo.png
	$(PY) -m benchmarks.demo

test: test-cpp test-python  ## Build, then run the C++ tests, the Python tests and the docstrings' examples

test-cpp: build
	$(BIN)/cmake --preset cpp-tests -DSEMPROJ_BUILT_KERNELS=$(CURDIR)/build/python/libsemproj_kernels.a
	$(BIN)/cmake --build build/cpp --parallel $(JOBS)
	$(BIN)/ctest --test-dir build/cpp --output-on-failure --parallel $(JOBS)

# The package under test is the installed one: the sources are not on the path. What must stop within a second
# has the machine to itself.
test-python: build
	$(PY) -m pytest --quiet --doctest-modules --pyargs semproj
	$(PY) -m pytest tests/interrupts
	$(PY) -m pytest tests --ignore tests/interrupts --numprocesses $(JOBS)

# Beside the installed package, not over it. Python itself is not instrumented, so the runtime comes first. An array
# of more than 8 GB is a MemoryError, as without sanitizers where memory is limited, and not the end of the process.
# On two busy cores, twenty minutes to build and less than half an hour to test. Other rooms are not covered: SANITIZED.
test-sanitized: build  ## The tests of kernels, text and all estimators under ASan and UBSan, the GIL checked
	$(PIP) --no-deps --upgrade --target build/sanitized . --config-settings build-dir=build/asan-python \
	  --config-settings cmake.build-type=RelWithDebInfo \
	  --config-settings cmake.define.SEMPROJ_SANITIZE=address,undefined
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=8192 \
	  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=build/sanitized \
	  $(PY) -m pytest $(SANITIZED) --numprocesses $(JOBS)

fuzz: build  ## Hostile input for MINUTES=60: a failure names the seed that repeats it
	SEMPROJ_FUZZ_MINUTES=$(MINUTES) $(PY) -m pytest tests/fuzz --exitfirst

lint: build $(STAMPS)/lint  ## Style, types, stubs and format, without changing anything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(PY) -m mypy.stubtest semproj._core
	$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)

bench: build $(STAMPS)/bench  ## Time kernels beside peers, for hours; SIZE=--quick is a quarter of an hour
	@mkdir -p benchmarks/results/ratios
	$(PY) -m pytest benchmarks/speed -o python_files='bench_*.py test_*.py' \
	  --benchmark-json benchmarks/results/speed.json
	set -e; for suite in $(RATIOS); do \
	  $(PY) -m benchmarks.ratios $$suite $(SIZE) --json benchmarks/results/ratios/$$suite.json; done

wheel: $(STAMPS)/venv  ## Build a wheel in dist
	$(PY) -m pip wheel --disable-pip-version-check --no-deps --wheel-dir dist .

clean:  ## Remove everything that was built; .cache, the downloads, stays
	rm -rf $(VENV) build dist demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
