/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINE_INFO_H
#define TW_TRAINER_MACHINE_INFO_H

struct tw_err;
struct tw_machine_spec;
struct tw_prom;

/*
 * The spec of the machine that exported a response, by the labels of its info series:
 * tallywatt_node_info has all attributes, Kepler's kepler_node_cpu_info has the vendor,
 * the model and the numbers of each CPU. The unknown machine without such series. If the
 * machine changed, the latest series counts. TW_INVALID for a label that is no attribute
 * of a machine.
 */
int tw_machine_info_read(const struct tw_prom *p, struct tw_machine_spec *out,
			 struct tw_err *err);

#endif /* TW_TRAINER_MACHINE_INFO_H */
