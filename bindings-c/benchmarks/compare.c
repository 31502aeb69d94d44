/*
 * Sluicegate against hiredis with a GCRA script registered by hand: compare URL HOST PORT SCRIPT
 *
 * One run, one server. The contenders take turns in short rounds, so that whatever disturbs the machine
 * disturbs both; each figure is over all rounds.
 */
#define _DEFAULT_SOURCE
#include "measure.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <sluicegate.h>

enum { ROUNDS = 40, CALLS = 1000, KEYS = 10000, THREADS = 8 };

static const char rules[] =
    "[{\"rule_id\": \"api\", \"algorithm\": \"gcra\", \"limit\": 1000000, \"window_size_seconds\": 60}]";

/* One way to ask; `connection` is what a thread needs for it. */
struct contender {
    const char *name;
    void *(*connect)(void);
    void (*check)(void *connection, const char *key, size_t length);
    void (*disconnect)(void *connection);
};

static const char *url, *host;
static int port;
static char sha[64];
static sluicegate_limiter *limiter;

/* --- the contenders --- */

static void *sluicegate_connect(void) {
    return limiter;
}

static void sluicegate_one(void *handle, const char *key, size_t length) {
    sluicegate_decision decision;
    sluicegate_error error;
    if (sluicegate_check(handle, "api", key, length, NULL, &decision, &error) != SLUICEGATE_OK)
        fail(error.message);
    if (!decision.allowed)
        fail("sluicegate denied");
}

static void sluicegate_disconnect(void *handle) {
    (void)handle;
}

static void *hiredis_connect(void) {
    redisContext *connection = redisConnect(host, port);
    if (!connection || connection->err)
        fail("hiredis cannot connect");
    return connection;
}

static void hiredis_one(void *connection, const char *key, size_t length) {
    redisReply *reply =
        redisCommand(connection, "EVALSHA %s 1 gcra:{%b} 1000000 60000 0", sha, key, length);
    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        fail(reply ? reply->str : "hiredis lost its connection");
    if (reply->element[0]->integer != 1)
        fail("the script denied");
    freeReplyObject(reply);
}

static void hiredis_disconnect(void *connection) {
    redisFree(connection);
}

static const struct contender contenders[] = {
    {"sluicegate", sluicegate_connect, sluicegate_one, sluicegate_disconnect},
    {"hiredis", hiredis_connect, hiredis_one, hiredis_disconnect},
};

enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* --- one in flight --- */

/* Microseconds per call, and of this process's CPU per call. */
static double measure_round(const struct contender *contender, void *connection, int keys, int round, double *times) {
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int call = 0; call < CALLS; call++) {
        char key[32];
        size_t length = name_key(key, sizeof key, keys, round * CALLS + call);
        double before = seconds(CLOCK_MONOTONIC);
        contender->check(connection, key, length);
        times[call] = (seconds(CLOCK_MONOTONIC) - before) * 1e6;
    }
    return (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e6 / CALLS;
}

static void one_in_flight(int keys) {
    static double times[CONTENDERS][ROUNDS * CALLS];
    void *connections[CONTENDERS];
    double cpu[CONTENDERS] = {0}, p50[CONTENDERS], warm[CALLS];
    for (int i = 0; i < CONTENDERS; i++) {
        connections[i] = contenders[i].connect();
        measure_round(&contenders[i], connections[i], keys, 0, warm);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < CONTENDERS; turn++) {
            int i = (turn + round) % CONTENDERS;
            cpu[i] += measure_round(&contenders[i], connections[i], keys, round, times[i] + round * CALLS);
        }
    printf("1 in flight, %d key%s\n", keys, keys == 1 ? "" : "s, round robin");
    for (int i = 0; i < CONTENDERS; i++) {
        p50[i] = median(times[i], ROUNDS * CALLS);
        printf("  %-10s  p50 %6.1f us  p99 %6.1f us  client CPU %5.1f us\n", contenders[i].name, p50[i],
               times[i][ROUNDS * CALLS / 100 * 99], cpu[i] / ROUNDS);
        contenders[i].disconnect(connections[i]);
    }
    printf("  p50 ratio   %.2f (sluicegate / hiredis)\n", p50[0] / p50[1]);
}

/* --- threads --- */

static void *call_in_thread(void *place) {
    const struct contender *contender = place;
    void *connection = contender->connect();
    for (int call = 0; call < CALLS; call++) {
        char key[32];
        size_t length = name_key(key, sizeof key, KEYS, call);
        contender->check(connection, key, length);
    }
    contender->disconnect(connection);
    return NULL;
}

static double calls_per_second(const struct contender *contender, int threads) {
    pthread_t ids[THREADS];
    double before = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, call_in_thread, (void *)(size_t)contender) != 0)
            fail("no thread");
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return threads * CALLS / (seconds(CLOCK_MONOTONIC) - before);
}

static void threads(void) {
    double one[CONTENDERS][ROUNDS], many[CONTENDERS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < CONTENDERS; turn++) {
            int i = (turn + round) % CONTENDERS;
            one[i][round] = calls_per_second(&contenders[i], 1);
            many[i][round] = calls_per_second(&contenders[i], THREADS);
        }
    printf("%d threads, %d keys, round robin, median of %d rounds\n", THREADS, KEYS, ROUNDS);
    for (int i = 0; i < CONTENDERS; i++) {
        double alone = median(one[i], ROUNDS), together = median(many[i], ROUNDS);
        printf("  %-10s  1 thread %6.0f/s  %d threads %6.0f/s  ratio %.2f\n", contenders[i].name, alone, THREADS,
               together, together / alone);
    }
}

/* --- all --- */

static void load_script(const char *path) {
    static char text[65536];
    FILE *file = fopen(path, "r");
    redisContext *connection = hiredis_connect();
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    redisReply *reply = redisCommand(connection, "SCRIPT LOAD %b", text, length);
    if (!reply || reply->type != REDIS_REPLY_STRING)
        fail("the script cannot be loaded");
    snprintf(sha, sizeof sha, "%s", reply->str);
    freeReplyObject(reply);
    redisFree(connection);
    fclose(file);
}

int main(int argc, char **argv) {
    sluicegate_error error;
    if (argc != 5)
        fail("usage: compare URL HOST PORT SCRIPT");
    url = argv[1];
    host = argv[2];
    port = atoi(argv[3]);
    load_script(argv[4]);
    if (sluicegate_limiter_new(url, rules, NULL, &limiter, &error) != SLUICEGATE_OK)
        fail(error.message);
    one_in_flight(1);
    one_in_flight(KEYS);
    threads();
    sluicegate_limiter_free(limiter);
    return 0;
}
