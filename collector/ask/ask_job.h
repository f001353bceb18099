/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_JOB_H
#define TW_COLLECTOR_ASK_JOB_H

/*
 * Jobs of tw-ask: the services that it polls. Each job is one file,
 * collector/ask/ask_NAME.c, with a const entry in the registry (ask_job.c).
 */

#include "lib/ask/ask.h"
#include "lib/json/fields.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_http;
struct tw_http_answer;
struct tw_http_call;

/* The state of each job begins with it. */
struct tw_ask_state {
	int fd; /* to the daemon */
	uint64_t interval_ms;
	/*
	 * For poll() to set: after a success, the wait instead of the interval; after a
	 * failure, the least wait. 0 before each poll.
	 */
	uint64_t wait_ms;
	unsigned failures;    /* in a row */
	struct tw_http *http; /* of a job with sockets and poll() */
};

/* The row of tw_ask_job.settings that most jobs have. */
#define TW_ASK_INTERVAL(type)                                                       \
	{                                                                           \
		"interval_ms", TW_FIELD_UINT, TW_FIELD_AT(type, state.interval_ms), \
			.min = 1, .max = INT32_MAX                                  \
	}

struct tw_ask_job {
	const char *name;
	const struct tw_fields *settings; /* read into its state, zeroed before */
	bool net;  /* it uses sockets; else only what open() has opened */
	bool once; /* run() ends with an answer: it is not run again after a crash */
	uint64_t
		least_ms; /* a request to poll soon waits so long; 0: for the next poll */
	/*
	 * Open devices and read secrets. Runs with the rights that tw-ask was started
	 * with, before any network input. A service that may appear later is not a
	 * failure. NULL: nothing to do.
	 */
	int (*open)(void *state, struct tw_err *err);
	/* Poll once, and send by tw_ask_send(). Runs without those rights. */
	int (*poll)(void *state, struct tw_err *err);
	/* Tell the collector why a poll failed; NULL: by tw_ask_send_failure(). */
	void (*report)(void *state, const struct tw_err *why);
	/*
	 * The wait after a failed poll: the first, and the limit of its doublings.
	 * retry_min_ms 0, or a shorter interval: the interval. retry_max_ms 0: a minute,
	 * or a longer interval.
	 */
	uint64_t retry_min_ms, retry_max_ms;
	void (*leave)(void *state); /* after the last poll; or NULL */
	/* In place of poll(): run until tw_ask_is_closed(). */
	void (*run)(void *state);
	void (*close)(
		void *state); /* free what the state owns besides settings; or NULL */
};

/* NULL if there is none. */
const struct tw_ask_job *tw_ask_job_find(const char *name);

/* settings must live as long as the state, which is yours: tw_ask_job_close(). */
int tw_ask_job_open(const struct tw_ask_job *j, const json_t *settings, void **state,
		    struct tw_err *err);
void tw_ask_job_run(const struct tw_ask_job *j, void *state, int fd);
/* Poll once, and report a failure. Returns the time until the next poll in ms. */
uint64_t tw_ask_job_poll(const struct tw_ask_job *j, void *state);
void tw_ask_job_close(const struct tw_ask_job *j, void *state); /* NULL is fine */

/* ---- for jobs ---- */

/* A zeroed message with its kind and the current time. */
struct tw_ask_message tw_ask_message(enum tw_ask_kind kind);

/* Blocks while the socket is full. False: the collector has closed its end. */
bool tw_ask_send(int fd, const struct tw_ask_message *m);

/*
 * Send TW_ASK_FAILED: nothing is known. lasting: the failure lasts until somebody changes
 * the configuration; set for some codes of why in any case.
 */
bool tw_ask_send_failure(int fd, const struct tw_err *why, bool lasting);

/* Send the names of a container. For parsers of names; state: struct tw_ask_state *. */
int tw_ask_send_names(void *state, const struct tw_ask_names *names, struct tw_err *err);

/* A call on the job's connections, which stops when the collector closes its end. */
int tw_ask_call(struct tw_ask_state *s, struct tw_http_call *call,
		struct tw_http_answer *out, struct tw_err *err);

/*
 * Copy a reason as printable text. libcurl's " after 17 ms" is left out: the reason is a
 * label, which must not differ each time.
 */
void tw_ask_copy_reason(char *to, size_t size, const char *why);

/*
 * Wait for ms. A request to poll soon ends the wait, but not before least_ms. False: the
 * collector has closed its end, so stop.
 */
bool tw_ask_pause(int fd, uint64_t ms, uint64_t least_ms);

/*
 * True if the collector has closed its end. For stopped of struct tw_http_call; arg: int
 * *.
 */
bool tw_ask_is_closed(void *arg);

/*
 * The back-off after a number of failures in a row (0: none): min_ms, doubled up to 6
 * times, at most max_ms.
 */
uint64_t tw_ask_backoff_ms(unsigned failures, uint64_t min_ms, uint64_t max_ms);

extern const struct tw_ask_job tw_ask_agents;
extern const struct tw_ask_job tw_ask_command;
extern const struct tw_ask_job tw_ask_containers;
extern const struct tw_ask_job tw_ask_fetch;
extern const struct tw_ask_job tw_ask_file;
extern const struct tw_ask_job tw_ask_ipmi;
extern const struct tw_ask_job tw_ask_pods;
extern const struct tw_ask_job tw_ask_prometheus;
extern const struct tw_ask_job tw_ask_push;
extern const struct tw_ask_job tw_ask_redfish;
extern const struct tw_ask_job tw_ask_series;

#endif /* TW_COLLECTOR_ASK_JOB_H */
