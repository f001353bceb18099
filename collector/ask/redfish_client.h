/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_CLIENT_H
#define TW_COLLECTOR_REDFISH_CLIENT_H

/*
 * A management controller: log in, find the chassis that report power, read them. Use
 * from one thread; calls block.
 */

#include "collector/ask/redfish_session.h"

struct tw_err;

/*
 * Log in and find the sources: the chassis of the config; or of the chassis of the
 * machine that report power now, the outermost ones, which include the others. If all
 * report 0 W, these are the sources.
 *
 * The machine is the only computer system of the controller, without NVIDIA's tray of
 * accelerators, DPUs and VMs; its chassis are those that it links, or that link it.
 * Where these report nothing, or no system has chassis, those without a system count.
 * Parts of machines and groups of machines do not count: racks, and an Enclosure around a
 * chassis of one machine. Of the rest, those of one machine count, else those of a known
 * type, else the only one. Of two that read one resource, or report alike and have one
 * serial number, the first counts. A rack that has a system, and no machine's chassis
 * within it, is a server.
 *
 * TW_NOTFOUND without a source, TW_INVALID if the machine is not known, TW_DENIED if the
 * login or the certificate is rejected. May be called again.
 */
int tw_redfish_connect(struct tw_redfish *r, struct tw_err *err);

/* Read a source. Logs in again, once, if the session has expired. */
int tw_redfish_read(struct tw_redfish *r, const struct tw_redfish_source *s,
		    struct tw_redfish_power *out, struct tw_err *err);

#endif /* TW_COLLECTOR_REDFISH_CLIENT_H */
