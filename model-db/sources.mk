# SPDX-License-Identifier: Apache-2.0
left-out += model-db/signature_$(if $(filter 1,$(SODIUM)),none,sodium).c
