/* SPDX-License-Identifier: Apache-2.0
 * srv_metrics.h: counters of the server. Any thread may call; one lock guards them all. */
#ifndef VC_SERVER_SRV_METRICS_H
#define VC_SERVER_SRV_METRICS_H

#include "server/srv_gen.h"

/* Of one model. */
struct srv_metrics *srv_metrics_new(void);
void srv_metrics_del(struct srv_metrics *m);
void srv_metrics_rejected(struct srv_metrics *m);                            /* the queue was full */
/* An output, before it is collected. */
void srv_metrics_output(struct srv_metrics *m, const struct srv_gen *g, struct srv_part *p, struct srv_answer *a,
                        const vc_output *o);

/* Of HTTP. */
struct srv_http_metrics *srv_http_metrics_new(void);
void srv_http_metrics_del(struct srv_http_metrics *h);
void srv_metrics_http(struct srv_http_metrics *h, const struct srv_call *c);  /* a call has ended */

/* bandwidth.c. share: bytes of weights that the steps of a model since the call before read per second of them, over
 * the bandwidth; both 0 while it is not known. The first call has it measured. _new after the models are known, _del
 * before they close. */
struct srv_bandwidth *srv_bandwidth_new(struct srv *s);
void srv_bandwidth_del(struct srv_bandwidth *b);
void srv_bandwidth_share(struct srv_bandwidth *b, uint32_t model, const vc_stats *t, double *bytes_s, double *share);

#endif
