/* Eight threads on one handle: threads URL */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "expect.h"

enum { THREADS = 8, CALLS = 200, LIMIT = 500 };

static const char rules[] =
    "[{\"rule_id\": \"shared\", \"algorithm\": \"fixed_window\", \"limit\": 500, \"window_size_seconds\": 86400,"
    "  \"window_start\": \"first_request\"}]";

static const char *url;
static sluicegate_limiter *limiter;

/* What one thread saw. */
struct tally {
    int admitted, denied, closed, other;
};

static void call_once(struct tally *tally) {
    sluicegate_decision decision;
    sluicegate_status status = sluicegate_check(limiter, "shared", "key", 3, NULL, &decision, NULL);
    if (status == SLUICEGATE_CLOSED)
        tally->closed++;
    else if (status != SLUICEGATE_OK)
        tally->other++;
    else if (decision.allowed)
        tally->admitted++;
    else
        tally->denied++;
}

static void *call_often(void *tally) {
    for (int i = 0; i < CALLS; i++)
        call_once(tally);
    return NULL;
}

static void *call_until_closed(void *place) {
    struct tally *tally = place;
    while (!tally->closed)
        call_once(tally);
    return NULL;
}

static void open_limiter(const char *prefix) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.prefix = prefix;
    options.response_timeout_us = 30000000;
    options.connect_timeout_us = 30000000;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
}

static struct tally together(void *(*thread)(void *), void (*meanwhile)(void)) {
    pthread_t threads[THREADS];
    struct tally tallies[THREADS] = {{0, 0, 0, 0}}, sum = {0, 0, 0, 0};
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, thread, &tallies[i]) == 0);
    meanwhile();
    for (int i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        sum.admitted += tallies[i].admitted;
        sum.denied += tallies[i].denied;
        sum.closed += tallies[i].closed;
        sum.other += tallies[i].other;
    }
    return sum;
}

static void do_nothing(void) {}

static void threads_share_one_limit(void) {
    open_limiter("c/threads");
    struct tally sum = together(call_often, do_nothing);
    EXPECT(sum.admitted == LIMIT && sum.denied == THREADS * CALLS - LIMIT);
    sluicegate_limiter_free(limiter);
}

static void close_it(void) {
    usleep(50000); /* Let them begin. */
    EXPECT_OK(sluicegate_limiter_close(limiter, error));
}

static void closing_ends_the_calls_of_others(void) {
    open_limiter("c/threads-close");
    struct tally sum = together(call_until_closed, close_it);
    EXPECT(sum.closed == THREADS && sum.other == 0 && sum.admitted <= LIMIT);
    sluicegate_limiter_free(limiter);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    url = argv[1];
    RUN(threads_share_one_limit);
    RUN(closing_ends_the_calls_of_others);
    return summary();
}
