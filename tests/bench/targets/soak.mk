# SPDX-License-Identifier: Apache-2.0
# Mixed load on all daemons; not part of make bench: make soak [MINUTES=30] [BUILD=asan]
soak: all
	@$(bench) tests/bench/soak.py $(if $(MINUTES),--minutes $(MINUTES))
.PHONY: soak
