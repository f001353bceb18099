# SPDX-License-Identifier: Apache-2.0
test-src := $(sort $(wildcard tests/unit/*/test_*.c))
# What a build without BPF has not got.
ifneq ($(BPF),1)
test-src := $(filter-out tests/unit/collector/test_counts.c tests/unit/collector/test_counters_moved.c,\
	$(test-src))
endif
# What a build without the fleet wing has not got.
ifneq ($(FLEET),1)
test-src := $(filter-out tests/unit/collector/test_agent% tests/unit/server/test_pull.c \
	tests/unit/server/test_rollout.c tests/unit/trainer/test_merge.c \
	tests/unit/trainer/test_part.c,$(test-src))
endif
# The map of a program.
test-wrap-test_collector := clock_gettime
test-wrap-test_run_meter := clock_gettime
test-wrap-test_counts := bpf_map_delete_elem
test-wrap-test_counters_moved := bpf_map_lookup_elem bpf_map_get_next_key
fuzz-src := $(sort $(wildcard tests/fuzz/fuzz_*.c))
ifneq ($(FLEET),1)
fuzz-src := $(filter-out tests/fuzz/fuzz_agent.c tests/fuzz/fuzz_plan.c \
	tests/fuzz/fuzz_rollout.c,$(fuzz-src))
endif
# Linked into every unit test.
test-support := $(sort $(wildcard tests/unit/*.c) $(filter-out $(test-src),$(wildcard tests/unit/*/[!t]*.c)))
# The steps at which tests/unit/model-db/test_publish_killed.c kills a publisher.
test-wrap-test_publish_killed := open openat mkdir write fsync rename renameat2 unlink \
	unlinkat rmdir flock
# A name server.
test-wrap-test_agent_lookup := getaddrinfo freeaddrinfo
# Counts that BPF programs would make.
test-wrap-test_attribute := tw_workloads_slices
# A file system that exchanges nothing.
test-wrap-test_publish := renameat2
test-wrap-test_publish_faults := flock fsync readdir rename renameat2
# The trainings of tests/unit/trainer/node_fixture.c.
test-wrap-test_online_node := tw_runs_read tw_runs_release tw_attempt_start tw_attempt_done \
	tw_attempt_waits tw_attempt_best tw_attempt_had_alone tw_attempt_free tw_contest_drop_losers
test-wrap-test_online_publish := $(test-wrap-test_online_node)
# A receiver of pushed samples.
test-wrap-test_push_job := tw_http_call tw_ask_open
# Registers that are not in files.
test-wrap-test_meter_msr := pread
test-wrap-test_meter_msr_faults := pread
test-wrap-test_meter_hwmon := pread
test-wrap-test_file := fsync rename
test-wrap-test_fit_xgboost := XGBoosterUpdateOneIter XGBGetLastError
test-wrap-test_fileset := fsync
# Their clock.
test-wrap-test_httpd_guard := tw_now_ms
test-wrap-test_httpd_deadline := tw_now_ms
test-wrap-test_httpd_clients := tw_guard_waiting
test-wrap-test_web_changed := tw_now_ms tw_web_config_read
# The controller of tests/unit/meters/test_ipmi.c.
ifeq ($(FREEIPMI),1)
test-wrap-test_ipmi := ipmi_ctx_open_inband ipmi_cmd_raw
endif
