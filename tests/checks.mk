# SPDX-License-Identifier: Apache-2.0
# Targets that test and check. Each counts its results: see tests/run.py.

run := $(PYTHON) tests/run.py
# Nothing is written outside $(O).
export PYTHONDONTWRITEBYTECODE := 1
source-files = $(sort $(foreach d,$(dirs) docs/examples tests/unit tests/fuzz tests/fake tests/bench,$(wildcard $d/*.[ch])))
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

test-targets := check test-pipeline test-sources test-model-server test-estimator \
	test-offline-trainer test-collector
test-run: all
	@fail=0; for t in $(test-targets); do \
		$(MAKE) --no-print-directory -k $$t || fail=1; done; exit $$fail

demo:
	@etc/deps build
	@$(MAKE) --no-print-directory demo-run

demo-run: all
	@$(test-env) $(PYTHON) tests/demo.py $(if $(filter 1,$(KEEP)),--keep)

# ---- checks without running programs ---------------------------------------

check: check-unit check-fuzz check-headers check-layers check-docs check-format check-data \
	check-tools

build-tests: $(tests) $(fuzzers) $(fakes)

check-unit: $(tests) $(fakes)
	@$(run) unit $(tests)

check-fuzz: $(fuzzers)
	@$(run) fuzz $(fuzzers)

# Every header compiles alone, twice over.
check-headers:
	@$(run) one check-headers sh -c 'for h in $(headers); do \
		printf "#include \"%s\"\n#include \"%s\"\nextern int tw_x;\n" $$h $$h | \
		$(CC) -std=c11 -Wall -Wextra -Werror $$0 -fsyntax-only -x c - || \
		{ echo "$$h does not compile alone" >&2; exit 1; }; done' \
		'$(subst ','\'',$(filter-out -D%,$(tw-cppflags))) -D_GNU_SOURCE'

# No room includes what the table of docs/architecture.md does not let it.
check-layers:
	@$(run) one check-layers $(PYTHON) tests/checks/check_layers.py .
	@$(run) python tests/checks/test_check_layers.py

# Every registered name, option and route is documented.
check-docs: all
	@$(test-env) $(run) one check-docs $(PYTHON) tests/checks/check_docs.py $(programs)
	@$(run) python tests/checks/test_check_docs.py

# The layout differs between releases of clang-format: 14 it is.
CLANG_FORMAT ?= clang-format-14
check-format:
	@if command -v $(CLANG_FORMAT) >/dev/null; then \
		$(run) one check-format sh -c 'bad=0; for f in $(source-files); do \
			$(CLANG_FORMAT) $$f | cmp -s - $$f || \
			{ echo "$$f: not laid out: make format" >&2; bad=1; }; \
			done; exit $$bad'; \
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

# The counting of results, and the installing of packages.
check-tools:
	@$(run) python tests/checks/test_run.py tests/checks/test_deps.py

# ---- tests with running programs -------------------------------------------

test-pipeline: all
	@$(test-env) $(run) python tests/integration/test_pipeline.py \
		tests/integration/test_schemas.py tests/integration/test_packages.py \
		tests/integration/test_publishing.py tests/integration/test_publish.py \
		tests/integration/test_import.py tests/integration/test_import_database.py

# Where responses come from: Prometheus and exporters.
test-sources: all
	@$(test-env) $(run) python tests/integration/test_query.py \
		tests/integration/test_query_faults.py tests/integration/test_record.py

test-model-server: all
	@$(test-env) $(run) python tests/integration/test_model_server.py \
		tests/integration/test_server_cases.py tests/integration/test_pull.py \
		tests/integration/test_foreign.py \
		tests/integration/test_server_setup.py \
		tests/integration/test_server_fuzz.py \
		tests/integration/test_server_stress.py

test-estimator: all
	@$(test-env) $(run) python tests/integration/test_estimator.py \
		tests/integration/test_models.py tests/integration/test_library.py \
		tests/integration/test_estimator_faults.py \
		tests/integration/test_estimator_clients.py

test-offline-trainer: all
	@$(test-env) $(run) python tests/integration/test_offline_trainer.py \
		tests/integration/test_main_job.py

test-collector: all $(fakes)
	@$(test-env) $(run) python tests/integration/test_collector.py \
		tests/integration/test_collector_power.py \
		tests/integration/test_collector_meters.py
		tests/integration/test_collector_models.py
		tests/integration/test_collector_models.py tests/integration/test_top.py
		tests/integration/test_collector_asked.py

.PHONY: deps test test-run demo demo-run check build-tests check-unit check-fuzz \
	check-headers check-layers check-docs check-format check-data check-tools format test-pipeline \
	test-sources test-model-server test-estimator test-offline-trainer test-collector
