# SPDX-License-Identifier: Apache-2.0
ifneq ($(FLEET),1)
left-out += $(wildcard cli/shards/*.c)
endif

$(O)/gen/cli/completion.inc: cli/completion.bash
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sed '/SPDX-License/d' $< | $(to-bytes) >$@

$(O)/cli/cmd_completion.o: $(O)/gen/cli/completion.inc

programs += tallywatt
tallywatt-src := cli/main.c
tallywatt-libs := $(JANSSON_LIBS) $(ZIP_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(CURL_LIBS) $(GSL_LIBS) \
	$(XGBOOST_LIBS) $(LIBSVM_LIBS) $(SODIUM_LIBS) $(BPF_LIBS) $(SECCOMP_LIBS)
