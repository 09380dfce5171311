/* SPDX-License-Identifier: Apache-2.0
 * srv_reload.c: SIGHUP: keys, certificates and options that may change while the server runs are read again. What is
 * wrong leaves the old state and one error in the log; requests that run notice nothing. */
#include <stdlib.h>
#include <string.h>

#include "server/srv_int.h"
#include "server/srv_tls.h"

static bool copy_list(const char *const *from, size_t n, char ***out) {
    char **v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; v && i < n; i++) {
        v[i] = strdup(from[i]);
        if (v[i]) continue;
        srv_origins_free(v);
        return false;
    }
    *out = v;
    return v != NULL;
}

void srv_origins_free(char **v) {
    for (size_t i = 0; v && v[i]; i++) free(v[i]);
    free(v);
}

vc_status srv_origins_set(struct srv *s, const char *const *origins, size_t n, vc_err *err) {
    char **v;
    if (!copy_list(origins, n, &v)) return vc_fail(err, VC_E_NOMEM, "out of memory");
    pthread_mutex_lock(&s->lock);
    char **old = s->origins;
    s->origins = v;
    pthread_mutex_unlock(&s->lock);
    srv_origins_free(old);
    return VC_OK;
}

static vc_status options(struct srv *s, vc_err *err) {
    struct vc_server_reload r = { .allowed_origins = s->p.allowed_origins,
                                  .num_allowed_origins = s->p.num_allowed_origins,
                                  .log_level = vc_log_level() };
    if (!s->p.reload) return VC_OK;
    VC_TRY(s->p.reload(s->p.reload_arg, &r, err));
    VC_TRY(srv_origins_set(s, r.allowed_origins, r.num_allowed_origins, err));
    vc_log_set_level(r.log_level);
    return VC_OK;
}

static bool done(const char *what, vc_status st, const vc_err *err) {
    if (st != VC_OK) vc_log_line(VC_LOG_ERROR, "reload: the %s stay as they were: %s", what, err->text);
    return st == VC_OK;
}

void srv_reload(struct srv *s) {
    vc_err err = VC_ERR_INIT;
    bool ok = done("options", options(s, &err), &err);
    if (s->keys) ok &= done("keys", srv_keys_reload(s->keys, &s->p, &err), &err);
    if (s->tls) ok &= done("certificates", srv_tls_reload(s->tls, &s->p, &err), &err);
    if (ok) vc_log_line(VC_LOG_INFO, "reloaded: options%s%s", s->keys ? ", keys" : "", s->tls ? ", certificates" : "");
}

void srv_refresh_tls(struct srv *s) {
    vc_err err = VC_ERR_INIT;
    if (s->tls && srv_tls_changed(s->tls, &s->p) && done("certificates", srv_tls_reload(s->tls, &s->p, &err), &err))
        vc_log_line(VC_LOG_INFO, "reloaded: certificates");
}
