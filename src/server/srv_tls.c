/* SPDX-License-Identifier: Apache-2.0
 * srv_tls.c: credentials of HTTPS. libmicrohttpd keeps those it was started with for ever; each connection is therefore
 * given the newest ones before its handshake begins, and holds them until it ends. Clients' certificates are asked
 * for and checked within the handshake: a connection without a good one comes to nothing.
 * A session is used by the HTTP thread alone. What a connection that is cut has yet to say is therefore written when
 * that thread reads: inside the function with which GnuTLS reads from the socket. A send is safe there, for GnuTLS lets
 * one thread send while another one is within a read ("Thread safety" in its manual), so it holds nothing across that
 * function. Nobody else sends: libmicrohttpd's sends are made by the thread that is here. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "base/compat.h"
#include "base/log.h"
#include "server/srv_tls.h"

enum { FILE_MOST = 1 << 20, NUM_FILES = 3 };
struct creds {
    atomic_uint refs;
    gnutls_certificate_credentials_t x509;
    gnutls_certificate_request_t ask;
};
struct conn {
    gnutls_session_t session;              /* libmicrohttpd's */
    struct creds *creds;                   /* one reference */
    int fd;
    srv_tls_cut *cut;
    void *arg;
};
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec at;
};
struct srv_tls {
    pthread_mutex_t lock;
    struct creds *now;             /* one reference */
    struct stamp stamp[NUM_FILES]; /* of the files that were read; main thread */
};

vc_status srv_tls_read(const char *path, struct vc_buf *b, vc_err *err) {
    FILE *f = fopen(path, "rb");
    if (!f) return vc_fail(err, VC_E_IO, "%s: %s", path, strerror(errno));
    while (b->n <= FILE_MOST && vc_buf_reserve(b, 4096)) {
        size_t n = fread(b->p + b->n, 1, 4096, f);
        if (!n) break;
        b->n += n;
        b->p[b->n] = '\0';
    }
    fclose(f);
    if (b->failed) return vc_fail(err, VC_E_NOMEM, "out of memory");
    if (b->n > FILE_MOST) return vc_fail(err, VC_E_FORMAT, "%s: is larger than 1 MiB", path);
    return b->n ? VC_OK : vc_fail(err, VC_E_FORMAT, "%s: is empty", path);
}

static void drop(struct creds *c) {
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1) return;
    gnutls_certificate_free_credentials(c->x509);
    free(c);
}

static void wipe(struct vc_buf *b) {
    if (b->p) gnutls_memset(b->p, 0, b->cap);
    vc_buf_free(b);
}

static const char *key_path(const struct vc_server_params *p) {
    return p->ssl_keyfile ? p->ssl_keyfile : p->ssl_certfile;
}

static vc_status own_certificate(struct creds *c, const struct vc_server_params *p, vc_err *err) {
    struct vc_buf cert = { 0 }, key = { 0 };
    vc_status s = srv_tls_read(p->ssl_certfile, &cert, err);
    if (s == VC_OK) s = srv_tls_read(key_path(p), &key, err);
    if (s == VC_OK) {
        const gnutls_datum_t cert_pem = { (unsigned char *)cert.p, (unsigned)cert.n },
                             key_pem = { (unsigned char *)key.p, (unsigned)key.n };
        int rc = gnutls_certificate_set_x509_key_mem2(c->x509, &cert_pem, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0);
        if (rc < 0)
            s = vc_fail(err, VC_E_FORMAT, "%s and %s: no certificate and key in PEM that belong together: %s",
                        p->ssl_certfile, key_path(p), gnutls_strerror(rc));
    }
    wipe(&key);
    vc_buf_free(&cert);
    return s;
}

static vc_status clients_authority(struct creds *c, const struct vc_server_params *p, vc_err *err) {
    struct vc_buf ca = { 0 };
    vc_status s = srv_tls_read(p->ssl_ca_certs, &ca, err);
    if (s == VC_OK) {
        const gnutls_datum_t pem = { (unsigned char *)ca.p, (unsigned)ca.n };
        int rc = gnutls_certificate_set_x509_trust_mem(c->x509, &pem, GNUTLS_X509_FMT_PEM);
        if (rc <= 0)
            s = vc_fail(err, VC_E_FORMAT, "%s: no certificates in PEM: %s", p->ssl_ca_certs,
                        rc < 0 ? gnutls_strerror(rc) : "none found");
    }
    vc_buf_free(&ca);
    return s;
}

static vc_status read_all(const struct vc_server_params *p, struct creds **out, vc_err *err) {
    static const gnutls_certificate_request_t asks[] = { GNUTLS_CERT_IGNORE, GNUTLS_CERT_REQUEST, GNUTLS_CERT_REQUIRE };
    struct creds *c = calloc(1, sizeof *c);
    if (!c) return vc_fail(err, VC_E_NOMEM, "out of memory");
    atomic_init(&c->refs, 1);
    c->ask = asks[VC_MIN(p->ssl_cert_reqs, 2u)];
    vc_status s =
        gnutls_certificate_allocate_credentials(&c->x509) == 0 ? VC_OK : vc_fail(err, VC_E_NOMEM, "out of memory");
    if (s != VC_OK) {
        free(c);
        return s;
    }
    s = own_certificate(c, p, err);
    if (s == VC_OK && p->ssl_ca_certs) s = clients_authority(c, p, err);
    if (s == VC_OK)
        *out = c;
    else
        drop(c);
    return s;
}

/* ---- the files ---- */

static void stamps(const struct vc_server_params *p, struct stamp v[NUM_FILES]) {
    const char *paths[NUM_FILES] = { p->ssl_certfile, p->ssl_keyfile, p->ssl_ca_certs };
    for (int i = 0; i < NUM_FILES; i++) {
        struct stat st;
        memset(&v[i], 0, sizeof v[i]);
        if (!paths[i] || stat(paths[i], &st) != 0) continue;
        v[i].dev = st.st_dev;
        v[i].ino = st.st_ino;
        v[i].size = st.st_size;
        v[i].at = st.st_mtim;
    }
}

bool srv_tls_changed(struct srv_tls *t, const struct vc_server_params *p) {
    struct stamp v[NUM_FILES];
    stamps(p, v);
    if (!memcmp(v, t->stamp, sizeof v)) return false;
    memcpy(t->stamp, v, sizeof v);
    return true;
}

vc_status srv_tls_open(const struct vc_server_params *p, struct srv_tls **out, vc_err *err) {
    *out = NULL;
    if (!p->ssl_certfile) return VC_OK;
    struct srv_tls *t = calloc(1, sizeof *t);
    if (!t) return vc_fail(err, VC_E_NOMEM, "out of memory");
    pthread_mutex_init(&t->lock, NULL);
    vc_status s = srv_tls_reload(t, p, err);
    if (s == VC_OK)
        *out = t;
    else
        srv_tls_close(t);
    return s;
}

vc_status srv_tls_reload(struct srv_tls *t, const struct vc_server_params *p, vc_err *err) {
    struct creds *c = NULL;
    stamps(p, t->stamp);
    VC_TRY(read_all(p, &c, err));
    pthread_mutex_lock(&t->lock);
    struct creds *old = t->now;
    t->now = c;
    pthread_mutex_unlock(&t->lock);
    drop(old);
    return VC_OK;
}

void srv_tls_close(struct srv_tls *t) {
    if (!t) return;
    drop(t->now);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- connections ---- */

/* Within the handshake. A client that need not show a certificate may have none. */
static int check_client(gnutls_session_t session) {
    unsigned n = 0, status = 0;
    char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st want = { GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)purpose, 0 };
    if (!gnutls_certificate_get_peers(session, &n)) return 0;
    if (gnutls_certificate_verify_peers(session, &want, 1, &status) == 0 && status == 0) return 0;
    vc_log_line(VC_LOG_DEBUG, "TLS: the certificate of a client is not good: status 0x%x", status);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

/* A socket as GnuTLS's own functions take it. */
static gnutls_transport_ptr_t of_fd(int fd) { return (gnutls_transport_ptr_t)(intptr_t)fd; }

/* The last of a connection. One record into the socket, which never blocks: without room it is not said. */
static void say(gnutls_session_t session, const struct vc_buf *b) {
    if (b->n && !b->failed) (void)gnutls_record_send(session, b->p, b->n);
    (void)gnutls_alert_send(session, GNUTLS_AL_WARNING, GNUTLS_A_CLOSE_NOTIFY);
}

/* GnuTLS reads. Cut: 0, the end. */
static ssize_t pull(gnutls_transport_ptr_t ptr, void *dst, size_t n) {
    const struct conn *c = ptr;
    struct vc_buf last = { 0 };
    if (!c->cut(c->arg, &last)) return recv(c->fd, dst, n, 0);
    if (last.n) say(c->session, &last);
    vc_buf_free(&last);
    return 0;
}

static int pull_wait(gnutls_transport_ptr_t ptr, unsigned ms) {
    const struct conn *c = ptr;
    return gnutls_system_recv_timeout(of_fd(c->fd), ms);
}

bool srv_tls_begin(struct srv_tls *t, struct MHD_Connection *conn, srv_tls_cut *cut, void *arg, void **held) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (!info || !info->tls_session) return false;
    gnutls_session_t session = info->tls_session;
    info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *c = info ? calloc(1, sizeof *c) : NULL;
    if (!c) return false;
    *c = (struct conn){ .session = session, .fd = (int)info->connect_fd, .cut = cut, .arg = arg };
    pthread_mutex_lock(&t->lock);
    c->creds = t->now;
    atomic_fetch_add(&c->creds->refs, 1);
    pthread_mutex_unlock(&t->lock);
    *held = c;
    (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, c->creds->x509);
    gnutls_certificate_server_set_request(session, c->creds->ask);
    if (c->creds->ask != GNUTLS_CERT_IGNORE) gnutls_session_set_verify_function(session, check_client);
    gnutls_transport_set_ptr2(session, c, of_fd(c->fd));
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_wait);
    return true;
}

void srv_tls_end(struct srv_tls *t, void **held) {
    struct conn *c = *held;
    (void)t;
    if (!c) return;
    drop(c->creds);
    free(c);
    *held = NULL;
}
