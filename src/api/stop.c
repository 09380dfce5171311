/* SPDX-License-Identifier: Apache-2.0
 * stop.c: stop strings, as vLLM's detokenizer finds them: after each token, the first of the list that occurs in text
 * which the token has touched. */
#include <string.h>

#include "api/api_int.h"

size_t api_find_stop(const struct vc_sampling *s, const char *text, size_t n, size_t fresh, const char **which) {
    for (uint32_t i = 0; i < s->num_stop; i++) {
        size_t len = s->stop_len[i];
        if (len == 0 || len > n) continue;
        size_t from = n > fresh + len - 1 ? n - fresh - (len - 1) : 0;
        for (size_t at = from; at + len <= n; at++) {
            if (memcmp(text + at, s->stop[i], len) != 0) continue;
            *which = s->stop[i];
            return s->include_stop_str_in_output ? at + len : at;
        }
    }
    return SIZE_MAX;
}
