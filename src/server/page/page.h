/* SPDX-License-Identifier: Apache-2.0
 * page.h: the web page at /, and the headers it is served with. Everything is constant; page_data.c is made by
 * embed.cmake from the files beside it. */
#ifndef VC_SERVER_PAGE_PAGE_H
#define VC_SERVER_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

extern const char vc_page_bytes[];
extern const size_t vc_page_size;
extern const char vc_page_csp[];           /* Content-Security-Policy: the page's own script and style, by hash */
extern const char vc_page_etag[];          /* with its quotes; changes with the page or its policy */

/* Names and values of the headers of every answer with the page (200 and 304), ended by NULL. */
extern const char *const vc_page_headers[];

/* 1: If-None-Match (RFC 9110 13.1.2; NULL: absent) names the page as it is, so that the answer is 304. */
bool vc_page_unchanged(const char *if_none_match);

#endif
