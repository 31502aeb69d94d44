/* Requests, as a server uses them: requests URL */
#include "expect.h"

static const char *url;

static const char rules[] =
    "["
    "{\"rule_id\": \"orders\", \"algorithm\": \"fixed_window\", \"limit\": 2, \"window_size_seconds\": 60,"
    "  \"identifier_type\": \"user_id\", \"match\": {\"path_pattern\": \"/orders/*\", \"methods\": [\"GET\"]},"
    "  \"priority\": 1},"
    "{\"rule_id\": \"tenant\", \"algorithm\": \"fixed_window\", \"limit\": 10, \"window_size_seconds\": 60,"
    "  \"identifier_type\": \"header:X-Tenant\", \"match\": {}, \"priority\": 2},"
    "{\"rule_id\": \"trial\", \"algorithm\": \"gcra\", \"limit\": 1, \"window_size_seconds\": 60,"
    "  \"identifier_type\": \"user_id\", \"match\": {}, \"shadow\": true, \"priority\": 3}"
    "]";

static sluicegate_clock *the_clock;
static sluicegate_limiter *limiter;

static const sluicegate_header tenant[] = {{"x-tenant", 8, "acme", 4}};
static const sluicegate_request order = {
    sizeof(sluicegate_request), "GET", 3, "/orders/7?full=1", 16, "alice", 5, NULL, 0, NULL, 0, tenant, 1, NULL, 0, NULL, 0, 0, 0};

/* A limiter that finds nothing stored, on a clock that stands in the middle of a minute. */
static void open_limiter(const char *prefix) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    EXPECT_OK(sluicegate_clock_new(1230000000, &the_clock, error));
    options.prefix = prefix;
    options.clock = the_clock;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
}

static void close_limiter(void) {
    sluicegate_limiter_free(limiter);
    sluicegate_clock_free(the_clock);
}

/* Headers as text, in the manner of HTTP. */
struct page {
    char text[1024];
    size_t used;
};

static void add(void *context, const char *name, const char *value) {
    struct page *page = (struct page *)context;
    size_t room = sizeof page->text - page->used;
    page->used += (size_t)snprintf(page->text + page->used, room, "%s: %s\n", name, value);
}

#define EXPECT_HEADERS(style, expected)                                                       \
    do {                                                                                      \
        struct page page = {"", 0};                                                           \
        EXPECT_OK(sluicegate_decision_headers(&decision, parts, count, style, add, &page, error)); \
        if (strcmp(page.text, expected) != 0) {                                               \
            printf("%s:%d: answered\n%s", __FILE__, __LINE__, page.text);                     \
            wrong++;                                                                          \
        }                                                                                     \
    } while (0)

static void a_request_is_admitted_and_denied(void) {
    sluicegate_decision decision, parts[4];
    size_t count = 0;
    open_limiter("c/requests");
    for (uint64_t left = 2; left-- > 0;) {
        EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, parts, 4, &count, error));
        EXPECT(decision.allowed && decision.rule_applied && decision.remaining == left && count == 3);
        EXPECT(decision.shadow_denied == (left == 0) && !decision.shadow && decision.window_us == 60000000);
    }
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, parts, 4, &count, error));
    EXPECT(!decision.allowed && strcmp(decision.rule, "orders") == 0 && decision.retry_after_us == 30000000);
    EXPECT(!parts[0].allowed && parts[1].allowed && parts[1].remaining == 8 && parts[2].shadow);
    EXPECT(strcmp(parts[0].rule, "orders") == 0 && strcmp(parts[1].rule, "tenant") == 0);
    close_limiter();
}

static void a_decision_has_headers(void) {
    sluicegate_decision decision, parts[4];
    size_t count = 0;
    open_limiter("c/headers");
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, parts, 4, &count, error));
    EXPECT_HEADERS("ietf", "RateLimit-Policy: \"orders\";q=2;w=60, \"tenant\";q=10;w=60\n"
                           "RateLimit: \"orders\";r=1;t=30, \"tenant\";r=9;t=30\n");
    EXPECT_HEADERS("x-ratelimit-seconds", "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: 30\n");
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, NULL, 0, NULL, error));
    EXPECT_OK(sluicegate_clock_advance(the_clock, 28500000, error));
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, parts, 4, &count, error));
    EXPECT_HEADERS("ietf", "RateLimit-Policy: \"orders\";q=2;w=60, \"tenant\";q=10;w=60\n"
                           "RateLimit: \"orders\";r=0;t=2, \"tenant\";r=8;t=2\n"
                           "Retry-After: 2\n");
    count = 0;
    EXPECT_HEADERS("ietf", "RateLimit-Policy: \"orders\";q=2;w=60\nRateLimit: \"orders\";r=0;t=2\nRetry-After: 2\n");
    EXPECT_HEADERS("none", "Retry-After: 2\n");
    close_limiter();
}

static void decisions_by_name_have_headers_too(void) {
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision, *parts = NULL;
    size_t count = 0;
    open_limiter("c/named");
    EXPECT_OK(sluicegate_check(limiter, "orders", "bob", 3, NULL, &decision, error));
    EXPECT_HEADERS("ietf", "RateLimit-Policy: \"orders\";q=2;w=60\nRateLimit: \"orders\";r=1;t=30\n");
    EXPECT(decision.rule_applied && !decision.shadow);
    options.cost = 3;
    EXPECT_OK(sluicegate_check(limiter, "orders", "bob", 3, &options, &decision, error));
    EXPECT(!decision.allowed && decision.retry_after_us == SLUICEGATE_NEVER);
    EXPECT_HEADERS("x-ratelimit-seconds", "X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: 30\n");
    EXPECT_OK(sluicegate_check(limiter, "trial", "bob", 3, NULL, &decision, error));
    EXPECT(decision.shadow);
    EXPECT_HEADERS("ietf", "");
    close_limiter();
}

static void a_request_without_a_rule_is_admitted(void) {
    sluicegate_request request = SLUICEGATE_REQUEST_INIT;
    sluicegate_decision decision, parts[1];
    size_t count = 1;
    open_limiter("c/unruled");
    request.method = "GET";
    request.method_len = 3;
    request.path = "/";
    request.path_len = 1;
    EXPECT_OK(sluicegate_check_request(limiter, &request, &decision, parts, 1, &count, error));
    EXPECT(decision.allowed && !decision.rule_applied && decision.rule[0] == '\0' && count == 0);
    EXPECT_HEADERS("ietf", "");
    EXPECT_HEADERS("x-ratelimit", "");
    close_limiter();
}

static void parts_fill_the_room_there_is(void) {
    sluicegate_decision decision, parts[3];
    size_t count = 0;
    open_limiter("c/room");
    memset(parts, 0x5A, sizeof parts);
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, parts, 2, &count, error));
    EXPECT(count == 2 && strcmp(parts[1].rule, "tenant") == 0 && parts[2].limit == UINT64_C(0x5A5A5A5A5A5A5A5A));
    EXPECT_OK(sluicegate_check_request(limiter, &order, &decision, NULL, 9, &count, error));
    EXPECT(count == 0 && decision.remaining == 0);
    close_limiter();
}

static void a_list_outlives_its_limiter_and_request(void) {
    char user[] = "al\0ce";
    sluicegate_request request = order;
    sluicegate_matches *matches = NULL;
    open_limiter("c/list");
    request.user_id = user;
    EXPECT_OK(sluicegate_match_request(limiter, &request, false, &matches, error));
    memset(user, 'x', sizeof user);
    close_limiter();
    EXPECT(sluicegate_matches_count(matches) == 3 && sluicegate_matches_at(matches, 3) == NULL);
    const sluicegate_match *first = sluicegate_matches_at(matches, 0);
    EXPECT(first->matched && strcmp(first->rule_id, "orders") == 0 && !first->resource && !first->reason);
    EXPECT(first->key_len == 5 && memcmp(first->key, "al\0ce", 6) == 0);
    sluicegate_matches_free(matches);
}

static void fixed_rules_have_a_status(void) {
    sluicegate_rules state;
    open_limiter("c/fixed");
    EXPECT_OK(sluicegate_rules_status(limiter, &state, NULL, NULL, error));
    EXPECT(strcmp(state.source, "fixed") == 0 && strlen(state.version) == 12 && state.last_error[0] == '\0');
    EXPECT(state.count == 3 && state.updates == 1 && state.refusals == 0 && state.refused == 0);
    EXPECT(state.reachable && !state.cached && state.loaded_at_us > UINT64_C(1700000000000000));
    close_limiter();
}

static void a_key_is_looked_at_and_forgotten_under_every_rule(void) {
    sluicegate_decision decision, parts[3];
    size_t count = 9;
    open_limiter("c/overview");
    EXPECT_OK(sluicegate_check(limiter, "orders", "alice", 5, NULL, &decision, error));
    EXPECT_OK(sluicegate_check(limiter, "orders", "alice", 5, NULL, &decision, error));
    EXPECT_OK(sluicegate_inspect(limiter, "alice", 5, NULL, &decision, parts, 3, &count, error));
    EXPECT(!decision.allowed && strcmp(decision.rule, "orders") == 0 && count == 3);
    EXPECT(parts[0].remaining == 0 && parts[1].remaining == 10 && parts[2].remaining == 1);
    EXPECT(strcmp(parts[1].rule, "tenant") == 0 && parts[1].allowed);
    EXPECT_OK(sluicegate_inspect(limiter, "alice", 5, NULL, &decision, parts, 1, &count, error));
    EXPECT(count == 1);
    EXPECT_OK(sluicegate_reset_all(limiter, "alice", 5, NULL, error));
    EXPECT_OK(sluicegate_inspect(limiter, "alice", 5, NULL, &decision, NULL, 0, NULL, error));
    EXPECT(decision.allowed);
    EXPECT(sluicegate_inspect(limiter, "", 0, NULL, &decision, NULL, 0, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    EXPECT(sluicegate_reset_all(limiter, "", 0, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    close_limiter();
}

static void rules_are_data(void) {
    struct page page = {"", 0};
    open_limiter("c/data");
    EXPECT_OK(sluicegate_limiter_rules(limiter, add, &page, error));
    EXPECT(strstr(page.text, "tenant: {\"algorithm\":\"fixed_window\"") != NULL);
    EXPECT(strstr(page.text, "\"window_size_seconds\":60") != NULL);
    EXPECT(sluicegate_limiter_rules(limiter, NULL, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    close_limiter();
}

static void rules_are_added(void) {
    const char *taken = "[{\"rule_id\": \"added\", \"rate\": \"9/minute\"}]";
    sluicegate_decision decision;
    sluicegate_error error;
    open_limiter("c/added");
    EXPECT_OK(sluicegate_add_rules(limiter, "[{\"rule_id\": \"added\", \"rate\": \"3/minute\"}]", error));
    EXPECT_OK(sluicegate_check(limiter, "added", "key", 3, NULL, &decision, error));
    EXPECT(decision.remaining == 2);
    EXPECT(sluicegate_add_rules(limiter, taken, &error) == SLUICEGATE_INVALID_RULE);
    EXPECT(strcmp(error.message, "add_rules: rule \"added\": the name is taken") == 0);
    EXPECT(sluicegate_add_rules(limiter, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    close_limiter();
}

/* The sizes that programs were compiled with. */
static void structs_keep_their_size(void) {
    EXPECT(sizeof(sluicegate_decision) == 200 && offsetof(sluicegate_decision, rule) == 38);
    EXPECT(sizeof(sluicegate_rules) % 8 == 0);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    url = argv[1];
    RUN(a_request_is_admitted_and_denied);
    RUN(a_decision_has_headers);
    RUN(decisions_by_name_have_headers_too);
    RUN(a_request_without_a_rule_is_admitted);
    RUN(parts_fill_the_room_there_is);
    RUN(a_list_outlives_its_limiter_and_request);
    RUN(fixed_rules_have_a_status);
    RUN(a_key_is_looked_at_and_forgotten_under_every_rule);
    RUN(rules_are_data);
    RUN(rules_are_added);
    RUN(structs_keep_their_size);
    return summary();
}
