/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SPEC_SERIES_H
#define TW_TRAINER_SPEC_SERIES_H

/*
 * The spec of the machine that exported a response, by the labels of its info series:
 * tallywatt_node_info has all attributes, Kepler's kepler_node_cpu_info has the vendor,
 * the model and the numbers of each CPU.
 */

struct tw_err;
struct tw_machine_spec;
struct tw_prom;

/*
 * The response must be of one machine. *out is the unknown machine if there is no info.
 * If the machine changed, the latest series counts. TW_INVALID for a label that is no
 * attribute of a machine.
 */
int tw_spec_of_response(const struct tw_prom *p, struct tw_machine_spec *out,
			struct tw_err *err);

#endif /* TW_TRAINER_SPEC_SERIES_H */
