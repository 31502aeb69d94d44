/* The worker in C. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sluicegate.h>

enum { FIRST_TARGET = 8, MOST_LANES = 64 };

static sluicegate_limiter *limiter;
static char **targets;
static int target_count, rounds, heavy;
static long pause_us;

/* One check and its answer. */
struct report {
    int target;
    uint64_t cost, before, after;
    sluicegate_decision decision;
};

struct lane {
    pthread_t thread;
    int number;
    struct report *reports;
};

static void must(sluicegate_status status, const sluicegate_error *error) {
    if (status == SLUICEGATE_OK)
        return;
    fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error->message);
    exit(1);
}

static uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

typedef sluicegate_status operation(const sluicegate_limiter *, const char *, const void *, size_t,
                                    const sluicegate_check_options *, sluicegate_decision *,
                                    sluicegate_error *);

static struct report ask(operation *call, int target, uint64_t cost) {
    const char *rule = targets[2 * target], *key = targets[2 * target + 1];
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    struct report report = {.target = target, .cost = cost};
    sluicegate_error error;
    options.cost = cost;
    report.before = clock_us();
    must(call(limiter, rule, key, strlen(key), &options, &report.decision, &error), &error);
    report.after = clock_us();
    return report;
}

static int64_t time_or_never(uint64_t us) {
    return us == SLUICEGATE_NEVER ? -1 : (int64_t)us;
}

static void tell(const struct report *report) {
    const sluicegate_decision *decision = &report->decision;
    printf("%d %" PRIu64 " %d %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", report->target,
           report->cost, decision->allowed, decision->remaining, time_or_never(decision->retry_after_us),
           time_or_never(decision->reset_after_us), report->before, report->after);
}

static void *hammer(void *argument) {
    struct lane *lane = argument;
    const struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
    struct report *next = lane->reports;
    for (int turn = 0; turn < rounds; turn++) {
        for (int at = 0; at < target_count; at++)
            *next++ = ask(sluicegate_check, (lane->number + at) % target_count, turn < heavy ? 2 : 1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void hammer_in_lanes(int count) {
    struct lane lanes[MOST_LANES];
    size_t reports = (size_t)(rounds * target_count);
    for (int i = 0; i < count; i++) {
        lanes[i] = (struct lane){.number = i, .reports = calloc(reports, sizeof(struct report))};
        pthread_create(&lanes[i].thread, NULL, hammer, &lanes[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(lanes[i].thread, NULL);
        for (size_t report = 0; report < reports; report++)
            tell(&lanes[i].reports[report]);
        free(lanes[i].reports);
    }
}

/* Says where it stands, and waits until it is to go on. */
static void meet(const char *word) {
    char line[16];
    puts(word);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(1);
}

int main(int argc, char **argv) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_error error;
    if (argc < FIRST_TARGET || atoi(argv[4]) > MOST_LANES) {
        fputs("usage: worker URL RULES_FILE PREFIX LANES ROUNDS HEAVY PAUSE_US (RULE KEY)...\n", stderr);
        return 2;
    }
    rounds = atoi(argv[5]);
    heavy = atoi(argv[6]);
    pause_us = atol(argv[7]);
    targets = argv + FIRST_TARGET;
    target_count = (argc - FIRST_TARGET) / 2;
    options.prefix = argv[3];
    options.identifier_secret = "known to the whole fleet";
    /* Longer than anything takes here. */
    options.connect_timeout_us = options.response_timeout_us = 30000000;
    if (getenv("FLEET_REGION")) {
        /* Short enough for servers that go away. */
        options.connect_timeout_us = options.response_timeout_us = 300000;
        options.fallback = "deny";
        options.regions = getenv("FLEET_REGIONS");
        options.region = getenv("FLEET_REGION");
    }
    must(sluicegate_limiter_new_from_file(argv[1], argv[2], &options, &limiter, &error), &error);
    for (int at = 0; at < target_count; at++)
        ask(sluicegate_peek, at, 1);
    meet("ready");
    hammer_in_lanes(atoi(argv[4]));
    meet("done");
    for (int at = 0; at < target_count; at++) {
        struct report report = ask(sluicegate_peek, at, 1);
        tell(&report);
    }
    sluicegate_limiter_free(limiter);
    return 0;
}
