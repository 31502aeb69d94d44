/* The follower in C. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sluicegate.h>

static void must(sluicegate_status status, const sluicegate_error *error) {
    if (status == SLUICEGATE_OK)
        return;
    fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error->message);
    exit(1);
}

/* Between two rounds of calls. */
enum { PAUSE_MS = 10 };

/* Nothing is ever written to it, so there is something to read when it has ended. */
static int input_ended_in(int ms) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return poll(&input, 1, ms) > 0;
}

int main(int argc, char **argv) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_limiter *limiter = NULL;
    sluicegate_decision check, peek;
    sluicegate_error error;
    uint64_t admitted = 0, limit = 0;
    if (argc != 4) {
        fputs("usage: follower URL SOURCE PREFIX\n", stderr);
        return 2;
    }
    options.prefix = argv[3];
    /* Longer than anything takes here. */
    options.connect_timeout_us = options.response_timeout_us = 30000000;
    must(sluicegate_limiter_new(argv[1], argv[2], &options, &limiter, &error), &error);
    while (!input_ended_in(PAUSE_MS)) {
        must(sluicegate_check(limiter, "counted", "k", 1, NULL, &check, &error), &error);
        must(sluicegate_peek(limiter, "changing", "k", 1, NULL, &peek, &error), &error);
        admitted += check.allowed;
        if (peek.limit != limit) {
            limit = peek.limit;
            printf("limit %" PRIu64 "\n", limit);
            fflush(stdout);
        }
    }
    printf("admitted %" PRIu64 "\n", admitted);
    sluicegate_limiter_free(limiter);
    return 0;
}
