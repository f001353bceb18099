# SPDX-License-Identifier: Apache-2.0
isolator-src += isolator/aggregate.c
isolator-src += isolator/idle_power.c
isolator-src += isolator/isolate_idle_regression.c
isolator-src += isolator/isolate_min_idle.c
isolator-src += isolator/isolate_none.c
isolator-src += isolator/registry.c
