/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_MESSAGE_H
#define TW_COLLECTOR_ASK_MESSAGE_H

/*
 * What tw-ask tells the collector: messages of a fixed size over a socket that keeps them
 * apart (SOCK_SEQPACKET). Before them the collector sends the job and its settings, one
 * JSON object; later a single byte: ask again, soon.
 *
 * Both programs are of one build: a message of another size is another build's.
 */

#include <stdint.h>

#define TW_ASK_NAME 64    /* of a zone */
#define TW_ASK_PATH 256   /* what is read */
#define TW_ASK_WHY 96     /* a reason, cut short */
#define TW_ASK_OBJECT 254 /* a Kubernetes name: 253 bytes at most */
#define TW_ASK_LABEL 64   /* a namespace, the name of a container: 63 at most */
#define TW_ASK_ID 129     /* of a container, or of a pod */

/* The settings: paths and a URL. */
#define TW_ASK_SETTINGS_MAX ((size_t)64 * 1024)

enum tw_ask_kind {
	TW_ASK_ZONE = 1,  /* there is a zone: place, name, path */
	TW_ASK_POWER,     /* it has power: place, power_w, window_ms */
	TW_ASK_MISSING,   /* it has none: place, why */
	TW_ASK_FAILED,    /* nothing is known: why */
	TW_ASK_NAMES,     /* of a container, or of a pod (container is ""): names */
	TW_ASK_ALL_NAMES, /* all that there are have been told */
};

struct tw_ask_zone {
	char name[TW_ASK_NAME];
	char path[TW_ASK_PATH];
};

/* id is of the container, or the pod's uid as its cgroup has it. */
struct tw_ask_names {
	char id[TW_ASK_ID];
	char pod[TW_ASK_OBJECT];
	char name_space[TW_ASK_LABEL];
	char container[TW_ASK_LABEL];
};

/* Texts are NUL-terminated. */
struct tw_ask_message {
	uint32_t kind;      /* enum tw_ask_kind */
	uint32_t place;     /* of a zone, from 0 on */
	uint32_t lasting;   /* of TW_ASK_FAILED: it is so until something is changed */
	uint64_t taken_ns;  /* of tw_now_ns(): when the answer had come */
	uint64_t window_ms; /* what power_w is the average of; 0: not known */
	double power_w;
	char why[TW_ASK_WHY];
	union {
		struct tw_ask_zone zone;
		struct tw_ask_names names;
	} of;
};

#endif /* TW_COLLECTOR_ASK_MESSAGE_H */
