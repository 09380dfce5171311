/* SPDX-License-Identifier: Apache-2.0
 * srv_body.c: bodies as JSON objects. vLLM answers a wrong body with 400 and a pydantic line, never with 422. */
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "server/srv_gen.h"

static bool refuse(struct srv_call *c, const char *line, const char *param) {
    struct vc_buf text = { 0 }, body = { 0 };
    vc_buf_printf(&text, "1 validation error:\n  %s", line);
    srv_error_body(c, &body, 400, "Bad Request", param, text.p ? text.p : "out of memory");
    srv_reply_json(c, 400, &body);
    vc_buf_free(&text);
    return false;
}

static bool refuse_json(struct srv_call *c, const char *why) {
    struct vc_buf line = { 0 };
    char shown[400];
    vc_buf_printf(&line, "{'type': 'json_invalid', 'loc': 'body', 'msg': 'JSON decode error', 'input': '{}', 'ctx': {'error': '%s'}}",
                  vc_printable(shown, sizeof shown, why, strlen(why)));
    bool ok = refuse(c, line.p ? line.p : "", "body");
    vc_buf_free(&line);
    return ok;
}

/* The model that is named, or the first that has the route. An unknown name is refused by srv_model_known, after the fields.
 * False: the named one does not have the route. */
static bool choose_model(struct srv_call *c, const json_t *root) {
    const char *name = json_string_value(json_object_get(root, "model"));
    struct srv_model *m = name ? srv_model_named(c->srv, name) : NULL;
    for (uint32_t i = 0; !m && i < c->srv->num_models; i++)
        if (!c->route || srv_route_of(c->route, &c->srv->models[i])) m = &c->srv->models[i];
    if (m) c->model = m;
    return !m || !c->route || srv_route_of(c->route, m);
}

/* The bytes that came, parsed. */
static bool parse(struct srv_call *c, json_t **root) {
    vc_err err = VC_ERR_INIT;
    if (c->body.n == 0) return refuse(c, "{'type': 'missing', 'loc': 'body', 'msg': 'Field required', 'input': 'None'}", "body");
    if (!c->json_type) return refuse(c, "Unsupported Media Type: Only 'application/json' is allowed", NULL);
    vc_status s = vc_json_parse(root, c->body.p, c->body.n, "body", &err);
    vc_buf_free(&c->body);
    if (s == VC_E_NOMEM) srv_error(c, 503, NULL, NULL, "%s", err.text);
    else if (s != VC_OK) return refuse_json(c, err.text);
    return s == VC_OK;
}

bool srv_body(struct srv_call *c, json_t **root) {
    char shown[64], line[256];
    *root = c->json;
    c->json = NULL;
    if (!*root && !parse(c, root)) return false;
    if (json_is_object(*root)) {
        if (choose_model(c, *root)) return true;
        json_decref(*root);
        *root = NULL;
        srv_error(c, 400, NULL, "model", "The model `%s` %s, so it has no %s. (parameter=model)", srv_model_name(c->model),
                  c->model->info.pooling ? "makes embeddings" : "generates text", c->route->path);
        return false;
    }
    snprintf(line, sizeof line, "{'type': 'model_attributes_type', 'loc': 'body', 'msg': 'Input should be a valid dictionary or object to extract fields from', 'input': '%s'}",
             srv_py_type(*root, shown, sizeof shown));
    json_decref(*root);
    *root = NULL;
    return refuse(c, line, "body");
}
