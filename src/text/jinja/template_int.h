/* SPDX-License-Identifier: Apache-2.0
 * template_int.h: what a compiled template is, for the files behind template.h. */
#ifndef VC_TEXT_JINJA_TEMPLATE_INT_H
#define VC_TEXT_JINJA_TEMPLATE_INT_H

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"
#include "text/template.h"

struct vc_template { struct vc_jprog prog; };

#endif
