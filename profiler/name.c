/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/name.h"

#include "lib/core/array.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX TW_SPEC_TEXT

/* Marks to remove from words. */
static const char *const marks[] = { "(r)", "(tm)", "(c)" };

/* Words that all processors have. */
static const char *const fillers[] = { "cpu", "processor" };

/* Words that end the processor's name: "with Radeon Graphics". */
static const char *const enders[] = { "with", "w/" };

struct text {
	const char *at, *end;
};

struct name {
	char *out;
	size_t len, last; /* offset of the last word, with its '_' */
	bool full;
};

static bool is_one_of(const char *const *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The length of the mark at t, or 0. */
static size_t mark_length(const struct text *t)
{
	for (size_t i = 0; i < TW_COUNT(marks); i++) {
		const size_t len = strlen(marks[i]);

		if ((size_t)(t->end - t->at) >= len &&
		    strncasecmp(t->at, marks[i], len) == 0)
			return len;
	}
	return 0;
}

static bool separates(char c)
{
	return (unsigned char)c <= ' ' || c == ',' || c == ';' || c == '_';
}

/* Other characters of a word are dropped: quotes, a registered mark in UTF-8. */
static bool is_kept(char c)
{
	return is_digit(c) || is_letter(c) || c == '-' || c == '.' || c == '+' ||
	       c == '/';
}

/*
 * The next word in lower case, cut at WORD_MAX - 1 bytes; false at the end of the name:
 * at the end of the text, at '@' (the frequency), or at '(' other than a mark's.
 */
static bool next_word(struct text *t, char out[WORD_MAX])
{
	size_t len = 0;

	for (; t->at < t->end; t->at++) {
		const size_t mark = mark_length(t);

		if (mark > 0) {
			t->at += mark - 1;
			continue;
		}
		if (*t->at == '@' || *t->at == '(') {
			t->end = t->at;
			break;
		}
		if (separates(*t->at)) {
			if (len > 0)
				break;
			continue;
		}
		if (is_kept(*t->at) && len < WORD_MAX - 1)
			out[len++] = lower(*t->at);
	}
	out[len] = '\0';
	return len > 0;
}

/* "v4" behind a model number, as in "E5-2686 v4"; not in "Neoverse V1". */
static bool is_version(const struct name *n, const char *word)
{
	return word[0] == 'v' && word[1] != '\0' &&
	       word[1 + strspn(word + 1, "0123456789")] == '\0' &&
	       strpbrk(n->out + n->last, "0123456789") != NULL;
}

/* "core", "cores" */
static bool is_core(const char *word)
{
	return strcmp(word, "core") == 0 || strcmp(word, "cores") == 0;
}

/* "4-bit", "multi-core", "96-core", "64-cores". A spec has its own field for cores. */
static bool is_kind(const char *word)
{
	const char *dash = strchr(word, '-');

	if (dash == NULL || dash == word)
		return false;
	if (strcmp(dash, "-bit") == 0)
		return is_digit(word[0]);
	return is_core(dash + 1);
}

/* "ghz", "2.4ghz" */
static bool is_frequency(const char *word)
{
	const size_t number = strspn(word, "0123456789.");

	return strcmp(word + number, "ghz") == 0 || strcmp(word + number, "mhz") == 0;
}

static bool is_number(const char *word)
{
	return word[strspn(word, "0123456789.")] == '\0';
}

/* Remove the last word if it is a number: that of a frequency written "2.4 GHz". */
static void drop_number(struct name *n)
{
	const char *word = n->out + n->last;

	if (n->len > 0 && is_number(word[0] == '_' ? word + 1 : word))
		n->out[n->len = n->last] = '\0';
}

/* Append a word's letters and digits; each run of '-' and '/' becomes one '_'. */
static void add_word(struct name *n, const char *word, bool join)
{
	char text[WORD_MAX]; /* a word is shorter and gains at most one '_' */
	size_t len = 0;
	bool gap = !join && n->len > 0;

	for (const char *p = word; *p != '\0'; p++) {
		if (*p == '-' || *p == '/') {
			gap = n->len + len > 0;
			continue;
		}
		if (gap)
			text[len++] = '_';
		gap = false;
		text[len++] = *p;
	}
	if (n->full || n->len + len >= TW_SPEC_TEXT) {
		n->full = true;
		return;
	}
	n->last = n->len;
	memcpy(n->out + n->len, text, len);
	n->out[n->len += len] = '\0';
}

void tw_processor_name(const char *brand, size_t len, char out[TW_SPEC_TEXT])
{
	struct text t = { brand, brand + len };
	struct name n = { .out = out };
	char word[WORD_MAX];

	out[0] = '\0';
	while (next_word(&t, word)) {
		if (is_one_of(enders, TW_COUNT(enders), word))
			break;
		if (is_one_of(fillers, TW_COUNT(fillers), word) || is_kind(word))
			continue;
		if (is_frequency(word)) {
			if (!is_digit(word[0]))
				drop_number(&n);
			/* "7601 2.20 GHz, Dell SKU [338-BNCG]" */
			if (n.len > 0)
				break;
			continue;
		}
		add_word(&n, word, is_version(&n, word));
	}
	/* A single letter is not a name. */
	if (n.len < 2)
		out[0] = '\0';
}

void tw_processor_drop_cores(char *name)
{
	char *core = strrchr(name, '_'), *count = core;

	if (core == NULL || !is_core(core + 1))
		return;
	while (count > name && is_digit(count[-1]))
		count--;
	if (count < core && count > name + 1 && count[-1] == '_')
		count[-1] = '\0';
}

void tw_vendor_name(const char *vendor, size_t len, char out[TW_SPEC_TEXT])
{
	struct text t = { vendor, vendor + len };
	struct name n = { .out = out };
	char word[WORD_MAX];

	out[0] = '\0';
	if (!next_word(&t, word))
		return;
	/* "Inc." */
	for (size_t i = strlen(word); i > 0 && word[i - 1] == '.'; i--)
		word[i - 1] = '\0';
	add_word(&n, word, false);
}
