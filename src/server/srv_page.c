/* SPDX-License-Identifier: Apache-2.0
 * srv_page.c: GET /: the web page, or 304 where the browser has it already. */
#include "server/page/page.h"
#include "server/srv_int.h"

void srv_get_page(struct srv_call *c) {
    struct vc_buf b = { 0 };
    c->headers = vc_page_headers;
    if (vc_page_unchanged(srv_header(c, "If-None-Match"))) {
        srv_reply(c, 304, NULL, &b);
        return;
    }
    vc_buf_add(&b, vc_page_bytes, vc_page_size);
    srv_reply(c, 200, "text/html; charset=utf-8", &b);
}
