/* SPDX-License-Identifier: Apache-2.0
 * interrupt.c: what Ctrl-C does. */
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/term.h"

static volatile sig_atomic_t g_interrupted;

static void note(int sig) {
    (void)sig;
    if (g_interrupted) _exit(CLI_INTERRUPTED);
    g_interrupted = 1;
}

static void leave(int sig) {
    (void)sig;
    _exit(CLI_INTERRUPTED);
}

static void install(void (*fn)(int)) {
    struct sigaction a = { .sa_handler = fn };    /* no SA_RESTART: a waiting read returns */
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
}

void cli_catch_interrupt(void) {
    g_interrupted = 0;
    install(note);
}
void cli_default_interrupt(void) { install(leave); }
bool cli_interrupted(void) { return g_interrupted != 0; }
void cli_forget_interrupt(void) { g_interrupted = 0; }
