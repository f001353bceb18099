# SPDX-License-Identifier: Apache-2.0
# tw-collector on other kernels, in virtual machines by software emulation: not a part of
# make test, for it takes half an hour and kernels that tests/kernels/fetch gets.
#
#	tests/kernels/fetch /var/tmp/kernels
#	make test-kernels KERNELS=/var/tmp/kernels
#	make test-kernels KERNELS=... CHECKS=check_power.Acpi

test-kernels: all $(O)/tests/bench/collector_load $(O)/tests/bench/empty_switch
	@$(test-env) KERNELS="$(KERNELS)" $(if $(CHECKS),CHECKS="$(CHECKS)") $(run) python \
		tests/kernels/test_kernels.py

.PHONY: test-kernels
