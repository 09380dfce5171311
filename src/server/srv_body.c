/* SPDX-License-Identifier: Apache-2.0
 * srv_body.c: bodies as JSON objects. vLLM answers a wrong body with 400 and a pydantic line, never with 422. */
#include <string.h>

#include "io/json.h"
#include "server/srv_gen.h"

static bool refuse_json(struct srv_call *c, const char *why) {
    char shown[400];
    srv_error(c, 400, "Bad Request", "body",
              "1 validation error:\n  {'type': 'json_invalid', 'loc': 'body', 'msg': 'JSON decode error', "
              "'input': '{}', 'ctx': {'error': '%s'}}",
              vc_printable(shown, sizeof shown, why, strlen(why)));
    return false;
}

/* The model that is named, or the first that has the route. An unknown name is refused by srv_model_known, after the
 * fields. False: the named one does not have the route. */
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
    if (c->body.n == 0) return srv_refuse_value(c, "body", "missing", "Field required", "None");
    if (!c->json_type) {
        srv_error(c, 400, "Bad Request", NULL,
                  "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed");
        return false;
    }
    vc_status s = vc_json_parse(root, c->body.p, c->body.n, "body", &err);
    vc_buf_free(&c->body);
    if (s == VC_E_NOMEM) srv_error(c, 503, NULL, NULL, "%s", err.text);
    else if (s != VC_OK) return refuse_json(c, err.text);
    return s == VC_OK;
}

bool srv_body(struct srv_call *c, json_t **root) {
    char shown[64];
    *root = c->json;
    c->json = NULL;
    if (!*root && !parse(c, root)) return false;
    bool is_object = json_is_object(*root);
    if (is_object && choose_model(c, *root)) return true;
    if (is_object)
        srv_error(c, 400, NULL, "model", "The model `%s` %s, so it has no %s. (parameter=model)",
                  srv_model_name(c->model), c->model->info.pooling ? "makes embeddings" : "generates text",
                  c->route->path);
    else
        (void)srv_refuse_value(c, "body", "model_attributes_type",
                               "Input should be a valid dictionary or object to extract fields from",
                               srv_py_type(*root, shown, sizeof shown));
    json_decref(*root);
    *root = NULL;
    return false;
}
