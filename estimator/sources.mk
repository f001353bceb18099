# SPDX-License-Identifier: Apache-2.0
# The library's own object is no part of the programs.
left-out += estimator/libtallywatt.c

programs += tw-estimator
tw-estimator-src := estimator/main.c
tw-estimator-libs := $(JANSSON_LIBS) $(MHD_LIBS) $(YAML_LIBS)
