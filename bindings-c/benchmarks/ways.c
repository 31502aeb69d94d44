/*
 * What the way to the server costs: TLS against plain, a Cluster against one server, a server that does not answer:
 *
 *     ways PLAIN TLS CA CERTIFICATE KEY CLUSTER PID
 *
 * PID is that of the server at PLAIN, which is stopped by a signal at the end. Slices of all ways in turn; each figure
 * is the median of its slices, a ratio that of the ratios within one round.
 */
#define _DEFAULT_SOURCE
#include "measure.h"

#include <pthread.h>
#include <signal.h>
#include <sluicegate.h>
#include <sys/types.h>

enum { ROUNDS = 9, ALONE = 4000, THREADS = 64, EACH = 625, PACED = 3000, EVERY_US = 1000 };

static const char rules[] =
    "[{\"rule_id\": \"gcra\", \"algorithm\": \"gcra\", \"limit\": 1000000000, \"window_size_seconds\": 3600}]";

/* A way to a server; the first is what the others are compared with. */
struct way {
    const char *name;
    sluicegate_limiter *limiter;
};

/* What a way may take of the first: of the time of a call made alone, of the calls per second with 64 in flight. */
struct target {
    size_t way;
    int keys;
    double alone, together;
};

static const struct target targets[] = {{1, 1, 1.2, 0.75}, {2, 1, 1.25, 0.75}, {2, 10000, 1.25, 0.6}};

static sluicegate_limiter *connect_to(const char *url, const sluicegate_options *options) {
    sluicegate_limiter *limiter;
    sluicegate_error error;
    if (sluicegate_limiter_new(url, rules, options, &limiter, &error) != SLUICEGATE_OK)
        fail(error.message);
    return limiter;
}

static void check(sluicegate_limiter *limiter, int keys, int call) {
    char key[32];
    size_t length = name_key(key, sizeof key, keys, call);
    sluicegate_decision decision;
    sluicegate_error error;
    if (sluicegate_check(limiter, "gcra", key, length, NULL, &decision, &error) != SLUICEGATE_OK)
        fail(error.message);
}

/* --- TLS, a Cluster --- */

/* The median of one call's time in microseconds, while nothing else is in flight. */
static double alone(sluicegate_limiter *limiter, int keys) {
    static double times[ALONE];
    for (int call = 0; call < ALONE; call++) {
        double before = seconds(CLOCK_MONOTONIC);
        check(limiter, keys, call);
        times[call] = (seconds(CLOCK_MONOTONIC) - before) * 1e6;
    }
    return median(times, ALONE);
}

struct caller {
    pthread_t thread;
    sluicegate_limiter *limiter;
    int keys, first;
};

static void *call_in_thread(void *place) {
    const struct caller *caller = place;
    for (int call = 0; call < EACH; call++)
        check(caller->limiter, caller->keys, caller->first + call);
    return NULL;
}

/* Calls per second with one in flight for each thread. */
static double together(sluicegate_limiter *limiter, int keys) {
    struct caller callers[THREADS];
    double before = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < THREADS; i++) {
        /* Threads begin in different places, or all would ask for one key after the other. */
        callers[i] = (struct caller){.limiter = limiter, .keys = keys, .first = i * keys / THREADS};
        if (pthread_create(&callers[i].thread, NULL, call_in_thread, &callers[i]) != 0)
            fail("no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
    return THREADS * EACH / (seconds(CLOCK_MONOTONIC) - before);
}

static void compare(const struct way *first, const struct way *other, const struct target *target) {
    double p50[2][ROUNDS], rate[2][ROUNDS], slower[ROUNDS], faster[ROUNDS];
    const struct way *ways[2] = {first, other};
    for (int i = 0; i < 2; i++)
        together(ways[i]->limiter, target->keys); /* opens connections */
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            p50[i][round] = alone(ways[i]->limiter, target->keys);
            rate[i][round] = together(ways[i]->limiter, target->keys);
        }
        slower[round] = p50[1][round] / p50[0][round];
        faster[round] = rate[1][round] / rate[0][round];
    }
    printf("| %s, %d key%s | %.1f | %.1f | %.2f (at most %.2f) | %.0f | %.0f | %.2f (at least %.2f) |\n", other->name,
           target->keys, target->keys == 1 ? "" : "s", median(p50[0], ROUNDS), median(p50[1], ROUNDS),
           median(slower, ROUNDS), target->alone, median(rate[0], ROUNDS), median(rate[1], ROUNDS),
           median(faster, ROUNDS), target->together);
}

/* --- a server that does not answer --- */

/* Makes a call every millisecond and counts those that fail. Answers this process's CPU, as a part of a core. */
static double paced(sluicegate_limiter *limiter, int calls, double *times, int *failed) {
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), start = seconds(CLOCK_MONOTONIC);
    *failed = 0;
    for (int call = 0; call < calls; call++) {
        double left = start + call * EVERY_US / 1e6 - seconds(CLOCK_MONOTONIC);
        struct timespec pause = {.tv_nsec = left > 0 ? (long)(left * 1e9) : 0};
        nanosleep(&pause, NULL);
        sluicegate_decision decision;
        double before = seconds(CLOCK_MONOTONIC);
        *failed += sluicegate_check(limiter, "gcra", "k", 1, NULL, &decision, NULL) != SLUICEGATE_OK;
        times[call] = (seconds(CLOCK_MONOTONIC) - before) * 1e6;
    }
    return (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (calls * EVERY_US / 1e6);
}

static void silent(const char *url, pid_t server) {
    static double times[PACED], in_memory[PACED];
    int failed, failed_in_memory;
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.response_timeout_us = 50000;
    sluicegate_limiter *limiter = connect_to(url, &options), *memory = connect_to("memory://", NULL);
    check(limiter, 1, 0);
    kill(server, SIGSTOP);
    paced(limiter, 8, times, &failed); /* opens the circuit breaker */
    double cpu = paced(limiter, PACED, times, &failed);
    double cpu_in_memory = paced(memory, PACED, in_memory, &failed_in_memory);
    kill(server, SIGCONT);
    if (failed != PACED || failed_in_memory != 0)
        fail("calls to a server that is silent must fail, and those in memory must not");
    double p50 = median(times, PACED), p99 = times[PACED / 100 * 99];
    printf("\nerror of a silent server: p50 %.1f us, p99 %.1f us (at most 1000); CPU %.1f %% of a core, %.1f %% beyond "
           "the calls (at most 2)\n",
           p50, p99, cpu * 100, (cpu - cpu_in_memory) * 100);
    sluicegate_limiter_free(memory);
    sluicegate_limiter_free(limiter);
}

/* --- all --- */

int main(int argc, char **argv) {
    if (argc != 8)
        fail("usage: ways PLAIN TLS CA CERTIFICATE KEY CLUSTER PID");
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.tls_ca = argv[3];
    options.tls_cert = argv[4];
    options.tls_key = argv[5];
    struct way ways[] = {
        {"plain", connect_to(argv[1], NULL)},
        {"TLS", connect_to(argv[2], &options)},
        {"Cluster", connect_to(argv[6], NULL)},
    };
    printf("| | plain: p50, us | p50, us | ratio | plain: 64, calls/s | calls/s | ratio |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        compare(&ways[0], &ways[targets[i].way], &targets[i]);
    silent(argv[1], (pid_t)atoi(argv[7]));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        sluicegate_limiter_free(ways[i].limiter);
    return 0;
}
