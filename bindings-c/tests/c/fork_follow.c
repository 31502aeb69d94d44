/* A forked child follows the rules by itself: fork_follow URL SOURCE CHANGE; see follow.c */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "expect.h"

enum { CHILDREN = 3, BEFORE = 100000, AFTER = 200000, TIMEOUT_MS = 20000, LOOK_EVERY_MS = 10 };

static sluicegate_limiter *limiter;

static bool limit_is(uint64_t limit) {
    sluicegate_decision decision;
    sluicegate_status status = sluicegate_check(limiter, "followed", "key", 3, NULL, &decision, NULL);
    EXPECT(status == SLUICEGATE_OK);
    return status == SLUICEGATE_OK && decision.limit == limit;
}

static bool limit_becomes(uint64_t limit) {
    for (int ms = 0; ms < TIMEOUT_MS; ms += LOOK_EVERY_MS) {
        if (limit_is(limit))
            return true;
        usleep(LOOK_EVERY_MS * 1000);
    }
    return false;
}

/* It has the rules of its parent at once. It reports by its exit status. */
static pid_t start_child(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        EXPECT(limit_is(BEFORE));
        EXPECT(limit_becomes(AFTER));
        sluicegate_limiter_free(limiter);
        fflush(stdout);
        _exit(wrong != 0);
    }
    return child;
}

static const char *url, *source, *change;

static void children_follow_too(void) {
    pid_t children[CHILDREN];
    int status = 0;
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.prefix = "c/fork-follow";
    options.connect_timeout_us = options.response_timeout_us = 30000000;
    EXPECT_OK(sluicegate_limiter_new(url, source, &options, &limiter, error));
    EXPECT(limit_is(BEFORE));
    for (int i = 0; i < CHILDREN; i++)
        children[i] = start_child();
    sleep(1); /* Each has decided by the rules of its parent. */
    EXPECT(system(change) == 0);
    EXPECT(limit_becomes(AFTER));
    for (int i = 0; i < CHILDREN; i++)
        EXPECT(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sluicegate_limiter_free(limiter);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    url = argv[1];
    source = argv[2];
    change = argv[3];
    alarm(120); /* A hang is a failure. */
    RUN(children_follow_too);
    return summary();
}
