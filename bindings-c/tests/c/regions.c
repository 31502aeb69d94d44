/* One limit over two regions, each with servers of its own: regions EU_URL US_URL */
#include "expect.h"

enum { KEYS = 8, LIMIT = 10, URL_SIZE = 512 };

static const char rules[] =
    "[{\"rule_id\": \"all\", \"algorithm\": \"fixed_window\", \"limit\": 10, \"window_size_seconds\": 86400,"
    "  \"global\": {}}]";

/* Of some of them the one region is in charge, of the others the other one. */
static const char *const keys[KEYS] = {"k-0", "k-1", "k-2", "k-3", "k-4", "k-5", "k-6", "k-7"};

static char regions[2 * URL_SIZE];
static sluicegate_limiter *limiters[2];

static void open_limiters(const char *prefix) {
    static const char *const names[2] = {"eu", "us"};
    for (int i = 0; i < 2; i++) {
        sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
        options.prefix = prefix;
        options.regions = regions;
        options.region = names[i];
        options.response_timeout_us = options.connect_timeout_us = 30000000;
        EXPECT_OK(sluicegate_limiter_new("", rules, &options, &limiters[i], error));
    }
}

static void close_limiters(void) {
    for (int i = 0; i < 2; i++)
        sluicegate_limiter_free(limiters[i]);
}

static void limiters_of_two_regions_share_one_limit(void) {
    open_limiters("c/regions");
    for (int key = 0; key < KEYS; key++) {
        int admitted = 0;
        for (int call = 0; call < 16; call++) {
            sluicegate_decision decision;
            EXPECT_OK(sluicegate_check(limiters[call % 2], "all", keys[key], 3, NULL, &decision, error));
            admitted += decision.allowed;
        }
        EXPECT(admitted == LIMIT);
    }
    close_limiters();
}

static void items_of_both_regions_are_charged_together_or_not_at_all(void) {
    sluicegate_check_options two = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision, parts[KEYS];
    sluicegate_item items[KEYS];
    open_limiters("c/regions-together");
    for (int key = 0; key < KEYS; key++) {
        const sluicegate_item item = {"all", keys[key], 3, NULL};
        items[key] = item;
    }
    for (int call = 0; call < 8; call++) {
        EXPECT_OK(sluicegate_check_all(limiters[call % 2], items, KEYS, &decision, parts, error));
        EXPECT(decision.allowed && decision.source == SLUICEGATE_SOURCE_SERVER);
    }
    for (int key = 0; key < KEYS; key++)
        EXPECT(parts[key].remaining == 2);
    two.cost = 2;
    EXPECT_OK(sluicegate_check(limiters[0], "all", keys[3], 3, &two, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_check_all(limiters[1], items, KEYS, &decision, parts, error));
    EXPECT(!decision.allowed && strcmp(decision.rule, "all") == 0);
    for (int key = 0; key < KEYS; key++) {
        EXPECT(parts[key].allowed == (key != 3));
        EXPECT_OK(sluicegate_peek(limiters[1], "all", keys[key], 3, NULL, &decision, error));
        EXPECT(decision.remaining == (key == 3 ? 0u : 2u));
    }
    close_limiters();
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int size = snprintf(regions, sizeof regions, "{\"eu\": \"%s\", \"us\": \"%s\"}", argv[1], argv[2]);
    if (size < 0 || size >= (int)sizeof regions)
        return 2;
    RUN(limiters_of_two_regions_share_one_limit);
    RUN(items_of_both_regions_are_charged_together_or_not_at_all);
    return summary();
}
