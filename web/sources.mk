# SPDX-License-Identifier: Apache-2.0
# The pages are bundled by esbuild and compressed, once, into arrays. npm gets the libraries,
# as web/package-lock.json names them, into $(O)/web/node_modules; WEB_MODULES=DIR takes a
# folder that is there already. Without Node, or where npm cannot get them, the programs are
# built without pages. The tarball of a release has them bundled, in web/bundle: a build of it
# needs neither Node nor npm.
NODE ?= node
NPM ?= npm
WEB_MODULES ?= $(O)/web/node_modules
# Libraries of which parts are in the pages.
web-linked := htm preact uplot
web-bundle := $(wildcard web/bundle/sizes.txt)
ifndef WEB
ifneq ($(web-bundle),)
WEB := 1
else ifneq ($(filter-out clean deps dist format uninstall,$(or $(MAKECMDGOALS),all)),)
WEB := $(shell web/modules '$(NODE)' '$(NPM)' '$(WEB_MODULES)' && echo 1 || echo 0)
endif
endif

# Only these objects know: a build with pages shares all others with one without.
web-pages := live models jobs
web-objs := $(web-pages:%=$(O)/web/page_%.o)
$(web-objs): tw-cppflags += -DTW_WEB=$(WEB)
$(web-objs): $(O)/web/flag
$(O)/web/flag: FORCE
	@mkdir -p $(@D)
	@echo '$(WEB)' | cmp -s - $@ || echo '$(WEB)' >$@

ifeq ($(WEB),1)
ifneq ($(web-bundle),)
$(O)/gen/web/sizes.txt: $(web-bundle)
	@mkdir -p $(@D)
	$(Q)cp web/bundle/*.inc web/bundle/sizes.txt $(@D)
else
$(O)/gen/web/sizes.txt: web/build.mjs web/package-lock.json $(wildcard web/src/*)
	$(call say,WEB,$@)
	$(Q)web/modules '$(NODE)' '$(NPM)' '$(WEB_MODULES)'
	$(Q)$(NODE) web/build.mjs $(O)/gen/web $(WEB_MODULES)
endif
$(web-pages:%=$(O)/gen/web/%.inc): $(O)/gen/web/sizes.txt ;
$(foreach p,$(web-pages),$(eval $(O)/web/page_$p.o: $(O)/gen/web/$p.inc))
endif
