/* SPDX-License-Identifier: Apache-2.0
 * Block hashes against vLLM's: goldens prefix-hash/hashes.json. */
#include "test.h"

#include <jansson.h>

#include "kv/hash.h"

static void hex(const struct vc_block_hash *h, uint32_t n, char *out) {
    for (uint32_t i = 0; i < n; i++) sprintf(out + 2 * i, "%02x", h->b[i]);
}

static const char *str(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static unsigned check_case(const json_t *c) {
    char got[65];
    enum vc_hash_algo algo = strcmp(str(c, "algorithm"), "xxhash_cbor") ? VC_HASH_SHA256_CBOR : VC_HASH_XXHASH_CBOR;
    struct vc_hasher *h;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_hasher_new(&h, algo, str(c, "pythonhashseed"), &err), VC_OK);
    hex(vc_hasher_none(h), vc_hasher_bytes(h), got);
    assert_string_equal(got, str(c, "none_hash"));

    const json_t *lora = json_object_get(c, "lora");
    struct vc_hash_extra extra = { .cache_salt = str(c, "cache_salt") };
    if (json_is_object(lora)) {
        extra.lora_name = str(lora, "name");
        extra.lora_path = str(lora, "path");
    }
    const json_t *toks = json_object_get(c, "tokens"), *blocks = json_object_get(c, "blocks");
    uint32_t bs = (uint32_t)json_integer_value(json_object_get(c, "block_size")), n = (uint32_t)json_array_size(blocks);
    assert_int_equal(n, json_array_size(toks) / bs);
    int32_t *ids = malloc((json_array_size(toks) + 1) * sizeof *ids);
    for (size_t i = 0; i < json_array_size(toks); i++) ids[i] = (int32_t)json_integer_value(json_array_get(toks, i));
    struct vc_block_hash cur;
    for (uint32_t i = 0; i < n; i++) {
        vc_hash_block(h, i ? &cur : NULL, ids + (size_t)i * bs, bs, &extra, &cur);
        hex(&cur, vc_hasher_bytes(h), got);
        assert_string_equal(got, str(json_array_get(blocks, i), "hash"));
    }
    free(ids);
    vc_hasher_del(h);
    return n;
}

static void goldens(void **state) {
    (void)state;
    json_error_t e;
    const char *path = vc_golden("prefix-hash/hashes.json");
    assert_non_null(path);
    json_t *root = json_load_file(path, 0, &e);
    assert_non_null(root);
    const json_t *cases = json_object_get(root, "cases");
    unsigned blocks = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) blocks += check_case(json_array_get(cases, i));
    printf("prefix hashes: %zu cases, %u blocks equal\n", json_array_size(cases), blocks);
    assert_int_equal(json_array_size(cases), 27);
    json_decref(root);
}

/* A salt longer than any buffer, and one that differs only at its end. */
static void long_salt(void **state) {
    (void)state;
    struct vc_hasher *h;
    assert_int_equal(vc_hasher_new(&h, VC_HASH_SHA256_CBOR, "0", NULL), VC_OK);
    char *salt = malloc(100001);
    memset(salt, 'x', 100000);
    salt[100000] = 0;
    int32_t ids[4] = { 1, 2, 3, 4 };
    struct vc_hash_extra extra = { .cache_salt = salt };
    struct vc_block_hash a, b, c;
    vc_hash_block(h, NULL, ids, 4, &extra, &a);
    vc_hash_block(h, NULL, ids, 4, &extra, &b);
    salt[99999] = 'y';
    vc_hash_block(h, NULL, ids, 4, &extra, &c);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    free(salt);
    vc_hasher_del(h);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(goldens), cmocka_unit_test(long_salt) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
