/* The worker in C, see README.md. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sluicegate.h>

enum { FIRST_LANE = 6, MOST_LANES = 16 };

static sluicegate_limiter *limiter;
static struct timespec pause_between;
static atomic_bool is_over;

struct lane {
    pthread_t thread;
    int number;
    const char *rule, *key;
    uint64_t timeout_us;
    uint64_t count;
};

static uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static const char *source_name(sluicegate_source source) {
    switch (source) {
    case SLUICEGATE_SOURCE_SERVER:
        return "server";
    case SLUICEGATE_SOURCE_FALLBACK:
        return "fallback";
    default:
        return "other";
    }
}

static void *check(void *argument) {
    struct lane *lane = argument;
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    options.timeout_us = lane->timeout_us;
    while (!is_over) {
        sluicegate_decision decision = {0};
        uint64_t before = clock_us(), after;
        sluicegate_status status =
            sluicegate_check(limiter, lane->rule, lane->key, strlen(lane->key), &options, &decision, NULL);
        after = clock_us();
        /* One call of printf writes a whole line, whatever other threads write. */
        if (status == SLUICEGATE_OK)
            printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s %" PRIu64 "\n", lane->number, lane->count, before, after,
                   decision.allowed, source_name(decision.source), decision.remaining);
        else
            printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 " - %s 0\n", lane->number, lane->count, before, after,
                   sluicegate_status_name(status));
        lane->count++;
        nanosleep(&pause_between, NULL);
    }
    return NULL;
}

static void wait_for_line(void) {
    char line[16];
    if (!fgets(line, sizeof line, stdin))
        line[0] = 0;
}

int main(int argc, char **argv) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_error error;
    struct lane lanes[MOST_LANES];
    int count = (argc - FIRST_LANE) / 3;
    if (argc <= FIRST_LANE || (argc - FIRST_LANE) % 3 != 0 || count > MOST_LANES) {
        fputs("usage: worker URL RULES_FILE PREFIX INSTANCES PAUSE_US (RULE KEY TIMEOUT_US)...\n", stderr);
        return 2;
    }
    options.prefix = argv[3];
    options.instances = (uint32_t)atoi(argv[4]);
    pause_between = (struct timespec){atol(argv[5]) / 1000000, atol(argv[5]) % 1000000 * 1000};
    if (sluicegate_limiter_new_from_file(argv[1], argv[2], &options, &limiter, &error) != SLUICEGATE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    wait_for_line();
    for (int at = 0; at < count; at++) {
        char **words = argv + FIRST_LANE + 3 * at;
        lanes[at] = (struct lane){.number = at, .rule = words[0], .key = words[1], .timeout_us = (uint64_t)atol(words[2])};
        pthread_create(&lanes[at].thread, NULL, check, &lanes[at]);
    }
    wait_for_line();
    is_over = true;
    for (int at = 0; at < count; at++)
        pthread_join(lanes[at].thread, NULL);
    fputs("done", stdout);
    for (int at = 0; at < count; at++)
        printf(" %" PRIu64, lanes[at].count);
    puts("");
    sluicegate_limiter_free(limiter);
    return 0;
}
