#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the Grafana dashboards of this folder: dashboards.py [DIR]

The JSON files are checked in; a test fails where they differ from what this program writes.
Their queries use the recording rules of etc/prometheus/tallywatt-rules.yml.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ON_NODE = 'job="$job",instance=~"$instance"'
# Keeps the zones that add up to the power of their node and of its workloads.
IN_SUM = "and on (job, instance, zone) tallywatt_node_sum_info"
ROW_WIDTH = 24  # Grafana's grid
TALL = 8


def variable(name, query, multi=False, label=None):
    return {"name": name, "label": label or name, "type": "query", "query": query,
            "datasource": {"type": "prometheus", "uid": "$datasource"}, "refresh": 2,
            "multi": multi, "includeAll": multi, "sort": 1,
            **({"current": {"text": "All", "value": "$__all"}} if multi else {})}


DATASOURCE = {"name": "datasource", "label": "Prometheus", "type": "datasource",
              "query": "prometheus"}
JOB = variable("job", "label_values(tallywatt_collector_info, job)")
INSTANCE = variable("instance", 'label_values(tallywatt_collector_info{job="$job"}, instance)',
                    multi=True, label="node")


def panel(kind, title, queries, unit="watt", width=12, height=TALL, help_text="", **more):
    """queries: (PromQL, legend), ...; the legend of a table is ignored."""
    instant = kind in ("table", "stat", "bargauge")
    options = {"timeseries": {"legend": {"displayMode": "table", "placement": "bottom",
                                         "calcs": ["mean", "max"]},
                              "tooltip": {"mode": "multi", "sort": "desc"}},
               "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none"},
               "bargauge": {"reduceOptions": {"calcs": ["lastNotNull"]},
                            "orientation": "horizontal", "displayMode": "basic"},
               "table": {"showHeader": True}}[kind]
    custom = {"fillOpacity": 20, "showPoints": "never",
              "stacking": {"mode": "normal" if more.get("stack") else "none"}}
    return {"type": kind, "title": title, "description": help_text,
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "targets": [{"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend,
                         "instant": instant, "range": not instant,
                         **({"format": "table"} if kind == "table" else {})}
                        for i, (expr, legend) in enumerate(queries)],
            "fieldConfig": {"defaults": {"unit": unit, "min": 0,
                                         **({"custom": custom} if kind == "timeseries" else {})},
                            "overrides": []},
            "options": options, "gridPos": {"w": width, "h": height}}


def place(panels):
    """Rows from left to right, without gaps."""
    x = y = tall = 0
    for i, p in enumerate(panels):
        at = p["gridPos"]
        if x + at["w"] > ROW_WIDTH:
            x, y, tall = 0, y + tall, 0
        at["x"], at["y"], p["id"] = x, y, i + 1
        x, tall = x + at["w"], max(tall, at["h"])
    return panels


def dashboard(name, title, variables, panels):
    return {"uid": f"tallywatt-{name}", "title": f"Tallywatt: {title}", "tags": ["tallywatt"],
            "schemaVersion": 36, "version": 1, "editable": True, "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"}, "timezone": "browser",
            "templating": {"list": [DATASOURCE, *variables]}, "annotations": {"list": []},
            "links": [{"type": "dashboards", "tags": ["tallywatt"], "asDropdown": True,
                       "title": "Tallywatt"}],
            "panels": place(panels)}


NODE = dashboard("node", "node", [JOB, INSTANCE], [
    panel("stat", "Power", [(f"instance:tallywatt_node_power_watts:rate2m{{{ON_NODE}}}",
                             "{{instance}} ({{covers}})")], width=8, height=5,
          help_text="Platform where it is known, else psys, else package, dram and GPUs."),
    panel("stat", "Energy of the last 24 hours",
          [(f"avg_over_time(instance:tallywatt_node_power_watts:rate2m{{{ON_NODE}}}[1d]) * 0.024",
            "{{instance}}")], unit="kwatth", width=8, height=5),
    panel("table", "Sources",
          [(f"tallywatt_meter_info{{{ON_NODE}}}", "")], unit="none", width=8, height=5,
          help_text='source="model": estimated, not measured.'),
    panel("timeseries", "Power by zone",
          [(f"instance_zone_source:tallywatt_node_power_watts:rate2m{{{ON_NODE}}}",
            "{{instance}} {{zone}} ({{source}})")],
          help_text="Zones overlap: package contains core and uncore."),
    panel("timeseries", "Idle power by zone",
          [(f"instance_zone:tallywatt_node_idle_power_watts:rate2m{{{ON_NODE}}}",
            "{{instance}} {{zone}}")]),
    panel("timeseries", "CPU use",
          [(f"instance:tallywatt_node_cpu_busy:ratio_rate2m{{{ON_NODE}}}", "{{instance}}")],
          unit="percentunit"),
    panel("timeseries", "Power that belongs to no workload",
          [(f"deriv(tallywatt_node_unattributed_joules{{{ON_NODE}}}[5m])",
            "{{instance}} {{zone}}")]),
    panel("table", "Meters", [(f"tallywatt_meter_up{{{ON_NODE}}}", "")], unit="none"),
    panel("timeseries", "Cost of tw-collector",
          [(f"rate(tallywatt_collector_cpu_seconds_total{{{ON_NODE}}}[5m])", "{{instance}} CPUs"),
           (f"rate(tallywatt_collector_ticks_missed_total{{{ON_NODE}}}[5m])",
            "{{instance}} missed ticks a second")], unit="none"),
])

TOP = 15
WORKLOADS = dashboard("workloads", "workloads", [
    JOB, INSTANCE,
    variable("namespace", "label_values(tallywatt_pod_energy_joules_total, namespace)", multi=True),
], [
    panel("timeseries", "Namespaces",
          [(f"topk({TOP}, sum by (namespace) (instance_namespace_pod:tallywatt_pod_power_watts:"
            f"rate2m{{{ON_NODE}}}))", "{{namespace}}")], stack=True),
    panel("bargauge", f"Pods: the {TOP} with most power",
          [(f"topk({TOP}, instance_namespace_pod:tallywatt_pod_power_watts:rate2m"
            f'{{{ON_NODE},namespace=~"$namespace"}})', "{{namespace}}/{{pod_name}} {{pod_id}}")]),
    panel("timeseries", "Containers",
          [(f"topk({TOP}, instance_namespace_container:tallywatt_container_power_watts:rate2m"
            f"{{{ON_NODE}}})", "{{pod_name}} {{container_name}} {{container_id}}")]),
    panel("timeseries", "Virtual machines",
          [(f"topk({TOP}, instance_vm:tallywatt_vm_power_watts:rate2m{{{ON_NODE}}})",
            "{{vm_name}} {{vm_id}}")]),
    panel("bargauge", f"Processes: the {TOP} with most power",
          [(f"topk({TOP}, sum by (instance, command, pid) (rate(tallywatt_process_energy_joules_"
            f"total{{{ON_NODE}}}[5m]) {IN_SUM}))",
            "{{command}} {{pid}} on {{instance}}")]),
    panel("timeseries", "Dynamic and idle power of pods",
          [(f"sum by (mode) (rate(tallywatt_pod_energy_joules_total{{{ON_NODE},"
            f'namespace=~"$namespace"}}[5m]) {IN_SUM})', "{{mode}}")], stack=True),
])

MODELS = dashboard("models", "models", [JOB, INSTANCE], [
    panel("table", "Models in use", [(f"tallywatt_model_info{{{ON_NODE}}}", "")], unit="none",
          width=24, help_text='match="prior" or from="prior of ..": no machine like it was measured.'),
    panel("timeseries", "Expected error", [(f"tallywatt_model_mae_watts{{{ON_NODE}}}",
                                            "{{instance}} {{zone}}")]),
    panel("timeseries", "Expected error, of the power",
          [(f"tallywatt_model_mape_ratio{{{ON_NODE}}}", "{{instance}} {{energy_source}}")],
          unit="percentunit"),
    panel("timeseries", "Time outside the training range",
          [(f"rate(tallywatt_model_extrapolated_seconds_total{{{ON_NODE}}}[5m])",
            "{{instance}} {{energy_source}}")], unit="percentunit",
          help_text="The expected error does not hold there."),
    panel("timeseries", "Age of the last confirmation",
          [(f"time() - (tallywatt_model_confirmed_timestamp_seconds{{{ON_NODE}}} > 0)",
            "{{instance}} {{energy_source}}")], unit="s"),
    panel("timeseries", "Failures",
          [(f"rate(tallywatt_model_failures_total{{{ON_NODE}}}[5m])",
            "{{instance}} {{energy_source}}"),
           ("sum by (instance, reason) (rate(tallywatt_estimator_refused_total[5m]))",
            "estimator {{instance}} {{reason}}")], unit="ops"),
    panel("stat", "Models of servers", [("sum by (instance) (tw_models)", "{{instance}}")],
          unit="none", width=6),
    panel("stat", "Rejected files", [("sum by (instance) (tw_models_refused)", "{{instance}}")],
          unit="none", width=6),
    panel("timeseries", "Requests of servers",
          [("sum by (instance, route, status) (rate(tw_http_requests_total[5m]))",
            "{{instance}} {{route}} {{status}}")], unit="reqps"),
    panel("timeseries", "Trainings", [("sum by (instance, state) (tw_trainer_jobs)",
                                       "{{instance}} {{state}}")], unit="none"),
    panel("timeseries", "Online training: live and expected error",
          [("tw_trainer_online_live_error_watts", "{{machine}} live"),
           ("tw_trainer_online_expected_error_watts", "{{machine}} expected")],
          help_text="A model drifts if its live error is twice the expected one."),
    panel("timeseries", "Joules of a unit of work",
          [("tallywatt_unit_joules", "{{unit}} {{counter}}"),
           ("tallywatt_unit_low_joules", "{{unit}} {{counter}} low"),
           ("tallywatt_unit_high_joules", "{{unit}} {{counter}} high")], unit="joule",
          help_text="Of tw-trainer --unit, with the interval of 90 %."),
    panel("timeseries", "Standing power of units of work",
          [("tallywatt_unit_standing_watts", "{{unit}}"),
           ("tallywatt_unit_standing_low_watts", "{{unit}} low"),
           ("tallywatt_unit_standing_high_watts", "{{unit}} high")],
          help_text="Power of the service with no work."),
    panel("table", "Units of work: evaluated or why not", [("tallywatt_unit_up", "")], unit="none"),
    panel("stat", "Units of work whose joules have changed",
          [("tallywatt_unit_drift == 1", "{{unit}}")], unit="none",
          help_text="The newest quarter of the window has other joules or standing power."),
])

FLEET = dashboard("fleet", "fleet", [], [
    panel("stat", "Power of all nodes", [("sum(covers:tallywatt_node_power_watts:sum)", "all")],
          width=6, height=5),
    panel("stat", "Nodes by source", [("source:tallywatt_nodes:count", "{{source}}")],
          unit="none", width=6, height=5, help_text='source="model": estimated.'),
    panel("stat", "Mean CPU use", [("tallywatt_node_cpu_busy:ratio_avg", "all")],
          unit="percentunit", width=6, height=5),
    panel("stat", "Collectors without an answer",
          [("tallywatt_nodes_down:count", "nodes")], unit="none", width=6, height=5),
    panel("timeseries", "Power by coverage", [("covers:tallywatt_node_power_watts:sum",
                                               "{{covers}}")], stack=True),
    panel("bargauge", f"Nodes: the {TOP} with most power",
          [(f"topk({TOP}, instance:tallywatt_node_power_watts:top15)",
            "{{instance}} ({{covers}})")]),
    panel("timeseries", "Namespaces", [(f"topk({TOP}, namespace:tallywatt_pod_power_watts:rate2m)",
                                        "{{namespace}}")], stack=True),
    panel("timeseries", "Emissions",
          [("sum(instance:tallywatt_node_co2e_grams_per_second:rate2m) * 3600", "g CO2e an hour")],
          unit="massg", help_text="Needs tallywatt-carbon-rules.yml and a carbon intensity."),
])

DASHBOARDS = {"node": NODE, "workloads": WORKLOADS, "models": MODELS, "fleet": FLEET}


def text_of(board):
    return json.dumps(board, indent=1, sort_keys=True) + "\n"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    for name, board in DASHBOARDS.items():
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as f:
            f.write(text_of(board))


if __name__ == "__main__":
    main()
