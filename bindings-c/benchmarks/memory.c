/* What a check in memory takes, on one thread: in nanoseconds, the median of slices. */
#define _DEFAULT_SOURCE
#include "measure.h"

#include <sluicegate.h>

enum { ROUNDS = 51, CALLS = 100000 };

static const char rules[] =
    "[{\"rule_id\": \"gcra\", \"algorithm\": \"gcra\", \"limit\": 1000000000, \"window_size_seconds\": 3600},"
    " {\"rule_id\": \"fixed_window\", \"algorithm\": \"fixed_window\", \"limit\": 1000000000, \"window_size_seconds\": 3600}]";

static double slice(const sluicegate_limiter *limiter, const char *rule, int keys) {
    static char names[10000][16];
    static size_t lengths[10000];
    for (int key = 0; key < keys; key++)
        lengths[key] = name_key(names[key], sizeof names[key], keys, key);
    sluicegate_decision decision;
    sluicegate_error error;
    double before = seconds(CLOCK_MONOTONIC);
    for (int call = 0; call < CALLS; call++) {
        int key = call % keys;
        if (sluicegate_check(limiter, rule, names[key], lengths[key], NULL, &decision, &error) != SLUICEGATE_OK)
            fail(error.message);
    }
    return (seconds(CLOCK_MONOTONIC) - before) / CALLS * 1e9;
}

int main(void) {
    static const char *const names[] = {"gcra", "fixed_window"};
    sluicegate_limiter *limiter;
    sluicegate_error error;
    if (sluicegate_limiter_new("memory://", rules, NULL, &limiter, &error) != SLUICEGATE_OK)
        fail(error.message);
    printf("| in memory, ns per check | 1 key | 10,000 keys |\n|---|---|---|\n");
    for (size_t rule = 0; rule < sizeof names / sizeof *names; rule++) {
        double one[ROUNDS], many[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            one[round] = slice(limiter, names[rule], 1);
            many[round] = slice(limiter, names[rule], 10000);
        }
        printf("| %s | %.0f | %.0f |\n", names[rule], median(one, ROUNDS), median(many, ROUNDS));
    }
    sluicegate_limiter_free(limiter);
    return 0;
}
