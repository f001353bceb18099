# SPDX-License-Identifier: Apache-2.0
# Targets that test and check. Each counts its results: see tests/run.py.

# All processes that a test or a bench starts end with it.
guard := $(PYTHON) tests/guard.py
run := $(guard) $(PYTHON) tests/run.py
# Nothing is written outside $(O).
export PYTHONDONTWRITEBYTECODE := 1
source-files = $(sort $(call files,[ch]) $(foreach d,docs/examples tests/unit tests/unit/* tests/fuzz tests/fake tests/bench,$(wildcard $d/*.[ch])))
# What the integration tests and the demo start.
test-env = TW_BIN="$(abspath $(O))" PYTHONPATH="$(abspath tests/integration):$(abspath tests/integration/collector):$(abspath tests/integration/server)"
# Sanitizers find the same with smaller inputs: tests leave out slow trainers, which are
# tested by themselves, and parts of recordings. TW_TEST_QUICK= tests with everything.
TW_TEST_QUICK ?= $(if $(filter asan tsan,$(BUILD)),1)
export TW_TEST_QUICK

# ---- with what they need ---------------------------------------------------
# What is missing is installed first; the libraries are looked for when make reads this
# file, so the rest is a new make.

deps:
	@etc/deps test

test:
	@etc/deps test
	@$(MAKE) --no-print-directory test-run

# The pages, in a browser.
test-web:
	@etc/deps web
	@$(MAKE) --no-print-directory integration/web

# All counts and the reasons of skips come at the end, unless TW_RESULTS collects them.
ifndef TW_RESULTS
test-run:
	@rm -f $(O)/results $(O)/results.skipped
	@status=0; TW_RESULTS="$(abspath $(O))/results" $(MAKE) --no-print-directory test-run || status=1; \
	$(PYTHON) tests/run.py total $(O)/results || status=1; exit $$status
else
# TEST_JOBS=N runs N at a time. The checks among them: `check`, or less.
TEST_JOBS := 1
check := check
test-run: all build-tests
	@status=0; \
	$(MAKE) --no-print-directory -k -j$(TEST_JOBS) --output-sync=$(if \
		$(filter 1,$(TEST_JOBS)),none,target) $(check) \
		$(addprefix integration/,$(integration)) || status=1; \
	$(if $(alone),$(MAKE) --no-print-directory -k $(addprefix integration/,$(alone)) || status=1;) \
	exit $$status
endif

demo:
	@etc/deps build
	@$(MAKE) --no-print-directory demo-run

demo-run: all
	@$(test-env) $(if $(filter 1,$(KEEP)),,$(guard)) $(PYTHON) tests/demo.py $(if $(DURATION),--duration $(DURATION)) \
		$(if $(filter 1,$(KEEP)),--keep)

# Programs that integration tests start, beside those of the product.
test-helpers = $(O)/tests/bench/collector_load $(O)/model-db/learning/machine_facts

# Tests by their name: make t/num runs tests/unit/lib/test_num.c, make t/top starts programs. If a
# unit and an integration test have the name, both run.
integration-test = $(wildcard tests/integration/test_$*.py tests/integration/*/test_$*.py)
unit-test = $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*/test_$*.c))
t/%:
	@$(if $(unit-test)$(integration-test),,\
		echo "t/$*: neither a unit test test_$*.c nor an integration test test_$*.py" >&2; exit 1)
	@$(MAKE) --no-print-directory $(fakes) \
		$(unit-test) \
		$(if $(integration-test),all $(test-helpers))
	$(if $(unit-test),@$(test-env) $(run) unit $(unit-test))
	$(if $(integration-test),@$(test-env) $(run) python $(integration-test))

# ---- checks without running programs ---------------------------------------

# Those that are of the build, and those that are of the sources alone.
check: check-build check-sources
check-build: check-unit check-fuzz
check-sources: check-headers check-layers check-structure check-docs check-format check-data \
	check-tools check-bpf

build-tests: $(tests) $(fuzzers) $(fakes)

# Compiled for its warnings, and not linked.
objects: $(all-objs)

check-unit: $(tests) $(fakes)
	@$(run) unit $(tests)

# A locale with a decimal comma, for one test. Not under a sanitizer: the C library leaks memory
# that it allocates for LOCPATH.
ifneq ($(BUILD),asan)
locale := $(O)/locale/de_DE.UTF-8
check-unit t/num: export LOCPATH := $(abspath $(O))/locale
check-unit t/num: $(locale)
$(locale):
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $@ 2>/dev/null || :
endif

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

# No cycle of modules, no header of one file, no name of two meanings.
check-structure: $(O)/libtw.a
	@$(run) one check-structure $(PYTHON) tests/checks/check_structure.py . --objects $(O) $(CC) -std=c11 -Wall \
		$(subst ','\'',$(filter-out -D%,$(tw-cppflags))) -D_GNU_SOURCE
	@$(run) python tests/checks/test_check_structure.py

# Every registered name, option and route is documented.
check-docs: all $(man-pages)
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
		$(run) skip check-format "no $(CLANG_FORMAT)"; \
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
		$(run) skip check-bpf "a build without BPF")
	@$(run) python tests/checks/test_check_bpf.py

# The counting of results, the installing of packages, and what benches judge by.
check-tools: export WEB_MODULES := $(abspath $(WEB_MODULES))
check-tools:
	@$(run) python tests/checks/test_run.py tests/checks/test_deps.py tests/checks/test_dist.py \
		tests/checks/test_bench.py tests/checks/test_mutate.py tests/checks/test_nightly.py \
		tests/checks/test_guard.py tests/checks/test_recipes.py

# Change a module one line at a time and list the changes that no test notices:
# make mutate M=model-db/publish.c [T="tests"] [N=mutants, 0 for all] [SEED=1]
# make mutate-all [COUNT=mutants] [SEED=1]: the modules of tests/mutants.modules, one total
mutate-run = $(PYTHON) tests/mutate.py --out '$(O)' --programs '$(programs) $(helpers)' \
	$(if $(SEED),--seed $(SEED))
mutate: all build-tests
	@test -n "$(M)" || { echo "mutate: want M=path, as in M=model-db/publish.c" >&2; exit 2; }
	@$(mutate-run) --tests '$(T)' --count $(or $(N),30) '$(M)'
mutate-all: all build-tests
	@$(mutate-run) --all --count $(or $(COUNT),300)

# ---- tests with running programs -------------------------------------------

# The longest first: make starts them in this order.
integration := install prior_learning learn_package pipeline kepler_client web collector_vm hardware publish collector_asked mass_balance api \
	engage query models offline_trainer collector_agents schemas pull import record calibrate \
	collector_own_meter collector_doors meters_teach query_faults online collector \
	collector_kepler packages collector_power shards tutorial import_database server_stress \
	damage prometheus_rules fleet collector_models model_server faults_world server_fuzz completion \
	faults_disk publishing collector_top collector_names server_setup train_jobs slurm \
	collector_edges run top rollout commands roles estimator_faults collector_meters estimator_web \
	estimator_clients main_job old_groups foreign estimator container unmeasured server_cases \
	manifests check_config doors library inlet collector_forged collector_push collector_tariff unit
# Those that need an idle machine.
alone := closed_loop same_watts
unlisted := $(filter-out $(patsubst %,test_%.py,$(integration) closed_loop same_watts),\
	$(notdir $(wildcard tests/integration/test_*.py tests/integration/*/test_*.py)))
ifneq ($(unlisted),)
$(error no target runs $(unlisted))
endif

integration/%: all $(fakes) $(test-helpers)
	@$(test-env) $(run) python $(integration-test)

# Groups, by what they test.
integration-of = $(addprefix integration/,$(filter $(1),$(integration)))
test-pipeline: $(call integration-of,pipeline engage old_groups meters_teach schemas packages mass_balance damage install publish% import% record query% unit)
test-server: $(call integration-of,model_server server% pull foreign)
test-estimator: $(call integration-of,estimator% models library kepler_client)
test-trainer: $(call integration-of,offline_trainer main_job online train_jobs)
test-collector: $(call integration-of,collector% hardware top)
# Programs beside what is broken, forged or full.
test-foreign: $(call integration-of,%_faults %_edges %_fuzz %_cases faults_% hardware container foreign old_groups collector_asked collector_forged collector_push collector_doors train_jobs run)

.PHONY: deps objects test test-run test-web demo demo-run check check-build check-sources build-tests \
	check-unit check-fuzz check-headers check-layers check-structure check-docs check-format \
	check-data check-tools check-bpf format mutate mutate-all test-pipeline test-server test-estimator \
	test-trainer test-collector test-foreign

# The picture of docs/architecture.md, with graphviz.
pictures: docs/architecture.svg docs/machines.svg
docs/machines.svg: docs/machines-curves.csv docs/machines_svg.py
	$(PYTHON) docs/machines_svg.py $< > $@
docs/%.svg: docs/%.dot
	dot -Tsvg $< -o $@
.PHONY: pictures

# The pictures of live power in docs/web: ten minutes.
pictures-web: all
	@$(test-env) $(guard) $(PYTHON) docs/web/pictures.py $(SECONDS)
.PHONY: pictures-web
