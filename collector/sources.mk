# SPDX-License-Identifier: Apache-2.0
collector-src += collector/ask.c
collector-src += collector/ask_filter.c
collector-src += collector/ask_ipmi.c
collector-src += collector/ask_job.c
collector-src += collector/ask_pods.c
collector-src += collector/ask_redfish.c
collector-src += collector/ask_serve.c
collector-src += collector/attribute.c
collector-src += collector/cgroup.c
collector-src += collector/cgroup_use.c
collector-src += collector/collector.c
collector-src += collector/estimate_slot.c
collector-src += collector/estimates.c
collector-src += collector/estimates_tick.c
collector-src += collector/credentials.c
collector-src += collector/dcmi.c
collector-src += collector/expose.c
collector-src += collector/expose_models.c
collector-src += collector/expose_kepler.c
collector-src += collector/expose_kepler_legacy.c
collector-src += collector/expose_kepler_node.c
collector-src += collector/expose_kepler_usage.c
collector-src += collector/expose_node.c
collector-src += collector/expose_series.c
collector-src += collector/expose_workloads.c
collector-src += collector/features.c
collector-src += collector/identity.c
collector-src += collector/identity_command.c
collector-src += collector/idle.c
collector-src += collector/loop.c
collector-src += collector/meter.c
collector-src += collector/meter_asked.c
collector-src += collector/meter_fake.c
collector-src += collector/meter_file.c
collector-src += collector/meter_hwmon.c
collector-src += collector/meter_ipmi.c
collector-src += collector/meter_model.c
collector-src += collector/meter_nvml.c
collector-src += collector/meter_rapl_msr.c
collector-src += collector/meter_rapl_sysfs.c
collector-src += collector/model_file.c
collector-src += collector/model_keeper.c
collector-src += collector/model_keeper_child.c
collector-src += collector/meter_redfish.c
collector-src += collector/microarch.c
collector-src += collector/node.c
collector-src += collector/node_parse.c
collector-src += collector/nvml.c
collector-src += collector/nvml_users.c
collector-src += collector/parts.c
collector-src += collector/pods.c
collector-src += collector/pods_parse.c
collector-src += collector/power.c
collector-src += collector/powercap.c
collector-src += collector/privilege.c
collector-src += collector/privilege_filter.c
collector-src += collector/probe.c
collector-src += collector/probe_meters.c
collector-src += collector/proc_stat.c
collector-src += collector/processors.c
collector-src += collector/rapl.c
collector-src += collector/redfish.c
collector-src += collector/redfish_client.c
collector-src += collector/redfish_find.c
collector-src += collector/redfish_power.c
collector-src += collector/redfish_supplies.c
collector-src += collector/rights.c
collector-src += collector/route_health.c
collector-src += collector/route_metrics.c
collector-src += collector/route_power.c
collector-src += collector/routes.c
collector-src += collector/seccomp.c
collector-src += collector/settings.c
collector-src += collector/settings_check.c
collector-src += collector/share.c
collector-src += collector/tasks.c
collector-src += collector/tasks_proc.c
collector-src += collector/topology.c
collector-src += collector/track.c
collector-src += collector/usage.c
collector-src += collector/uses.c
collector-src += collector/virtual.c
collector-src += collector/workload.c
collector-src += collector/workload_gpu.c
collector-src += collector/workload_group.c
collector-src += collector/workload_names.c
collector-src += collector/workload_slices.c
collector-src += collector/workload_table.c
collector-src += collector/workload_tick.c
collector-src += collector/workload_unseen.c
collector-src += collector/zone.c

ifeq ($(BPF),1)
collector-src += collector/counters.c
$(O)/collector/counters.o: $(O)/gen/bpf/counters.skel.h
collector-src += collector/counts.c
collector-src += collector/traces.c
$(O)/collector/traces.o: $(O)/gen/bpf/traces.skel.h
collector-src += collector/bpf_events.c
collector-src += collector/bpf_fail.c
collector-src += collector/tasks_iter.c
collector-src += collector/tasks_walk.c
# They include generated headers, which must exist before they are compiled.
$(O)/collector/bpf_events.o: $(O)/gen/bpf/exits.skel.h
$(O)/collector/tasks_iter.o: $(O)/gen/bpf/iter.skel.h
$(O)/collector/tasks_walk.o: $(O)/gen/bpf/walk.skel.h
else
collector-src += collector/counters_none.c
endif

ifeq ($(FREEIPMI),1)
collector-src += collector/ipmi.c
else
collector-src += collector/ipmi_none.c
endif

programs += tw-collector
tw-collector-src := collector/main.c
tw-collector-libs := $(JANSSON_LIBS) $(MHD_LIBS) $(BPF_LIBS)

helpers += tw-ask
tw-ask-src := collector/ask_main.c
tw-ask-libs := $(JANSSON_LIBS) $(CURL_LIBS) $(FREEIPMI_LIBS)
