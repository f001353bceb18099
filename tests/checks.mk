# SPDX-License-Identifier: Apache-2.0
# Targets that test and check. Each counts its results: see tests/run.py.

run := $(PYTHON) tests/run.py
# Nothing is written outside $(O).
export PYTHONDONTWRITEBYTECODE := 1
source-files = $(sort $(call files,[ch]) $(foreach d,docs/examples tests/unit tests/fuzz tests/fake tests/bench,$(wildcard $d/*.[ch])))
# What the integration tests and the demo start.
test-env = TW_BIN=$(abspath $(O))

# ---- with what they need ---------------------------------------------------
# What is missing is installed first; the libraries are looked for when make reads this
# file, so the rest is a new make.

deps:
	@etc/deps test

test:
	@etc/deps test
	@$(MAKE) --no-print-directory test-run

# The longest first. TEST_JOBS=N runs N at a time.
TEST_JOBS := 1
# The checks among them: `check`, or less.
check := check
test-targets := test-pipeline test-publish $(check) test-collector-names test-estimator \
	test-model-server test-sources test-offline-trainer test-server-load test-collector-power \
	test-collector
test-run: all build-tests
	@$(MAKE) --no-print-directory -k -j$(TEST_JOBS) --output-sync=$(if \
		$(filter 1,$(TEST_JOBS)),none,target) $(test-targets)

demo:
	@etc/deps build
	@$(MAKE) --no-print-directory demo-run

demo-run: all
	@$(test-env) $(PYTHON) tests/demo.py $(if $(filter 1,$(KEEP)),--keep)

# One test by its name: make t/num runs tests/unit/test_num.c, make t/top starts programs.
t/%:
	@$(MAKE) --no-print-directory $(if $(wildcard tests/unit/test_$*.c),\
		$(O)/tests/unit/test_$* $(fakes),all $(fakes) $(O)/tests/bench/collector_load)
	@$(test-env) $(run) $(if $(wildcard tests/unit/test_$*.c),\
		unit $(O)/tests/unit/test_$*,python tests/integration/test_$*.py)

# ---- checks without running programs ---------------------------------------

# Those that are of the build, and those that are of the sources alone.
check: check-build check-sources
check-build: check-unit check-fuzz
check-sources: check-headers check-layers check-structure check-docs check-format check-data \
	check-tools check-bpf

build-tests: $(tests) $(fuzzers) $(fakes)

check-unit: $(tests) $(fakes)
	@$(run) unit $(tests)

check-fuzz: $(fuzzers)
	@$(run) fuzz $(fuzzers)

# Every header compiles alone, twice over.
check-headers:
	@$(run) one check-headers tests/checks/check_headers '$(CC)' \
		'$(subst ','\'',$(filter-out -D%,$(tw-cppflags))) -D_GNU_SOURCE' $(headers)

# No room includes what the table of docs/architecture.md does not let it.
check-layers:
	@$(run) one check-layers $(PYTHON) tests/checks/check_layers.py .
	@$(run) python tests/checks/test_check_layers.py

# No cycle of modules, no header of one file, no struct tag of two meanings.
check-structure:
	@$(run) one check-structure $(PYTHON) tests/checks/check_structure.py .
	@$(run) python tests/checks/test_check_structure.py

# Every registered name, option and route is documented.
check-docs: all
	@$(test-env) $(run) one check-docs $(PYTHON) tests/checks/check_docs.py $(programs)
	@$(run) python tests/checks/test_check_docs.py

# The layout differs between releases of clang-format: 14 it is.
CLANG_FORMAT ?= clang-format-14
check-format:
	@if command -v $(CLANG_FORMAT) >/dev/null; then \
		$(run) one check-format sh -c 'printf "%s\n" "$$@" | \
			xargs -P 2 -n 40 $(CLANG_FORMAT) --dry-run -Werror' sh $(source-files); \
	else \
		case ",$(TW_REQUIRE)," in *,clang-format,*) \
			echo "check-format: TW_REQUIRE names clang-format, which is missing" >&2; \
			exit 1;; esac; \
		echo "SKIPPED: check-format: no $(CLANG_FORMAT)"; \
	fi

format:
	$(CLANG_FORMAT) -i $(source-files)

# The recorded data is what its generator makes.
check-data:
	@$(run) python tests/checks/test_generator.py

# Nothing in the BPF programs that Linux 5.8 does not know, but for what is for later ones.
bpf-objects := $(patsubst %.bpf.c,$(O)/%.bpf.o,$(filter-out bpf/walk.bpf.c,$(filter bpf/%,\
	$(bpf-programs))))
check-bpf: $(if $(filter 1,$(BPF)),$(bpf-objects))
	@$(if $(filter 1,$(BPF)),$(run) one check-bpf $(PYTHON) tests/checks/check_bpf.py $^,\
		echo "SKIPPED: check-bpf: a build without BPF")
	@$(run) python tests/checks/test_check_bpf.py

# The counting of results, the installing of packages, and what benches judge by.
check-tools:
	@$(run) python tests/checks/test_run.py tests/checks/test_deps.py \
		tests/checks/test_bench.py

# ---- tests with running programs -------------------------------------------

test-pipeline := pipeline schemas packages old_groups
test-publish := install publishing publish import import_database
# Where responses come from: Prometheus and exporters.
test-sources := query query_faults record
test-model-server := model_server server_cases pull foreign server_setup
test-server-load := server_fuzz server_stress
test-estimator := estimator models library estimator_faults estimator_clients kepler_client
test-offline-trainer := offline_trainer main_job
test-collector := collector collector_kepler
test-collector-power := collector_power collector_meters meters_teach collector_vm
test-collector-names := collector_models collector_asked collector_names top

integration := test-pipeline test-publish test-sources test-model-server test-server-load \
	test-estimator test-offline-trainer test-collector test-collector-power test-collector-names
script = $(patsubst %,tests/integration/test_%.py,$($(1)))
unlisted := $(filter-out $(foreach t,$(integration),$(call script,$(t))),\
	$(wildcard tests/integration/test_*.py))
ifneq ($(unlisted),)
$(error no target runs $(unlisted))
endif

test-collector test-collector-power test-collector-names: $(O)/tests/bench/collector_load
$(integration): all $(fakes)
	@$(test-env) $(run) python $(call script,$@)

.PHONY: deps test test-run demo demo-run check check-build check-sources build-tests \
	check-unit check-fuzz check-headers check-layers check-structure check-docs check-format check-data check-tools check-bpf \
	format $(integration)

# The picture of docs/architecture.md, with graphviz.
pictures: docs/architecture.svg
docs/%.svg: docs/%.dot
	dot -Tsvg $< -o $@
.PHONY: pictures
