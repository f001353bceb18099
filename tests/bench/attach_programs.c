/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs that are attached to order. All are loaded all the time; each line of
 * stdin says which are attached from then on, and is said back once they are:
 *
 *	none       none
 *	elsewhere  one that does nothing, where hardly anything passes
 *	empty      one that does nothing, at each context switch
 *	ours       all that tw-collector has attached without counters and traces
 */
#include "bpf/exits.skel.h"
#include "tests/bench/empty.skel.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES (512 * 1024)

static struct empty_bpf *empty;
static struct exits_bpf *ours;
static struct bpf_link *link;

static void die(const char *what)
{
	fprintf(stderr, "attach_programs: %s\n", what);
	exit(1);
}

/* Not each kernel can load on_release. */
static struct exits_bpf *load_ours(bool releases)
{
	struct exits_bpf *s = exits_bpf__open();

	if (s == NULL)
		return NULL;
	s->rodata->tw_wake_bytes = RING_BYTES / 4;
	bpf_map__set_max_entries(s->maps.events, RING_BYTES);
	bpf_program__set_autoload(s->progs.on_release, releases);
	bpf_program__set_autoload(s->progs.on_exit, !releases);
	if (exits_bpf__load(s) == 0)
		return s;
	exits_bpf__destroy(s);
	return NULL;
}

static void attach_one(struct bpf_program *p)
{
	link = bpf_program__attach(p);
	if (link == NULL)
		die("cannot attach a program that does nothing");
}

static void attach(const char *name)
{
	exits_bpf__detach(ours);
	bpf_link__destroy(link);
	link = NULL;
	if (strcmp(name, "elsewhere") == 0)
		attach_one(empty->progs.empty_mkdir);
	else if (strcmp(name, "empty") == 0)
		attach_one(empty->progs.empty_switch);
	else if (strcmp(name, "ours") == 0 && exits_bpf__attach(ours) != 0)
		die("cannot attach those of tw-collector");
	else if (strcmp(name, "ours") != 0 && strcmp(name, "none") != 0)
		die("none of its programs is asked for");
}

int main(void)
{
	char line[32];

	libbpf_set_print(NULL);
	empty = empty_bpf__open_and_load();
	ours = load_ours(true);
	if (ours == NULL)
		ours = load_ours(false);
	if (empty == NULL || ours == NULL)
		die("cannot load");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		attach(line);
		printf("%s\n", line);
		fflush(stdout);
	}
	attach("none");
	exits_bpf__destroy(ours);
	empty_bpf__destroy(empty);
	return 0;
}
