/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_MESSAGE_H
#define TW_COLLECTOR_ASK_MESSAGE_H

/*
 * Messages from tw-ask to the collector: a fixed size, over a SOCK_SEQPACKET socket,
 * which keeps them apart. First the collector sends the job and its settings as one JSON
 * object. Later it sends single bytes: poll again soon.
 *
 * Both programs come from one build. A message of another size means another build.
 */

#include <stdint.h>

#define TW_ASK_NAME 64    /* of a zone */
#define TW_ASK_PATH 256   /* path of the file or resource that is read */
#define TW_ASK_WHY 96     /* a reason, truncated */
#define TW_ASK_OBJECT 254 /* a Kubernetes name: 253 bytes at most */
#define TW_ASK_LABEL 64   /* a namespace, the name of a container: 63 at most */
#define TW_ASK_ID 129     /* of a container, or of a pod */

/* The settings: paths and a URL. */
#define TW_ASK_SETTINGS_MAX ((size_t)64 * 1024)

enum tw_ask_kind {
	TW_ASK_ZONE = 1,  /* a zone exists: place, name, path */
	TW_ASK_POWER,     /* a power value of a zone: place, power_w, window_ms */
	TW_ASK_ENERGY,    /* a counter value of a zone: place, energy_uj */
	TW_ASK_MISSING,   /* a zone has no power now: place, why */
	TW_ASK_FAILED,    /* no zone or name is known: why */
	TW_ASK_NAMES,     /* names of a container, or of a pod (container is "") */
	TW_ASK_ALL_NAMES, /* the list of names is complete */
};

struct tw_ask_zone {
	char name[TW_ASK_NAME];
	char path[TW_ASK_PATH];
};

/* id: the container's, or the pod's uid as in its cgroup. */
struct tw_ask_names {
	char id[TW_ASK_ID];
	char pod[TW_ASK_OBJECT];
	char name_space[TW_ASK_LABEL];
	char container[TW_ASK_LABEL];
};

/* Texts are NUL-terminated. */
struct tw_ask_message {
	uint32_t kind;      /* enum tw_ask_kind */
	uint32_t place;     /* place of a zone, from 0 on */
	uint32_t lasting;   /* TW_ASK_FAILED: it fails until the configuration changes */
	uint64_t taken_ns;  /* tw_now_ns() when the answer arrived */
	uint64_t window_ms; /* the time that power_w averages; 0: unknown */
	double power_w;
	uint64_t energy_uj;
	char why[TW_ASK_WHY];
	union {
		struct tw_ask_zone zone;
		struct tw_ask_names names;
	} of;
};

#endif /* TW_COLLECTOR_ASK_MESSAGE_H */
