# SPDX-License-Identifier: Apache-2.0
"""The series of both generations of Kepler: names, types and labels, as of their releases."""

NODE = "zone path node_name"
GPU = "gpu gpu_uuid gpu_name vendor node_name"
PROCESS = "pid comm exe type container_id vm_id node_name"
CONTAINER = "container_id container_name runtime state pod_id node_name"
VM = "vm_id vm_name hypervisor state node_name"
POD = "pod_id pod_name pod_namespace state node_name"

# 0.10 and later.
KEPLER = {
    "kepler_build_info": ("gauge", "arch branch revision version goversion"),
    "kepler_node_cpu_usage_ratio": ("gauge", "node_name"),
    "kepler_node_cpu_info": (
        "gauge", "processor vendor_id model_name physical_id core_id node_name"),
    "kepler_platform_watts": ("gauge", "source bmc_id chassis_id node_name"),
    "kepler_process_cpu_joules_total": ("counter", PROCESS + " state zone"),
    "kepler_process_cpu_watts": ("gauge", PROCESS + " state zone"),
    "kepler_process_cpu_seconds_total": ("counter", PROCESS),
    "kepler_container_cpu_joules_total": ("counter", CONTAINER + " zone"),
    "kepler_container_cpu_watts": ("gauge", CONTAINER + " zone"),
    "kepler_container_cpu_seconds_total": ("counter", CONTAINER),
    "kepler_vm_cpu_joules_total": ("counter", VM + " zone"),
    "kepler_vm_cpu_watts": ("gauge", VM + " zone"),
    "kepler_pod_cpu_joules_total": ("counter", POD + " zone"),
    "kepler_pod_cpu_watts": ("gauge", POD + " zone"),
}
for part in ("", "active_", "idle_"):
    for what, its in (("cpu", NODE), ("gpu", GPU)):
        KEPLER[f"kepler_node_{what}_{part}joules_total"] = ("counter", its)
        KEPLER[f"kepler_node_{what}_{part}watts"] = ("gauge", its)

# 0.5 to 0.9.
LEVELS = {
    "container": "container_id pod_name container_name container_namespace source",
    "process": "pid container_id vm_id command source",
    "vm": "vm_id source",
}
LEGACY = {
    "kepler_node_info": ("gauge", "cpu_architecture components_power_source "
                                  "platform_power_source source"),
    "kepler_container_joules_total": ("counter", LEVELS["container"] + " mode"),
    "kepler_process_joules_total": ("counter", LEVELS["process"] + " mode"),
}
# What takes BPF, or counters that the processor has.
COUNTED = {}
# What 0.7.12 had no more.
OLD = {}
for zone in ("package", "core", "uncore", "dram", "platform", "gpu", "other"):
    LEGACY[f"kepler_node_{zone}_joules_total"] = ("counter", "package instance mode source")
for level, its in LEVELS.items():
    for zone in ("package", "core", "uncore", "dram", "platform", "gpu", "other"):
        LEGACY[f"kepler_{level}_{zone}_joules_total"] = ("counter", its + " mode")
    LEGACY[f"kepler_{level}_bpf_cpu_time_ms_total"] = ("counter", its)
    for count in ("cpu_cycles", "cpu_instructions", "cache_miss", "bpf_page_cache_hit",
                  "bpf_net_tx_irq", "bpf_net_rx_irq", "bpf_block_irq"):
        COUNTED[f"kepler_{level}_{count}_total"] = ("counter", its)
    OLD[f"kepler_{level}_bpf_cpu_time_us_total"] = ("counter", its)
for use in ("cgroupfs_cpu_usage_us", "cgroupfs_user_cpu_usage_us",
            "cgroupfs_system_cpu_usage_us", "cgroupfs_memory_usage_bytes",
            "kubelet_cpu_usage", "kubelet_memory_bytes"):
    OLD[f"kepler_container_{use}_total"] = ("counter", LEVELS["container"])

# What promtool complains of: names of Kepler's own, which whoever asks for them must find.
UNITS = "metric names should not contain abbreviated units"
COMPLAINTS = {(f"kepler_{level}_bpf_cpu_time_ms_total", UNITS) for level in LEVELS}
COMPLAINTS_OLD = {(f"kepler_{level}_bpf_cpu_time_us_total", UNITS) for level in LEVELS} | {
    (f"kepler_container_cgroupfs_{use}_us_total", UNITS)
    for use in ("cpu_usage", "user_cpu_usage", "system_cpu_usage")}

# The only name that both have; the older one's labels are told where both are asked for.
BOTH = "kepler_node_gpu_joules_total"


def find(samples, types):
    """name: (type, labels) of what is exposed; labels that differ by series are an error."""
    found = {}
    for name, has, _ in samples:
        if not name.startswith("kepler_"):
            continue
        it = (types.get(name), " ".join(sorted(has)))
        if found.setdefault(name, it) != it:
            raise AssertionError(f"{name}: {found[name]} and {it}")
    return found


def as_found(series):
    return {name: (kind, " ".join(sorted(its.split())))
            for name, (kind, its) in series.items()}
