# SPDX-License-Identifier: Apache-2.0
benches += bench-estimator
bench-src += tests/bench/estimator_load.c
bench-estimator-helpers := $(O)/tests/bench/estimator_load
ifeq ($(XGBOOST),1)
bench-src += tests/bench/trees_against_xgboost.c
bench-estimator-helpers += $(O)/tests/bench/trees_against_xgboost
endif
bench-estimator: all $(bench-estimator-helpers)
	@$(bench) tests/bench/bench_estimator.py

benches += bench-estimator-clients
bench-estimator-clients: all $(O)/tests/bench/estimator_load
	@$(bench) tests/bench/bench_estimator_clients.py
