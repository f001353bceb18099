# SPDX-License-Identifier: Apache-2.0
programs += tw-server
tw-server-src := server/main.c
tw-server-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(SODIUM_LIBS)

# The description of the routes is a part of the program: its bytes as numbers.
$(O)/gen/openapi.inc: server/openapi.json
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)od -An -v -tu1 $< | sed 's/  */,/g; s/^,//; s/$$/,/' >$@
$(O)/server/route_openapi.o: $(O)/gen/openapi.inc
