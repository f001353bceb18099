/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/report_page.h"

#include "cli/command.h"
#include "model-db/report/card.h"
#include "model-db/report/svg.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 64

/* A wide table scrolls by itself on a narrow screen. */
static const char style[] =
	":root{color-scheme:light dark;--line:#d4d8e0;--head:#f2f4f8;--text:#222}"
	"@media(prefers-color-scheme:dark){:root{--line:#3a4150;--head:#242a36;"
	"--text:#dde1e8}}"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:58em;margin:2em auto;"
	"padding:0 1em;color:var(--text)}"
	"h1{line-height:1.2}h2{margin:2em 0 .5em;font-size:1.25em}"
	".t{overflow-x:auto;margin:1em 0}table{border-collapse:collapse}"
	"td,th{border-bottom:1px solid var(--line);padding:.25em .8em;text-align:left;"
	"vertical-align:top}th{background:var(--head);white-space:nowrap}"
	".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
	"@media(max-width:40em){td,th{padding:.25em .4em;font-size:.85em;"
	"overflow-wrap:anywhere}.n{overflow-wrap:normal}}"
	"svg{display:block;width:100%;max-width:48em;height:auto;margin:1em 0}";

void tw_page_begin(struct tw_page *p, const char *title)
{
	tw_buf_adds(&p->html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
			      "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
			      "content=\"width=device-width, initial-scale=1\"/>\n"
			      "<title>");
	tw_svg_add_text(&p->html, title);
	tw_buf_addf(&p->html, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>",
		    style);
	tw_svg_add_text(&p->html, title);
	tw_buf_adds(&p->html, "</h1>\n");
	tw_buf_adds(&p->md, "# ");
	tw_card_add_cell(&p->md, title);
	tw_buf_adds(&p->md, "\n");
}

static void add_element(struct tw_buf *b, const char *name, const char *text)
{
	tw_buf_addf(b, "<%s>", name);
	tw_svg_add_text(b, text);
	tw_buf_addf(b, "</%s>\n", name);
}

void tw_page_heading(struct tw_page *p, const char *text)
{
	add_element(&p->html, "h2", text);
	tw_buf_adds(&p->md, "\n## ");
	tw_card_add_cell(&p->md, text);
	tw_buf_adds(&p->md, "\n");
}

void tw_page_text(struct tw_page *p, const char *text)
{
	add_element(&p->html, "p", text);
	tw_buf_adds(&p->md, "\n");
	tw_card_add_cell(&p->md, text);
	tw_buf_adds(&p->md, "\n");
}

static void add_cells(struct tw_page *p, const char *element, const char *const *cells)
{
	tw_buf_adds(&p->html, "<tr>");
	tw_buf_adds(&p->md, "|");
	for (size_t i = 0; i < p->columns; i++) {
		tw_buf_addf(&p->html, p->right >> i & 1 ? "<%s class=\"n\">" : "<%s>",
			    element);
		tw_svg_add_text(&p->html, cells[i]);
		tw_buf_addf(&p->html, "</%s>", element);
		tw_buf_adds(&p->md, " ");
		tw_card_add_cell(&p->md, cells[i]);
		tw_buf_adds(&p->md, " |");
	}
	tw_buf_adds(&p->html, "</tr>\n");
	tw_buf_adds(&p->md, "\n");
}

void tw_page_table(struct tw_page *p, const char *const *cells, size_t count)
{
	const char *name[COLUMNS_MAX];

	assert(count <= COLUMNS_MAX);
	p->columns = count;
	p->right = 0;
	for (size_t i = 0; i < count; i++) {
		const bool right = cells[i][0] == '>';

		name[i] = cells[i] + right;
		p->right |= (uint64_t)right << i;
	}
	tw_buf_adds(&p->html, "<div class=\"t\"><table>\n");
	tw_buf_adds(&p->md, "\n");
	add_cells(p, "th", name);
	tw_buf_adds(&p->md, "|");
	for (size_t i = 0; i < count; i++)
		tw_buf_adds(&p->md, p->right >> i & 1 ? "---:|" : "---|");
	tw_buf_adds(&p->md, "\n");
}

void tw_page_row(struct tw_page *p, const char *const *cells)
{
	add_cells(p, "td", cells);
}

void tw_page_table_end(struct tw_page *p)
{
	tw_buf_adds(&p->html, "</table></div>\n");
	p->columns = 0;
}

static void add_line(struct tw_page *p, const char *text)
{
	add_element(&p->html, "li", text);
	tw_buf_adds(&p->md, "* ");
	tw_card_add_cell(&p->md, text);
	tw_buf_adds(&p->md, "\n");
}

void tw_page_lines(struct tw_page *p, const char *lines)
{
	const char *end;

	tw_buf_adds(&p->html, "<ul>\n");
	tw_buf_adds(&p->md, "\n");
	if (lines == NULL || *lines == '\0')
		lines = "none\n";
	for (; *lines != '\0'; lines = *end != '\0' ? end + 1 : end) {
		char line[512];

		end = strchr(lines, '\n');
		if (end == NULL)
			end = lines + strlen(lines);
		lines += strspn(lines, " ");
		snprintf(line, sizeof(line), "%.*s", (int)(end - lines), lines);
		add_line(p, line);
	}
	tw_buf_adds(&p->html, "</ul>\n");
}

int tw_page_chart(struct tw_page *p, const char *name, const struct tw_svg_chart *c,
		  struct tw_err *err)
{
	struct tw_svg_chart inner = *c;
	struct tw_buf svg = { 0 };
	char file[64];
	int rc;

	inner.in_page = true;
	tw_svg_chart(&inner, &p->html);
	tw_svg_chart(c, &svg);
	snprintf(file, sizeof(file), "%s.svg", name);
	tw_buf_adds(&p->md, "\n![");
	tw_card_add_cell(&p->md, c->title);
	tw_buf_addf(&p->md, "](%s)\n", file);
	rc = tw_command_write(&svg, p->dir, file, err);
	tw_buf_clear(&svg);
	return rc;
}

static int write_form(const struct tw_page *p, const struct tw_buf *b, const char *name,
		      const char *suffix, struct tw_err *err)
{
	char file[64];

	snprintf(file, sizeof(file), "%s%s", name, suffix);
	return tw_command_write(b, p->dir, file, err);
}

int tw_page_write(struct tw_page *p, const char *name, struct tw_err *err)
{
	tw_buf_adds(&p->html, "</body>\n</html>\n");
	if (write_form(p, &p->md, name, ".md", err) < 0)
		return -1;
	return write_form(p, &p->html, name, ".html", err);
}

void tw_page_release(struct tw_page *p)
{
	tw_buf_clear(&p->md);
	tw_buf_clear(&p->html);
}
