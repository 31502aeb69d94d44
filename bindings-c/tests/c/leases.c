/* Units that a process borrows of its server: leases URL */
#define _DEFAULT_SOURCE
#include <unistd.h>
#include "expect.h"

enum { CALLS = 900, LIMIT = 100000, MILLISECOND = 1000, NAP_US = 20000, MOST_NAPS = 1500 };

static const char rules[] =
    "["
    "{\"rule_id\": \"busy\", \"rate\": \"1000/s\", \"lease\": {\"max_age_ms\": 20, \"pace_ms\": 10}},"
    "{\"rule_id\": \"hourly\", \"algorithm\": \"fixed_window\", \"window_start\": \"first_request\","
    "  \"rate\": \"100000/hour\", \"lease\": {\"max_age_ms\": 1000, \"pace_ms\": 100}}"
    "]";

static const char *url;
static sluicegate_clock *the_clock;
static sluicegate_limiter *limiter, *watching;

static sluicegate_limiter *opened(const char *prefix, const sluicegate_clock *clock) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_limiter *made = NULL;
    options.prefix = prefix;
    options.clock = clock;
    options.response_timeout_us = options.connect_timeout_us = 30000000;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &made, error));
    return made;
}

static void open_limiters(const char *prefix) {
    EXPECT_OK(sluicegate_clock_new(1700000000000000, &the_clock, error));
    limiter = opened(prefix, the_clock);
    watching = opened(prefix, the_clock);
}

static void free_limiters(void) {
    sluicegate_limiter_free(limiter);
    sluicegate_limiter_free(watching);
    sluicegate_clock_free(the_clock);
}

static sluicegate_decision check_after(const char *rule, uint64_t pause_us) {
    sluicegate_decision decision = {0};
    EXPECT_OK(sluicegate_clock_advance(the_clock, pause_us, error));
    EXPECT_OK(sluicegate_check(limiter, rule, "k", 1, NULL, &decision, error));
    return decision;
}

/* How many of the calls, one after each pause, borrowed units decided; the server has to decide the others. */
static int leased_of_calls(int calls, uint64_t pause_us) {
    int leased = 0;
    for (int call = 0; call < calls; call++) {
        sluicegate_decision decision = check_after("busy", pause_us);
        leased += decision.source == SLUICEGATE_SOURCE_LEASE;
        EXPECT(decision.source == SLUICEGATE_SOURCE_LEASE || decision.source == SLUICEGATE_SOURCE_SERVER);
        EXPECT(decision.allowed && decision.limit == 1000 && decision.retry_after_us == 0);
    }
    return leased;
}

static void a_busy_key_is_decided_by_what_was_borrowed(void) {
    open_limiters("c/leases-busy");
    EXPECT(leased_of_calls(CALLS, MILLISECOND) > CALLS / 2);
    free_limiters();
}

static void a_slow_key_is_decided_by_the_server(void) {
    open_limiters("c/leases-slow");
    EXPECT(leased_of_calls(60, 1000000) == 0);
    free_limiters();
}

static uint64_t used(void) {
    sluicegate_decision decision = {0};
    EXPECT_OK(sluicegate_peek(watching, "hourly", "k", 1, NULL, &decision, error));
    return LIMIT - decision.remaining;
}

/* Calls until more than one unit is left of what was borrowed: how often, or 0 if nothing is borrowed. */
static uint64_t calls_to_borrow(void) {
    for (uint64_t calls = 1; calls < 20000; calls++) {
        sluicegate_decision decision = check_after("hourly", MILLISECOND);
        EXPECT(decision.allowed);
        if (decision.source == SLUICEGATE_SOURCE_LEASE && decision.remaining > 1)
            return calls;
    }
    return 0;
}

static void what_is_not_spent_is_given_back_at_the_end(void) {
    open_limiters("c/leases-end");
    uint64_t calls = calls_to_borrow();
    EXPECT(calls > 0 && used() > calls);
    EXPECT_OK(sluicegate_limiter_close(limiter, error));
    /* Nobody waits for that. */
    for (int naps = 0; naps < MOST_NAPS && used() != calls; naps++)
        usleep(NAP_US);
    EXPECT(used() == calls);
    free_limiters();
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    url = argv[1];
    RUN(a_busy_key_is_decided_by_what_was_borrowed);
    RUN(a_slow_key_is_decided_by_the_server);
    RUN(what_is_not_spent_is_given_back_at_the_end);
    return summary();
}
