/* SPDX-License-Identifier: Apache-2.0
 * Any JSON as the messages and tools of a chat request, and as a whole request whose members they are. */
#include <jansson.h>

#include "fuzz/fuzz.h"
#include "io/json.h"
#include "text/chat_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    json_t *root = NULL, *out = NULL;
    vc_err err = VC_ERR_INIT;
    if (n > 65536 || vc_json_parse(&root, (const char *)data, n, "input", &err)) return 0;
    const json_t *messages = json_object_get(root, "messages"), *tools = json_object_get(root, "tools");
    struct vc_chat_style style = { n % 2 ? VC_CONTENT_STRING : VC_CONTENT_PARTS, n % 3 != 0, "model" };
    struct vc_chat_fault fault;
    if (vc_chat_messages(&out, messages ? messages : root, &style, &fault, &err) == VC_OK) json_decref(out);
    if (vc_chat_tools(&out, tools ? tools : root, &fault, &err) == VC_OK) json_decref(out);
    if (vc_chat_kwargs(&out, root, json_object_get(root, "chat_template_kwargs"), "high", &fault, &err) == VC_OK)
        json_decref(out);
    json_decref(root);
    return 0;
}
