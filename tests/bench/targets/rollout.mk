# SPDX-License-Identifier: Apache-2.0
benches += bench-rollout
bench-rollout: all
	@$(if $(TW_BENCH_QUICK),,TW_ROLLOUT_SECONDS=5 TW_ROLLOUT_CLIENTS=4) $(bench) tests/integration/server/test_rollout.py \
		Rollout.test_a_version_is_rolled_out_and_back_under_load
