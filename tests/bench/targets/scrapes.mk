# SPDX-License-Identifier: Apache-2.0
# Large scrapes; not part of make bench, because it fills the machine with processes:
# make bench-scrapes [PROCESSES=20000] [LOAD=8] [SLOW=3000] [SECONDS=45]
bench-scrapes: all $(O)/tests/bench/collector_load
	@$(bench) tests/bench/bench_scrapes.py $(if $(PROCESSES),--processes $(PROCESSES)) \
		$(if $(LOAD),--load $(LOAD)) $(if $(SLOW),--slow $(SLOW)) \
		$(if $(SECONDS),--seconds $(SECONDS))
.PHONY: bench-scrapes
