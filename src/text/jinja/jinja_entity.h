/* SPDX-License-Identifier: Apache-2.0
 * jinja_entity.h: HTML character references. */
#ifndef VC_TEXT_JINJA_ENTITY_H
#define VC_TEXT_JINJA_ENTITY_H

#include "text/jinja/jinja_run.h"

vc_jv vc_j_unescape_html(vc_jx *x, const struct vc_jstr *s);
vc_jv vc_j_striptags(vc_jx *x, const struct vc_jstr *s);    /* Markup.striptags() */

#endif
