/* SPDX-License-Identifier: Apache-2.0
 * options_json.c: --NAME.KEY.KEY VALUE of the command line, as vLLM's: one member of an option that is a JSON object.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "io/json.h"

enum { MOST_KEYS = 16 };

/* The value as JSON, or as the text that it is. A new reference. */
static json_t *value_of(const char *text) {
    json_t *v = NULL;
    if (vc_json_parse(&v, text, strlen(text), "value", NULL) == VC_OK) return v;
    return json_string(text);
}

/* Puts v, whose reference is taken, at key.key of root; false: a key is empty, too many, or names no object. */
static bool put(json_t *root, const char *path, size_t n, json_t *v) {
    char key[64];
    for (size_t depth = 0; depth < MOST_KEYS; depth++) {
        const char *dot = memchr(path, '.', n);
        size_t len = dot ? (size_t)(dot - path) : n;
        if (!len || len >= sizeof key) break;
        memcpy(key, path, len);
        key[len] = '\0';
        if (!dot) return json_object_set_new(root, key, v) == 0;
        json_t *next = json_object_get(root, key);
        if (!next) {
            next = json_object();
            if (json_object_set_new(root, key, next) != 0) break;
        }
        if (!json_is_object(next)) break;
        root = next;
        path += len + 1;
        n -= len + 1;
    }
    json_decref(v);
    return false;
}

int cli_option_member(struct cli_opts *o, size_t i, const char *path, size_t n, const char *text, const char *spelled) {
    const char *before = o->given[i] && o->source[i] == (unsigned char)o->reading ? o->text[i] : "{}";
    json_t *root = NULL, *v = value_of(text);
    if (!v) return cli_usage(o, "%s: '%s', expected UTF-8", spelled, text);
    if (vc_json_parse(&root, before, strlen(before), spelled, NULL) != VC_OK) {
        json_decref(v);
        return cli_fail("out of memory");
    }
    if (!put(root, path, n, v)) {
        json_decref(root);
        return cli_usage(o, "%s: the name of a member is expected after the point", spelled);
    }
    char *dumped = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    const char *kept = dumped ? vc_arena_strdup(&o->arena, dumped) : NULL;
    free(dumped);
    return kept ? cli_option_set(o, i, kept, spelled) : cli_fail("out of memory");
}
