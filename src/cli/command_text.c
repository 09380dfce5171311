/* SPDX-License-Identifier: Apache-2.0
 * command_text.c: the table of commands with their longer texts and examples. */
#include <string.h>

#include "cli/cli.h"

static const char *const about[CLI_NUM_COMMANDS] = {
    [CLI_RUN] =
        "The text goes to standard output as it is made. With --json one object is printed at the end: model, "
        "prompt_token_ids, token_ids, text, finish_reason, logprobs, timings; with --n above 1 also choices. Default "
        "sampling is the model's own (generation_config.json). Ctrl-C ends the answer; the exit code is then 130.",
    [CLI_CHAT] =
        "Each line is a message; a line that ends in \\ goes on, and \"\"\" begins and ends a message of several "
        "lines. Ctrl-C stops an answer, Ctrl-D or /quit leaves. Commands: /help /system [TEXT] /reset /save FILE "
        "/stats /quit. Where the model states no sampling of its own, temperature 0.7 and top-p 0.95 are used.",
    [CLI_SERVE] =
        "Names, fields and errors are those of vLLM's server. It listens on this machine alone unless --host says "
        "otherwise. /health and /ready are open to everyone; with --api-key everything else asks for a key. SIGTERM "
        "and Ctrl-C end it: no new requests are taken, answers go on for --shutdown-timeout seconds.",
    [CLI_BATCH] =
        "Each request is {\"custom_id\", \"method\": \"POST\", \"url\", \"body\"}, where url is any path of the "
        "server that takes a body: /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /score …; "
        "each result is {\"id\", \"custom_id\", \"response\": {\"status_code\", \"request_id\", \"body\"}, "
        "\"error\"}, in the order in which requests finish. Status and body are those that the server gives, errors "
        "included; streams are refused. A result is written whole and synced to disk, so that after a crash the same "
        "command goes on where it was. A request may name any model unless --served-model-name says which names there "
        "are.",
    [CLI_INSPECT] =
        "Works on any GGUF file (split files: the first part), safetensors file or model folder, also of "
        "architectures that this program cannot run.",
    [CLI_EMBED] =
        "Prints {\"tokens\", \"embedding\"} for each input. A model that was made to generate text is converted: the "
        "vector is the hidden state of the last token, unless --pooler-config says otherwise. A line of --jsonl that "
        "cannot be done is answered by {\"error\"}, and the exit code is then 1.",
    [CLI_TOKENIZE] =
        "PATH is a model, a folder, or the file of a tokenizer: tokenizer.json, tekken.json, a SentencePiece model, "
        "tiktoken ranks. Only the vocabulary is loaded. Without text, standard input is read. With --jsonl each line "
        "{\"text\", \"add_special\"?, \"text_pair\"?, \"parse_special\"?} is answered by {\"ids\", \"tokens\", "
        "\"offsets\"}, where offsets are start, end, start, end … in code points, and each line {\"ids\", "
        "\"skip_special\"?} by {\"text\", \"pieces\"}: what streaming gives for each id, null for nothing yet, and "
        "what it holds back to the end as one more. A line that cannot be done is answered by {\"error\"}, and the "
        "exit code is then 1.",
    [CLI_TEMPLATE] =
        "With --jsonl a line that cannot be rendered is answered by {\"error\", \"line\", \"column\"}, and the exit "
        "code is then 1.",
    [CLI_CONSTRAIN] =
        "Without --jsonl the text is judged: accepted, incomplete, or not allowed, with the place and what could "
        "stand there; the exit code is 0 only for an accepted text. With --jsonl each line is {\"kind\": json_schema, "
        "json_object, regex, choice, grammar or structural_tag, \"spec\", \"text\"?, \"whitespace\"?} and is answered "
        "by {\"accepts\", \"prefix_ok\", \"taken_bytes\"}, with --tokenizer also \"allowed\" (how many tokens may "
        "come next), \"sha256\" (of the bits, token i at bit i%8 of byte i/8) and \"eos\"; or by {\"error\", "
        "\"status\", \"keyword\", \"path\"}.",
    [CLI_PARSE] =
        "Reads the output of a model, as its formats of tool calls and reasoning say, without the model. Names are "
        "vLLM's. With --chunk whole an output with a malformed or unfinished call is what vLLM's non-streaming answer "
        "is; other chunks all give one result.",
    [CLI_INFO] =
        "Without MODEL: version, CPU, instruction sets and the tier in use, threads, memory. With MODEL: also its "
        "sizes, and with --plan each op with its formats, rounding slots and kernels. VLLMC_CPU=portable|avx2|avx512|avx512bf16 "
        "narrows the instruction sets.",
    [CLI_BENCH] =
        "Random prompts, end of text ignored, prefix cache off. Decode is measured while all requests run. The limits "
        "are measured in the same run: bytes per second read by all threads from a buffer larger than the caches, and "
        "the arithmetic peak of the instructions that the model's matrix products use.",
    [CLI_LAB] =
        "Run 'vllmc lab --help' for its commands.",
};

static const char *const examples[CLI_NUM_COMMANDS] = {
    [CLI_RUN] = "vllmc run model.gguf -p 'The capital of France is' -n 16 --temperature 0\tgreedy continuation\n"
                "vllmc run model.gguf --chat -p 'Write a haiku about the sea.'\tthrough the chat template\n"
                "git diff | vllmc run ./model-folder --chat --system 'Review this change.' -\tprompt from standard input\n"
                "vllmc run model.gguf --prompt-ids 1,2,3 -n 8 --logprobs 2 --json\tids in, JSON out",
    [CLI_CHAT] = "vllmc chat model.gguf --system 'You are terse.'\twith a system message\n"
                 "vllmc model.gguf\tthe same, short",
    [CLI_SERVE] = "vllmc serve model.gguf\thttp://127.0.0.1:8000/v1\n"
                  "vllmc serve ./model-folder --host 0.0.0.0 --api-key KEY --served-model-name my-model\tfor other machines",
    [CLI_BATCH] = "vllmc batch model.gguf -i requests.jsonl -o results.jsonl\tstart, or go on after a crash",
    [CLI_EMBED] = "vllmc embed model.gguf -p 'The sky is blue.'\tone vector\n"
                  "vllmc embed ./embedder --jsonl < texts.jsonl > vectors.jsonl\t{\"text\"} or {\"ids\"} a line, in the same order",
    [CLI_INSPECT] = "vllmc inspect model.gguf\tsummary\n"
                    "vllmc inspect ./model-folder --tensors --json\teverything, for scripts",
    [CLI_TOKENIZE] = "vllmc tokenize model.gguf 'Hello, world'\tids, pieces, places in the text\n"
                     "vllmc tokenize model.gguf --decode 1,2,3\tback to text\n"
                     "vllmc tokenize tokenizer.json --jsonl < lines.jsonl\tmany texts",
    [CLI_TEMPLATE] = "vllmc template model.gguf\twhat the template reads, and a conversation\n"
                     "vllmc template model.gguf -f conversation.json\tthe prompt of this one\n"
                     "vllmc template chat.jinja --jsonl < requests.jsonl\tone result a line",
    [CLI_CONSTRAIN] = "vllmc constrain --schema schema.json '{\"name\": 1}'\twhere it goes wrong\n"
                      "vllmc constrain --regex '[0-9]{3}-[0-9]{2}' 123-4 --tokenizer model.gguf\twhat may come next\n"
                      "vllmc constrain --jsonl < cases.jsonl\tmany at once",
    [CLI_PARSE] = "vllmc parse --tool-parser hermes -f output.txt --tools tools.json\tan output for people\n"
                  "vllmc parse --tool-parser qwen3_xml --reasoning-parser qwen3 --chunk byte --jsonl --deltas < outputs.jsonl\tas a stream has it",
    [CLI_INFO] = "vllmc info\tthis machine\n"
                 "vllmc info model.gguf --plan\twhich kernel runs each op",
    [CLI_BENCH] = "vllmc bench model.gguf -p 512 -n 128 -c 1,8,32\ttable on a terminal\n"
                  "vllmc bench model.gguf --csv -r 3\tfor a spreadsheet",
    [CLI_HELP] = "vllmc help run\toptions of one command\n"
                 "vllmc help --bash > /etc/bash_completion.d/vllmc\tcompletion",
};

#define CLI_COMMAND(id, name, usage, text) [CLI_##id] = { #name, usage, text, cli_##name },
static const struct cli_command rows[CLI_NUM_COMMANDS] = {
#include "cli/commands.def"
};
#undef CLI_COMMAND

const struct cli_command *cli_command(enum cli_command_id id) { return &rows[id]; }
const char *cli_command_about(enum cli_command_id id) { return about[id]; }
const char *cli_command_examples(enum cli_command_id id) { return examples[id]; }

enum cli_command_id cli_command_find(const char *name) {
    int i = 0;
    while (i < CLI_NUM_COMMANDS && strcmp(rows[i].name, name) != 0) i++;
    return (enum cli_command_id)i;
}
