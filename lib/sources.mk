# SPDX-License-Identifier: Apache-2.0
helpers += tw-fetch
tw-fetch-src := lib/http/client/fetch_main.c
tw-fetch-libs := $(JANSSON_LIBS) $(CURL_LIBS)
