/* Rules that change while calls are made: follow URL SOURCE CHANGE SPOIL UNIT CACHE
 *
 * SOURCE has one rule, "followed", with a limit of 100000. The command CHANGE makes that 200000; SPOIL makes
 * it what is refused under the name UNIT. CACHE is a file to be written. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "expect.h"

enum { THREADS = 4, BEFORE = 100000, AFTER = 200000, TIMEOUT_MS = 20000, LOOK_EVERY_MS = 10 };

static const char *url, *source, *change, *spoil, *unit, *cache;
static sluicegate_limiter *limiter;
static atomic_bool stop;
static atomic_uint_least64_t admitted, mistakes;
static atomic_uint warnings;

static void open_limiter(const char *rules) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    char prefix[64];
    /* Runs of this program on one server count for themselves. */
    snprintf(prefix, sizeof prefix, "c/follow/%d", (int)getpid());
    options.prefix = prefix;
    options.rules_cache = cache;
    options.connect_timeout_us = options.response_timeout_us = 30000000;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
}

static sluicegate_decision checked(void) {
    static const sluicegate_decision nothing;
    sluicegate_decision decision = nothing;
    sluicegate_status status = sluicegate_check(limiter, "followed", "key", 3, NULL, &decision, NULL);
    if (status != SLUICEGATE_OK || !decision.allowed)
        mistakes++;
    else
        admitted++;
    return decision;
}

static void *keep_calling(void *unused) {
    while (!stop) {
        checked();
        usleep(5000);
    }
    return unused;
}

static sluicegate_rules state(void) {
    static const sluicegate_rules nothing;
    sluicegate_rules rules = nothing;
    EXPECT_OK(sluicegate_rules_status(limiter, &rules, NULL, NULL, error));
    return rules;
}

static bool is_seen(uint64_t updates, uint64_t refusals) {
    for (int ms = 0; ms < TIMEOUT_MS; ms += LOOK_EVERY_MS) {
        sluicegate_rules now = state();
        if (now.updates >= updates && now.refusals >= refusals)
            return true;
        usleep(LOOK_EVERY_MS * 1000);
    }
    return false;
}

static void a_change_applies_at_once_and_keeps_the_count(void) {
    pthread_t threads[THREADS];
    sluicegate_decision decision = checked();
    EXPECT(decision.limit == BEFORE && state().updates == 1);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, keep_calling, NULL) == 0);
    EXPECT(system(change) == 0);
    EXPECT(is_seen(2, 0));
    stop = true;
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    decision = checked();
    EXPECT(decision.limit == AFTER && decision.remaining == AFTER - admitted && mistakes == 0);
}

static void remember(void *context, const char *name, const char *reason) {
    snprintf((char *)context, SLUICEGATE_MESSAGE_SIZE, "%s: %s", name, reason);
}

static atomic_uint changes;

static void note(void *context, bool is_warning, const char *event, const char *message) {
    if (context == &warnings && is_warning && strcmp(event, "rules_refused") == 0 && strstr(message, unit))
        warnings++;
    if (!is_warning && strcmp(event, "rules_changed") == 0)
        changes++;
}

static bool is_warned_of(unsigned count) {
    for (int ms = 0; ms < TIMEOUT_MS && warnings < count; ms += LOOK_EVERY_MS)
        usleep(LOOK_EVERY_MS * 1000);
    return warnings == count;
}

static void what_is_refused_changes_nothing(void) {
    char refused[SLUICEGATE_MESSAGE_SIZE] = "";
    sluicegate_rules rules = state();
    EXPECT(rules.refused == 0 && rules.reachable && !rules.cached && rules.last_error[0] == '\0');
    EXPECT(system(spoil) == 0);
    EXPECT(is_seen(2, 1) && is_warned_of(1) && changes == 1);
    EXPECT_OK(sluicegate_rules_status(limiter, &rules, remember, refused, error));
    EXPECT(rules.refused == 1 && rules.updates == 2 && rules.count == 1 && rules.reachable);
    EXPECT(strncmp(refused, unit, strlen(unit)) == 0 && strstr(rules.last_error, unit));
    EXPECT(checked().limit == AFTER);
}

static void a_source_that_is_away_is_replaced_by_the_cache(void) {
    sluicegate_limiter_free(limiter);
    open_limiter("/nowhere/rules.json");
    sluicegate_rules rules = state();
    EXPECT(rules.cached && rules.count == 1 && rules.last_error[0] != '\0');
    sluicegate_decision decision = checked();
    EXPECT(decision.limit == AFTER);
}

static void a_limiter_that_is_closed_still_tells(void) {
    EXPECT_OK(sluicegate_limiter_close(limiter, error));
    EXPECT(state().count == 1);
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 2;
    url = argv[1];
    source = argv[2];
    change = argv[3];
    spoil = argv[4];
    unit = argv[5];
    cache = argv[6];
    alarm(180); /* A hang is a failure. */
    sluicegate_set_log(note, &warnings);
    open_limiter(source);
    RUN(a_change_applies_at_once_and_keeps_the_count);
    RUN(what_is_refused_changes_nothing);
    RUN(a_source_that_is_away_is_replaced_by_the_cache);
    RUN(a_limiter_that_is_closed_still_tells);
    sluicegate_limiter_free(limiter);
    sluicegate_set_log(NULL, NULL);
    return summary();
}
