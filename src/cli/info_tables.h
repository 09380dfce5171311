/* SPDX-License-Identifier: Apache-2.0
 * info_tables.h: the tables of ops, cores, kernels, profiles and slots, and the plan of a model, for vllmc info. */
#ifndef VC_CLI_INFO_TABLES_H
#define VC_CLI_INFO_TABLES_H

#include "base/cpu.h"
#include "base/str.h"
#include "io/json_out.h"

void cli_ops_text(struct vc_buf *b, enum vc_tier tier);
void cli_ops_json(struct vc_json_out *w, enum vc_tier tier);
void cli_slots_text(struct vc_buf *b);
void cli_slots_json(struct vc_json_out *w);
/* plan: the text of vc_prog_print, one line per op with the kernels in [brackets]. The summary counts kernels. */
void cli_plan_summary(struct vc_buf *b, const struct vc_buf *plan);
void cli_plan_json(struct vc_json_out *w, const struct vc_buf *plan);

#endif
