/* SPDX-License-Identifier: Apache-2.0
 * nearest.c: the known name that a mistyped one was meant to be. */
#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 63 };

/* Edits (insert, delete, change, swap of neighbours) that turn a into b: optimal string alignment distance. */
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t d = before[j - 1] + (a[i - 1] != b[j - 1]);
            d = VC_MIN(d, before[j] + 1);
            d = VC_MIN(d, now[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = VC_MIN(d, older[j - 2] + 1);
            now[j] = d;
        }
    }
    return row[n % 3][m];
}

const char *cli_nearest(const char *word, const char *(*fn)(void *ctx, size_t i), void *ctx) {
    const char *best = NULL, *name;
    size_t least = SIZE_MAX, len = strlen(word);
    for (size_t i = 0; (name = fn(ctx, i)); i++) {
        size_t d = distance(word, name);
        if (len >= 3 && !strncmp(name, word, len)) d = VC_MIN(d, 1);          /* the beginning of a name */
        if (d < least) {
            least = d;
            best = name;
        }
    }
    return least <= 1 + len / 4 ? best : NULL;
}
