# SPDX-License-Identifier: Apache-2.0
ifeq ($(BPF),1)
left-out += collector/workloads/counters_none.c
# They include generated headers, which must exist before they are compiled.
$(O)/collector/workloads/bpf_events.o: $(O)/gen/bpf/exits.skel.h
$(O)/collector/workloads/counters.o: $(O)/gen/bpf/counters.skel.h
$(O)/collector/workloads/tasks_iter.o: $(O)/gen/bpf/iter.skel.h
$(O)/collector/workloads/tasks_walk.o: $(O)/gen/bpf/walk.skel.h
$(O)/collector/workloads/traces.o: $(O)/gen/bpf/traces.skel.h
else
left-out += $(addprefix collector/workloads/,bpf_events.c counters.c counts.c \
	tasks_iter.c tasks_walk.c traces.c)
endif
ifneq ($(FLEET),1)
left-out += $(wildcard collector/agents/*.c) $(addprefix collector/,ask/agent_lookup.c \
	ask/agent_parse.c ask/ask_agents.c expose/expose_agents.c expose/route_agents.c)
$(O)/gen/collector/expose/openapi.inc: paths-left-out := /api/v1/agents /fleet
endif
$(O)/collector/expose/routes.o: $(O)/gen/collector/expose/openapi.inc

programs += tw-collector
tw-collector-src := collector/main.c
tw-collector-libs := $(JANSSON_LIBS) $(MHD_LIBS) $(YAML_LIBS) $(BPF_LIBS) $(SECCOMP_LIBS)

helpers += tw-ask
tw-ask-src := collector/ask/main.c
tw-ask-libs := $(JANSSON_LIBS) $(ZLIB_LIBS) $(CURL_LIBS) $(FREEIPMI_LIBS) $(SECCOMP_LIBS)
