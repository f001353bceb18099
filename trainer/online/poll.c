/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/poll.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "trainer/record/metric_choice.h"
#include "trainer/response/prom.h"
#include "trainer/record/spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limit of matching metrics. */
#define METRICS_MAX 10000

struct tw_poll {
	struct tw_prom_client *client;
	const struct tw_strs *match;
	char *path; /* the response of the last interval */
	struct tw_metric_choice choice;
};

/* The names of the metrics of an interval. */
struct names {
	struct tw_poll *poll;
	struct tw_strs list;
};

int tw_poll_new(const struct tw_prom_client_config *client, const struct tw_strs *match,
		const char *dir, struct tw_poll **out, struct tw_err *err)
{
	struct tw_poll *p = calloc(1, sizeof(*p));
	int rc = -1;

	if (p == NULL) {
		tw_fail(err, TW_NOMEM, "reader of Prometheus");
		goto out;
	}
	p->match = match;
	if (tw_path_join(&p->path, err, dir, "response.json", NULL) < 0 ||
	    tw_metric_choice_open(&p->choice, NULL, NULL, err) < 0 ||
	    tw_prom_client_new(client, &p->client, err) < 0)
		goto out;
	*out = p;
	p = NULL;
	rc = 0;
out:
	tw_poll_free(p);
	return rc;
}

void tw_poll_free(struct tw_poll *p)
{
	if (p == NULL)
		return;
	tw_prom_client_free(p->client);
	tw_metric_choice_release(&p->choice);
	free(p->path);
	free(p);
}

int tw_poll_time(struct tw_poll *p, int64_t *now_ms, struct tw_err *err)
{
	return tw_prom_client_time(p->client, now_ms, err);
}

/* A name may come twice, if an answer was cut short. */
static int take_name(void *arg, const char *name, size_t len, struct tw_err *err)
{
	struct names *n = arg;

	if (!tw_metric_choice_has(&n->poll->choice, name, len))
		return 0;
	for (size_t i = 0; i < n->list.count; i++)
		if (strlen(n->list.at[i]) == len && memcmp(n->list.at[i], name, len) == 0)
			return 0;
	if (n->list.count == METRICS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d metrics", METRICS_MAX);
	return tw_strs_add(&n->list, name, len, err);
}

static int read_samples(struct tw_poll *p, int64_t from_ms, int64_t to_ms,
			struct tw_spool *spool, struct tw_err *err)
{
	const struct tw_prom_range range = { from_ms, to_ms, 1000 };
	struct names names = { .poll = p };
	struct tw_prom_count count = { 0 };
	int rc = -1;

	if (tw_prom_client_names(p->client, p->match, &range, take_name, &names, err) < 0)
		goto out;
	tw_strs_sort(&names.list);
	for (size_t i = 0; i < names.list.count; i++)
		if (tw_prom_client_samples(p->client, names.list.at[i], p->match, from_ms,
					   to_ms, spool, &count, err) < 0 ||
		    tw_spool_settle(spool, err) < 0) {
			tw_err_wrap(err, "%s", names.list.at[i]);
			goto out;
		}
	rc = 0;
out:
	tw_strs_clear(&names.list);
	return rc;
}

static int split(struct tw_poll *p, struct tw_polled *out, struct tw_err *err)
{
	if (tw_prom_read(p->path, &out->response, err) < 0 ||
	    tw_machines_find(out->response, &out->machines, err) < 0)
		return -1;
	out->of = calloc(out->machines.count + 1, sizeof(struct tw_prom *));
	if (out->of == NULL)
		return tw_fail(err, TW_NOMEM, "%zu machines", out->machines.count);
	return tw_machines_split(&out->machines, out->response, out->of, err);
}

int tw_poll_read(struct tw_poll *p, int64_t from_ms, int64_t to_ms, struct tw_polled *out,
		 struct tw_err *err)
{
	struct tw_spool *spool = NULL;
	int rc = -1;

	if (tw_spool_new(p->path, &spool, err) < 0 ||
	    read_samples(p, from_ms, to_ms, spool, err) < 0)
		goto out;
	out->samples = tw_spool_size(spool).samples;
	if (out->samples > 0 &&
	    (tw_spool_write(spool, p->path, err) < 0 || split(p, out, err) < 0))
		goto out;
	rc = 0;
out:
	unlink(p->path);
	tw_spool_free(spool);
	if (rc < 0)
		tw_polled_release(out);
	return rc;
}

void tw_polled_release(struct tw_polled *p)
{
	for (size_t i = 0; p->of != NULL && i < p->machines.count; i++)
		tw_prom_free(p->of[i]);
	free(p->of);
	tw_machines_release(&p->machines);
	tw_prom_free(p->response);
	*p = (struct tw_polled){ 0 };
}
