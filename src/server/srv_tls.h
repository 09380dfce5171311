/* SPDX-License-Identifier: Apache-2.0
 * srv_tls.h: key, certificate and the certificates of clients, replaceable while connections run. */
#ifndef VC_SERVER_SRV_TLS_H
#define VC_SERVER_SRV_TLS_H

#include <stdbool.h>

#include "base/str.h"
#include "server/server.h"

struct MHD_Connection;
struct srv_tls;

vc_status srv_tls_open(const struct vc_server_params *p, struct srv_tls **out, vc_err *err);
/* Reads the files again; connections that begin later use what they hold. On error what was there stays. */
vc_status srv_tls_reload(struct srv_tls *t, const struct vc_server_params *p, vc_err *err);
/* True once after one of the files became another one. */
bool srv_tls_changed(struct srv_tls *t, const struct vc_server_params *p);
void srv_tls_close(struct srv_tls *t);     /* after all connections have ended */

/* A connection begins: it gets the credentials of this moment, in *held until it ends. False: it cannot be served, and
 * is to be shut down. Before every read `cut` is asked with arg, on the thread that reads; when it says true, what it
 * left in the buffer goes to the client as the last of the connection, and the read finds its end. */
typedef bool srv_tls_cut(void *arg, struct vc_buf *last);
bool srv_tls_begin(struct srv_tls *t, struct MHD_Connection *conn, srv_tls_cut *cut, void *arg, void **held);
void srv_tls_end(struct srv_tls *t, void **held);
/* A PEM file, at most 1 MiB. */
vc_status srv_tls_read(const char *path, struct vc_buf *b, vc_err *err);

#endif
