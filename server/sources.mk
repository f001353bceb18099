# SPDX-License-Identifier: Apache-2.0
ifneq ($(FLEET),1)
left-out += $(wildcard server/fleet/*.c)
endif

programs += tw-server
tw-server-src := server/main.c
tw-server-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(SODIUM_LIBS)

$(O)/server/routes.o: $(O)/gen/server/openapi.inc
