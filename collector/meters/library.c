/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/library.h"

#include "lib/core/err.h"

#include <dlfcn.h>
#include <string.h>

/* POSIX lets dlsym() return a function as an object pointer, so copy its bytes. */
static bool is_set(const void *into, const struct tw_symbol *s)
{
	void *found;

	memcpy(&found, (const char *)into + s->offset, sizeof(found));
	return found != NULL;
}

static int find_symbols(void *library, const char *file, const struct tw_symbol *symbols,
			size_t count, void *into, struct tw_err *err)
{
	for (size_t i = 0; i < count; i++) {
		void *found;

		if (is_set(into, &symbols[i]))
			continue;
		found = dlsym(library, symbols[i].name);
		if (found == NULL && symbols[i].needed)
			return tw_fail(err, TW_UNSUPPORTED, "'%s' has no %s", file,
				       symbols[i].name);
		memcpy((char *)into + symbols[i].offset, &found, sizeof(found));
	}
	return 0;
}

int tw_library_open(const char *file, const struct tw_symbol *symbols, size_t count,
		    void *into, void **library, struct tw_err *err)
{
	void *l = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (l == NULL) {
		const char *why = dlerror();

		return tw_fail(err, TW_NOTFOUND, "%s", why != NULL ? why : file);
	}
	if (find_symbols(l, file, symbols, count, into, err) < 0) {
		dlclose(l);
		return -1;
	}
	*library = l;
	return 0;
}

void tw_library_close(void *library)
{
	if (library != NULL)
		dlclose(library);
}
