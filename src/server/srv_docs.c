/* SPDX-License-Identifier: Apache-2.0
 * srv_docs.c: routes and fields for people: /docs, a page without scripts, and doc/fields.md. */
#include <stdio.h>
#include <string.h>

#include "server/srv_openapi.h"

/* What a field takes: "whole number, 1 to 1024, or null". */
void srv_field_range(const struct srv_field *f, struct vc_buf *b) {
    static const char *const kinds[] = { [SRV_NUM] = "number",
                                         [SRV_INT] = "whole number",
                                         [SRV_BOOL] = "true or false",
                                         [SRV_STR] = "text",
                                         [SRV_WORD] = "",
                                         [SRV_INTS] = "list of whole numbers",
                                         [SRV_STRS] = "text or list of texts",
                                         [SRV_LIST] = "list",
                                         [SRV_OBJ] = "object",
                                         [SRV_ANY] = "see there",
                                         [SRV_REFUSE] = "refused" };
    vc_buf_adds(b, kinds[f->kind]);
    for (const char *const *w = f->kind == SRV_WORD ? srv_field_words[f->min] : NULL; w && *w; w++)
        vc_buf_printf(b, "%s%s", w == srv_field_words[f->min] ? "" : ", ", *w);
    if (f->kind != SRV_NUM && f->kind != SRV_INT) return;
    bool low = f->min != INT64_MIN, high = f->max != INT64_MAX;
    if (low && high)
        vc_buf_printf(b, ", %s%lld to %lld", f->flags & SRV_ABOVE ? "above " : "", (long long)f->min,
                      (long long)f->max);
    else if (low)
        vc_buf_printf(b, ", %s %lld", f->flags & SRV_ABOVE ? "above" : "from", (long long)f->min);
}

/* ---- doc/fields.md ---- */

static void md_bodies(const struct srv_field *f, struct vc_buf *b) {
    const char *comma = "";
    for (size_t i = 0; i < srv_num_body_rows; i++) {
        if (!(srv_body_rows[i].bit & f->bodies)) continue;
        vc_buf_printf(b, "%s%s", comma, srv_body_rows[i].text);
        comma = ", ";
    }
}

static void md_row(const struct srv_field *f, struct vc_buf *b) {
    vc_buf_printf(b, "| `%s`%s | ", f->name, f->flags & SRV_NEEDED ? " (needed)" : "");
    md_bodies(f, b);
    vc_buf_adds(b, " | ");
    if (f->kind != SRV_REFUSE)
        srv_field_range(f, b);
    else
        vc_buf_adds(b, "anything else than nothing is a 400");
    vc_buf_printf(b, " | %s |\n", f->text);
}

void srv_fields_markdown(struct vc_buf *b) {
    vc_buf_adds(b, "# Fields of requests\n\nPrinted by `tools/make-docs` from `src/server/fields.def`; do not edit. "
                   "The names are vLLM's, but for `return_margin`. Null is as absent in most.\n"
                   "Whole numbers may also be written `5.0` or `\"5\"`, switches `1` or `\"true\"`. A field that is in "
                   "no table is accepted, not used, and listed in the debug log.\n"
                   "The same for programs: [openapi.json](openapi.json).\n\n## Served\n\n| field | bodies | value | "
                   "meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++)
        if (srv_field_rows[i].kind != SRV_REFUSE) md_row(&srv_field_rows[i], b);
    vc_buf_adds(b, "\n## Refused\n\nA request that asks for nothing with them (`null`, `false`, `0`, `\"\"`, `[]`, "
                   "`{}`) is served.\n\n| field | bodies | value | instead |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++)
        if (srv_field_rows[i].kind == SRV_REFUSE) md_row(&srv_field_rows[i], b);
}

/* ---- /docs ---- */

/* Its SHA-256 stands in the policy below; tests/server/openapi_test.py compares. */
static const char style[] =
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "code{font:15px monospace}table{border-collapse:collapse;width:100%;margin:.5em 0}td,th{border-bottom:1px solid "
    "#ccc;padding:.2em .6em .2em 0;text-align:left;"
    "vertical-align:top}h2{margin-top:2em;border-bottom:2px solid #888}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8cf}td,th{border-color:#444}}";
static const char *const headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; style-src 'sha256-b3S24csP2Y453FWOn/QLb56UnY2XMXTwan7bAF+2q7s='; base-uri 'none'; form-action "
    "'none'; frame-ancestors 'none'",
    "X-Content-Type-Options",
    "nosniff",
    "Referrer-Policy",
    "no-referrer",
    NULL
};

static void esc(struct vc_buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '<')
            vc_buf_adds(b, "&lt;");
        else if (*s == '&')
            vc_buf_adds(b, "&amp;");
        else if (*s == '"')
            vc_buf_adds(b, "&quot;");
        else
            vc_buf_addc(b, *s);
    }
}

static void html_fields(const struct srv_body_row *body, struct vc_buf *b) {
    struct vc_buf range = { 0 };
    vc_buf_printf(b,
                  "<h3>%s</h3>\n<table><tr><th scope=\"col\">field</th><th scope=\"col\">value</th><th "
                  "scope=\"col\">meaning</th></tr>\n",
                  body->name);
    for (size_t i = 0; i < SRV_NUM_FIELDS; i++) {
        const struct srv_field *f = &srv_field_rows[i];
        if (!(f->bodies & body->bit)) continue;
        range.n = 0;
        srv_field_range(f, &range);
        vc_buf_printf(b, "<tr><td><code>%s</code>%s</td><td>", f->name, f->flags & SRV_NEEDED ? " (needed)" : "");
        esc(b, range.p ? range.p : "");
        vc_buf_adds(b, "</td><td>");
        esc(b, f->text);
        vc_buf_adds(b, "</td></tr>\n");
    }
    vc_buf_adds(b, "</table>\n");
    vc_buf_free(&range);
}

static void html_route(const struct srv_route *r, struct vc_buf *b) {
    const struct srv_status_row *s;
    vc_buf_printf(b, "<h2><code>%s%s%s %s</code></h2>\n<p>", r->flags & SRV_GET ? "GET" : "",
                  (r->flags & SRV_GET) && (r->flags & SRV_POST) ? ", " : "", r->flags & SRV_POST ? "POST" : "", r->path);
    esc(b, r->text);
    vc_buf_printf(b, "%s</p>\n", r->flags & SRV_OPEN ? ". No key is needed." : "");
    for (size_t i = 0; i < srv_num_body_rows; i++)
        if (srv_body_rows[i].bit & r->bodies) html_fields(&srv_body_rows[i], b);
    vc_buf_adds(b, "<table><tr><th scope=\"col\">status</th><th scope=\"col\">when</th></tr>\n<tr><td>200</td><td>");
    vc_buf_printf(b, "%s</td></tr>\n",
                  srv_route_streams(r) ? "the answer, or with <code>stream</code> its events" : "the answer");
    for (size_t i = 0; (s = srv_route_status(r, &i));) {
        vc_buf_printf(b, "<tr><td>%d</td><td>", s->status);
        esc(b, s->text);
        vc_buf_adds(b, "</td></tr>\n");
    }
    vc_buf_adds(b, "</table>\n");
}

void srv_docs_html(struct vc_buf *b) {
    vc_buf_printf(b,
                  "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                  "content=\"width=device-width\"><title>vllmc serve</title><style>%s</style></head>\n"
                  "<body><main>\n<h1>vllmc serve " VC_VERSION
                  "</h1>\n<p>All paths and fields. For programs: <a href=\"openapi.json\">openapi.json</a>.</p>\n",
                  style);
    for (size_t i = 0; i < SRV_NUM_ROUTES; i++) html_route(&srv_routes[i], b);
    vc_buf_adds(b, "</main></body></html>\n");
}

void srv_get_docs(struct srv_call *c) {
    struct vc_buf b = { 0 };
    if (c->srv->p.no_docs) {
        srv_detail(c, 404, "Not Found");
        return;
    }
    srv_docs_html(&b);
    c->headers = headers;
    srv_reply(c, 200, "text/html; charset=utf-8", &b);
}
