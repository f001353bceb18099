# SPDX-License-Identifier: Apache-2.0
# tw-collector on other kernels, in virtual machines by software emulation: not a part of
# make test, for it takes half an hour and kernels that tests/kernels/fetch gets.
#
#	tests/kernels/fetch /var/tmp/kernels
#	make test-kernels KERNELS=/var/tmp/kernels
#	make test-kernels KERNELS=... CHECKS=check_power.Acpi

ifeq ($(BPF),1)
test-kernels: all $(O)/tests/bench/collector_load $(O)/tests/bench/attach_programs
	@$(test-env) KERNELS="$(KERNELS)" $(if $(CHECKS),CHECKS="$(CHECKS)") $(run) python \
		tests/kernels/test_kernels.py
else
test-kernels:
	@echo "test-kernels: this build has no BPF, which is what they would try" >&2; exit 1
endif

.PHONY: test-kernels

# The images, and the loop between them. Root, buildah, podman, runc; no part of make test.
test-images: images
	@$(test-env) IMAGE_TAG="$(IMAGE_TAG)" $(run) python tests/images/test_images.py
.PHONY: test-images
