/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ASK_H
#define TW_ASK_H

/*
 * Helpers for slow services: a management controller over HTTP or IPMI, the kubelet.
 *
 * An answer takes from some ms to many seconds, and an HTTP client pulls in some forty
 * libraries. So a separate program, tw-ask, polls the service: one process for each job,
 * started while the collector still has its rights. It lives as long as the socket to it.
 * It drops root before it reads from the network, keeps connections open, and restarts
 * its polling child if that crashes. The collector takes the messages that have arrived
 * and never waits.
 */

#include "lib/core/err.h"
#include "lib/http/client/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Messages between tw-ask and the daemon that started it, over a SOCK_SEQPACKET socket,
 * which keeps them apart. First the daemon sends the job and its settings as one JSON
 * object. tw-ask sends messages of a fixed size.
 *
 * Jobs that poll last: the daemon sends single bytes for "poll again soon". To the job
 * "push", which asks for them, it sends the metrics (collector/push/families.h). The job
 * "fetch" ends with its answer: settings and TW_ASK_FETCHED state the length of a body,
 * which follows in packets of at most TW_ASK_PACKET bytes.
 *
 * Both programs come from one build. A message of another size means another build.
 */

#define TW_ASK_NAME 64    /* of a zone */
#define TW_ASK_PATH 256   /* path of the file or resource that is read */
#define TW_ASK_WHY 192    /* a reason, truncated: it may have a long path */
#define TW_ASK_OBJECT 254 /* a Kubernetes name: 253 bytes at most */
#define TW_ASK_LABEL 64   /* a namespace, the name of a container in a pod: 63 at most */
#define TW_ASK_ID 129     /* of a container, or of a pod */

#define TW_ASK_AGENT_URL 200 /* of an agent, or a name to look up; truncated */
#define TW_ASK_WORD 24       /* a kind of zone, an energy source, a runtime */
#define TW_ASK_ENERGIES 9    /* kinds of zones of a workload */

#define TW_ASK_PACKET ((size_t)64 * 1024)

enum tw_ask_kind {
	TW_ASK_ZONE = 1,     /* a zone exists: place, name, path */
	TW_ASK_POWER,        /* a power value of a zone: place, power_w, window_ms */
	TW_ASK_ENERGY,       /* a counter value of a zone: place, energy_uj */
	TW_ASK_MISSING,      /* a zone has no power now: place, why */
	TW_ASK_FAILED,       /* no zone or name is known: why */
	TW_ASK_NAMES,        /* names of a container, or of a pod (container is "") */
	TW_ASK_ALL_NAMES,    /* the list of names is complete */
	TW_ASK_AGENT,        /* an agent is polled from now on: place, url */
	TW_ASK_AGENT_GONE,   /* it is not polled any more: place */
	TW_ASK_AGENT_ROW,    /* a workload of an agent's answer: place, row */
	TW_ASK_AGENT_ANSWER, /* the answer of the rows before is complete: place, answer
			      */
	TW_ASK_AGENT_FAILED, /* an agent did not answer: place, why, answer.took_ms */
	TW_ASK_LOOKUP,       /* a name was looked up: place, url, why ("": found) */
	TW_ASK_WANT,         /* the metrics are wanted: place, a number for the text */
	TW_ASK_PUSHED,       /* a receiver has them: pushed; why: it refused the others */
	TW_ASK_FETCHED,      /* the end of a call: fetched; the body follows */
};

struct tw_ask_zone {
	char name[TW_ASK_NAME];
	char path[TW_ASK_PATH];
};

/*
 * id: the container's, or the pod's uid as in its cgroup. A container outside of
 * Kubernetes has a longer name, and no pod.
 */
struct tw_ask_names {
	char id[TW_ASK_ID];
	char pod[TW_ASK_OBJECT];
	char name_space[TW_ASK_LABEL];
	char container[TW_ASK_OBJECT];
};

/* Energy of one kind of zone. */
struct tw_ask_energy {
	char zone[TW_ASK_WORD], source[TW_ASK_WORD];
	uint64_t dynamic_uj, idle_uj; /* since the agent started */
	double watts;                 /* in its last tick */
	uint32_t powered;             /* not 0: watts are known */
};

/* A pod, container, VM, or one zone of the node (id: its path and name). */
struct tw_ask_row {
	char level[TW_ASK_WORD];
	char id[TW_ASK_ID];
	char name[TW_ASK_ID]; /* of the pod or the VM; of a job: its user */
	char name_space[TW_ASK_LABEL];
	char container[TW_ASK_LABEL];
	char runtime[TW_ASK_WORD];
	uint32_t in_pod; /* a VM: not 0 if a pod runs it */
	uint32_t energies;
	struct tw_ask_energy energy[TW_ASK_ENERGIES];
};

/* instance: a random text of the agent's process. vm_id: of a virtual machine, or "". */
struct tw_ask_answer {
	char node[TW_ASK_ID], instance[TW_ASK_WORD * 2], vm_id[TW_ASK_LABEL];
	uint64_t uptime_ms;  /* since the agent started */
	uint64_t elapsed_ms; /* length of its last tick */
	uint64_t took_ms;    /* time of the fetch */
	uint64_t bytes;
	uint32_t rows;
	uint32_t rows_cut; /* more than the limit of an answer */
};

/* The answer of an HTTP server, as struct tw_http_answer; or the call's failure. */
struct tw_ask_fetched {
	uint32_t failed; /* not 0: enum tw_code of failure, and nothing else is set */
	uint32_t status;
	uint64_t len; /* of the body */
	uint64_t retry_after_s, from;
	char content_type[TW_HTTP_TYPE_MAX], etag[TW_HTTP_ETAG_MAX];
	char failure[TW_ERR_TEXT];
};

struct tw_ask_pushed {
	uint64_t samples, bytes;
};

/* Texts are NUL-terminated. */
struct tw_ask_message {
	uint32_t kind;      /* enum tw_ask_kind */
	uint32_t place;     /* place of a zone, from 0 on */
	uint32_t lasting;   /* TW_ASK_FAILED: it fails until the configuration changes */
	uint64_t taken_ns;  /* tw_now_ns() when the answer arrived */
	uint64_t window_ms; /* the time that power_w averages; 0: unknown */
	double power_w;
	double input_w, output_w; /* of the supplies of TW_ASK_POWER; 0: unknown */
	uint64_t energy_uj;
	char why[TW_ASK_WHY];
	union {
		struct tw_ask_zone zone;
		struct tw_ask_names names;
		char url[TW_ASK_AGENT_URL];
		struct tw_ask_row row;
		struct tw_ask_answer answer;
		struct tw_ask_fetched fetched;
		struct tw_ask_pushed pushed;
	} of;
};

/* ---- the end of the collector ---- */

struct tw_ask; /* opaque */

/* How to start helpers. */
struct tw_ask_config {
	const char *program; /* path of tw-ask; NULL: beside this program, or installed */
	const char *user;    /* user to switch to, if started as root; NULL: no switch */
	bool filter; /* install a system call filter: collector/ask/ask_filter.h */
	unsigned log_format; /* enum tw_log_format of what it logs */
};

/*
 * Start a helper for the job of that name. settings is taken, even on failure; NULL
 * counts as out of memory. *out is yours: tw_ask_close().
 */
int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err);

/*
 * Read the next message; false: none now. Invalid messages are skipped. After the helper
 * has exited, each call returns TW_ASK_FAILED.
 */
bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out);

/* Wait for a message, at most ms. */
void tw_ask_wait(const struct tw_ask *a, unsigned ms);

/* Ask the helper to poll again soon. */
void tw_ask_again(struct tw_ask *a);

/* Readable when there is a message; -1: the helper has exited. */
int tw_ask_fd(const struct tw_ask *a);

/* Stop the helper. Waits a moment, so that it can log out of its service. */
void tw_ask_close(struct tw_ask *a); /* NULL is fine */

#endif /* TW_ASK_H */
