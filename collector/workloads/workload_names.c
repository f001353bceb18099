/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers and pods, from collector/workloads/pods.h. */
#include "collector/workloads/pods.h"
#include "collector/workloads/workload_parts.h"

#include <stdlib.h>
#include <string.h>

/* One that several answers do not have (a sandbox) is not asked for any more. */
#define WANTED_MAX 3

void tw_owner_free(struct tw_owner *o)
{
	free((char *)(uintptr_t)o->w.path);
	free(o->names);
	free(o);
}

static char *add_text(char *to, const char **out, const char *text)
{
	const size_t len = strlen(text) + 1;

	*out = len > 1 ? memcpy(to, text, len) : NULL;
	return to + len;
}

/* Without memory they stay as they are. */
static void set_names(struct tw_owner *o, const struct tw_pod_names *n)
{
	char *at =
		malloc(strlen(n->pod) + strlen(n->name_space) + strlen(n->container) + 3);

	if (at == NULL)
		return;
	free(o->names);
	o->names = at;
	at = add_text(at, &o->w.pod_name, n->pod);
	at = add_text(at, &o->w.pod_namespace, n->name_space);
	add_text(at, &o->w.container_name, n->container);
}

/* Once for each answer that did not have it. */
static void want(struct tw_owner *o, struct tw_pods *pods)
{
	const uint64_t answers = tw_pods_stats(pods)->rounds;

	if (o->wanted == WANTED_MAX || (o->wanted > 0 && o->wanted_at == answers))
		return;
	o->wanted++;
	o->wanted_at = answers;
	tw_pods_want(pods);
}

/* A container is known by its id; until then, its pod is by its uid. */
static void name_owner(struct tw_owner *o, struct tw_pods *pods)
{
	const bool container = o->w.level == TW_LEVEL_CONTAINER;
	struct tw_pod_names names;

	if (o->who.pod_uid[0] == '\0' || (o->names != NULL && !container) ||
	    o->w.container_name != NULL)
		return;
	if (container && tw_pods_find(pods, o->who.id, &names)) {
		set_names(o, &names);
		return;
	}
	if (o->names == NULL && tw_pods_find(pods, o->who.pod_uid, &names))
		set_names(o, &names);
	if (container || o->names == NULL)
		want(o, pods);
}

void tw_workloads_name(struct tw_workloads *t, struct tw_pods *pods)
{
	static const enum tw_level levels[] = { TW_LEVEL_CONTAINER, TW_LEVEL_POD };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		for (struct tw_workload *w = t->level[levels[i]].first; w != NULL;
		     w = w->next)
			name_owner((struct tw_owner *)w, pods);
}
