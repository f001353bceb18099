# SPDX-License-Identifier: Apache-2.0
# Not a part of the product: what learns the prior starts it (tests/bench/targets/machines.mk builds it).
left-out += model-db/learning/machine_facts.c
