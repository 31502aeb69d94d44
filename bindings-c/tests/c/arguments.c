/* Every argument as it must not be: answered with a status and a message that names it. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "operations.h"
#include "refused.h"

static const char rules[] =
    "[{\"rule_id\": \"a\", \"algorithm\": \"gcra\", \"limit\": 5, \"window_size_seconds\": 10}]";

static sluicegate_limiter *limiter;
static sluicegate_clock *a_clock;
static sluicegate_decision decision;

static void limiter_new(void) {
    sluicegate_limiter *out = NULL;
    EXPECT_INVALID("url", sluicegate_limiter_new(NULL, rules, NULL, &out, error));
    EXPECT_INVALID("url", sluicegate_limiter_new(bad, rules, NULL, &out, error));
    EXPECT_INVALID("rules", sluicegate_limiter_new("memory://", NULL, NULL, &out, error));
    EXPECT_INVALID("rules", sluicegate_limiter_new("memory://", bad, NULL, &out, error));
    EXPECT_INVALID("limiter", sluicegate_limiter_new("memory://", rules, NULL, NULL, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_RULE, "rule \"a\": ",
                   sluicegate_limiter_new("memory://", "[{\"rule_id\": \"a\"}]", NULL, &out, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "the backend's URL",
                   sluicegate_limiter_new("nowhere://", rules, NULL, &out, error));
    EXPECT(out == NULL);
}

static void limiter_new_from_file(void) {
    sluicegate_limiter *out = NULL;
    EXPECT_INVALID("url", sluicegate_limiter_new_from_file(NULL, "x", NULL, &out, error));
    EXPECT_INVALID("rules_path", sluicegate_limiter_new_from_file("memory://", NULL, NULL, &out, error));
    EXPECT_INVALID("rules_path", sluicegate_limiter_new_from_file("memory://", bad, NULL, &out, error));
    EXPECT_INVALID("limiter", sluicegate_limiter_new_from_file("memory://", "x", NULL, NULL, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_RULE, "/nowhere.json: ",
                   sluicegate_limiter_new_from_file("memory://", "/nowhere.json", NULL, &out, error));
    EXPECT(out == NULL);
}

static void limiter_options(void) {
    static const sluicegate_options none = SLUICEGATE_OPTIONS_INIT;
    sluicegate_options options;
    sluicegate_limiter *out = NULL, *older = NULL;
#define EXPECT_INVALID_OPTION(name, field, value)                                             \
    do {                                                                                      \
        options = none;                                                                       \
        options.field = (value);                                                              \
        EXPECT_INVALID(name, sluicegate_limiter_new("memory://", rules, &options, &out, error)); \
    } while (0)
    EXPECT_INVALID_OPTION("options.prefix", prefix, bad);
    EXPECT_INVALID_OPTION("options.tls_ca", tls_ca, bad);
    EXPECT_INVALID_OPTION("options.tls_cert", tls_cert, bad);
    EXPECT_INVALID_OPTION("options.tls_key", tls_key, bad);
    EXPECT_INVALID_OPTION("options.rules_cache", rules_cache, bad);
    EXPECT_INVALID_OPTION("options.identifier_secret", identifier_secret, bad);
    EXPECT_INVALID_OPTION("identifier_secret", identifier_secret, "short");
    EXPECT_INVALID_OPTION("rules_cache:", rules_cache, "cache.json");
    EXPECT_INVALID_OPTION("tls_cert and tls_key", tls_cert, "cert.pem");
    EXPECT_INVALID_OPTION("tls_cert and tls_key", tls_key, "key.pem");
    EXPECT_INVALID_OPTION("connect_timeout", connect_timeout_us, 1);
    EXPECT_INVALID_OPTION("response_timeout", response_timeout_us, SLUICEGATE_NEVER);
    EXPECT_INVALID_OPTION("options", size, 0);
    EXPECT_INVALID_OPTION("options", size, sizeof options - 1);
    EXPECT_INVALID_OPTION("options", size, sizeof options + 1);
    options = none;
    options.size = offsetof(sluicegate_options, rules_cache);
    options.rules_cache = bad;
    EXPECT_OK(sluicegate_limiter_new("memory://", rules, &options, &older, error));
    sluicegate_limiter_free(older);
    options = none;
    options.size = offsetof(sluicegate_options, identifier_secret);
    options.identifier_secret = bad;
    EXPECT_OK(sluicegate_limiter_new("memory://", rules, &options, &older, error));
    sluicegate_limiter_free(older);
    options = none;
    options.prefix = "";
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "prefix",
                   sluicegate_limiter_new("memory://", rules, &options, &out, error));
    EXPECT(out == NULL);
}

static void limiter_calls(void) {
    EXPECT_INVALID("limiter", sluicegate_limiter_ping(NULL, error));
    EXPECT_INVALID("limiter", sluicegate_limiter_ping_with(NULL, 0, error));
    EXPECT_INVALID("limiter", sluicegate_limiter_close(NULL, error));
    sluicegate_limiter_free(NULL);
}

/* `call` is a call in terms of `handle`, `rule`, `key`, `length` and `options`. */
#define EXPECT_ARGUMENTS_ARE_CHECKED(call)                                                    \
    do {                                                                                      \
        sluicegate_limiter *handle = NULL;                                                    \
        const char *rule = "a", *key = "k";                                                   \
        size_t length = 1;                                                                    \
        sluicegate_check_options changed = SLUICEGATE_CHECK_OPTIONS_INIT;                     \
        const sluicegate_check_options *options = NULL;                                       \
        EXPECT_INVALID("limiter", call);                                                      \
        handle = limiter;                                                                     \
        rule = NULL;                                                                          \
        EXPECT_INVALID("rule", call);                                                         \
        rule = bad;                                                                           \
        EXPECT_INVALID("rule", call);                                                         \
        rule = "b";                                                                           \
        EXPECT_REFUSED(SLUICEGATE_UNKNOWN_RULE, "no rule is called \"b\"", call);             \
        rule = "a";                                                                           \
        key = NULL;                                                                           \
        EXPECT_INVALID("key", call);                                                          \
        length = 0;                                                                           \
        EXPECT_INVALID("key", call);                                                          \
        key = "k";                                                                            \
        EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "", call);                                \
        length = SIZE_MAX;                                                                    \
        EXPECT_INVALID("key", call);                                                          \
        key = bad;                                                                            \
        length = 2;                                                                           \
        EXPECT_INVALID("key", call);                                                          \
        key = "k";                                                                            \
        length = 1;                                                                           \
        options = &changed;                                                                   \
        changed.size = 0;                                                                     \
        EXPECT_INVALID("options", call);                                                      \
        changed.size = sizeof changed + 8;                                                    \
        EXPECT_INVALID("options", call);                                                      \
        changed.size = sizeof changed;                                                        \
        changed.timeout_us = 999;                                                             \
        EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "rule \"a\": timeout", call);            \
        changed.size = offsetof(sluicegate_check_options, timeout_us);                        \
        EXPECT_OK(call);                                                                      \
        changed.size = sizeof changed;                                                        \
        changed.timeout_us = 0;                                                               \
        changed.resource_len = 1;                                                             \
        EXPECT_INVALID("options.resource", call);                                             \
        changed.resource = bad;                                                               \
        EXPECT_INVALID("options.resource", call);                                             \
    } while (0)

static void calls_about_one_key(void) {
    for (size_t i = 0; i < OPERATIONS; i++) {
        operation *call = operations[i].call;
        EXPECT_ARGUMENTS_ARE_CHECKED(call(handle, rule, key, length, options, &decision, error));
        EXPECT_INVALID("decision", call(limiter, "a", "k", 1, NULL, NULL, error));
    }
}

static void reset(void) {
    EXPECT_ARGUMENTS_ARE_CHECKED(sluicegate_reset(handle, rule, key, length, options, error));
}

static void wait(void) {
    EXPECT_ARGUMENTS_ARE_CHECKED(sluicegate_wait(handle, rule, key, length, options, 0, &decision, error));
    EXPECT_INVALID("decision", sluicegate_wait(limiter, "a", "k", 1, NULL, 0, NULL, error));
}

static void check_all(void) {
    sluicegate_check_options sizeless = SLUICEGATE_CHECK_OPTIONS_INIT;
    sizeless.size = 0;
    sluicegate_item items[2] = {{"a", "k", 1, NULL}, {"a", "k", 1, NULL}};
    EXPECT_INVALID("limiter", sluicegate_check_all(NULL, items, 2, &decision, NULL, error));
    EXPECT_INVALID("items", sluicegate_check_all(limiter, NULL, 2, &decision, NULL, error));
    EXPECT_INVALID("items", sluicegate_check_all(limiter, items, SIZE_MAX, &decision, NULL, error));
    EXPECT_INVALID("decision", sluicegate_check_all(limiter, items, 2, NULL, NULL, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "",
                   sluicegate_check_all(limiter, NULL, 0, &decision, NULL, error));
    items[1].rule = NULL;
    EXPECT_INVALID("items[1].rule", sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
    items[1].rule = bad;
    EXPECT_INVALID("items[1].rule", sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
    items[1].rule = "a";
    items[1].key = NULL;
    EXPECT_INVALID("items[1].key", sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
    items[1].key = bad;
    EXPECT_INVALID("items[1].key", sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
    items[1].key = "k";
    items[1].options = &sizeless;
    EXPECT_INVALID("items[1].options", sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
}

static void what_waits_or_is_repeated(void) {
    char id[SLUICEGATE_RESERVATION_ID_SIZE];
    uint64_t token;
    const sluicegate_item items[1] = {{"a", "k", 1, NULL}};
    EXPECT_INVALID("limiter", sluicegate_check_all_with(NULL, items, 1, "i", 1, &decision, NULL, error));
    EXPECT_INVALID("decision", sluicegate_check_all_with(limiter, items, 1, "i", 1, NULL, NULL, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "",
                   sluicegate_check_all_with(limiter, items, 1, "", 0, &decision, NULL, error));
    EXPECT_OK(sluicegate_check_all_with(limiter, items, 1, "i", 1, &decision, NULL, error));
    EXPECT_INVALID("limiter", sluicegate_reserve_within(NULL, "a", "k", 1, NULL, 0, &decision, id, sizeof id, &token,
                                                        error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "",
                   sluicegate_reserve_within(limiter, "a", "k", 1, NULL, 0, &decision, id, sizeof id, &token, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "",
                   sluicegate_reserve_all_within(limiter, items, 1, 0, &decision, NULL, id, sizeof id, &token, error));
}

static void wait_all(void) {
    sluicegate_item items[2] = {{"a", "k", 1, NULL}, {"a", NULL, 1, NULL}};
    EXPECT_INVALID("limiter", sluicegate_wait_all(NULL, items, 2, 0, &decision, NULL, error));
    EXPECT_INVALID("items", sluicegate_wait_all(limiter, NULL, 2, 0, &decision, NULL, error));
    EXPECT_INVALID("decision", sluicegate_wait_all(limiter, items, 1, 0, NULL, NULL, error));
    EXPECT_INVALID("items[1].key", sluicegate_wait_all(limiter, items, 2, 0, &decision, NULL, error));
}

#define LAST_MICROSECOND (UINT64_C(1) << 53)

static void clocks(void) {
    uint64_t now;
    sluicegate_clock *never_made = NULL;
    EXPECT_INVALID("clock", sluicegate_clock_new(0, NULL, error));
    EXPECT_INVALID("clock", sluicegate_clock_advance(NULL, 1, error));
    EXPECT_INVALID("clock", sluicegate_clock_set(NULL, 1, error));
    EXPECT_INVALID("clock", sluicegate_clock_now(NULL, &now, error));
    EXPECT_INVALID("now_us", sluicegate_clock_now(a_clock, NULL, error));
    EXPECT_INVALID("now_us 9007199254740993: must be", sluicegate_clock_set(a_clock, LAST_MICROSECOND + 1, error));
    EXPECT_INVALID("now_us 18446744073709551615: must be", sluicegate_clock_new(UINT64_MAX, &never_made, error));
    EXPECT(never_made == NULL);
    sluicegate_clock_free(NULL);
}

static void clocks_stop_at_the_last_microsecond(void) {
    uint64_t now = 0;
    EXPECT_OK(sluicegate_clock_set(a_clock, LAST_MICROSECOND, error));
    EXPECT_OK(sluicegate_clock_advance(a_clock, UINT64_MAX, error));
    EXPECT_OK(sluicegate_clock_now(a_clock, &now, error));
    EXPECT(now == LAST_MICROSECOND);
}

/* Outputs are written only on success, errors only on failure. */
static void outputs_are_left_alone(void) {
    sluicegate_decision before, after;
    sluicegate_error unwritten, error;
    memset(&before, 0x5A, sizeof before);
    memset(&after, 0x5A, sizeof after);
    EXPECT(sluicegate_check(limiter, "b", "k", 1, NULL, &after, NULL) == SLUICEGATE_UNKNOWN_RULE);
    EXPECT(memcmp(&before, &after, sizeof before) == 0);
    memset(&unwritten, 0x5A, sizeof unwritten);
    memset(&error, 0x5A, sizeof error);
    EXPECT(sluicegate_check(limiter, "a", "k", 1, NULL, &after, &error) == SLUICEGATE_OK);
    EXPECT(memcmp(&unwritten, &error, sizeof error) == 0);
}

static void a_charge_is_not_lost_on_a_bad_output(void) {
    EXPECT(sluicegate_check(limiter, "a", "unlost", 6, NULL, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    EXPECT_OK(sluicegate_peek(limiter, "a", "unlost", 6, NULL, &decision, error));
    EXPECT(decision.remaining == 5);
}

static void a_server_that_is_away_is_worth_a_retry(void) {
    sluicegate_limiter *away = NULL;
    sluicegate_error error = {SLUICEGATE_OK, false, "", ""};
    EXPECT(sluicegate_limiter_new("redis://:secret@127.0.0.1:1", rules, NULL, &away, NULL) == SLUICEGATE_OK);
    EXPECT(sluicegate_check(away, "a", "k", 1, NULL, &decision, &error) == SLUICEGATE_CONNECTION);
    EXPECT(error.status == SLUICEGATE_CONNECTION && error.retryable);
    EXPECT(strstr(error.message, "127.0.0.1:1") && !strstr(error.message, "secret"));
    EXPECT(sluicegate_limiter_ping(away, NULL) == SLUICEGATE_CONNECTION);
    sluicegate_limiter_free(away);
}

/* Takes connections and never answers. */
static int silent_server(char url[64]) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(server >= 0 && bind(server, (struct sockaddr *)&place, size) == 0 && listen(server, 16) == 0);
    EXPECT(getsockname(server, (struct sockaddr *)&place, &size) == 0);
    snprintf(url, 64, "redis://127.0.0.1:%d", ntohs(place.sin_port));
    return server;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_call_ends_by_its_own_time(void) {
    static const char *web = "[{\"rule_id\": \"a\", \"rate\": \"5/minute\", \"identifier_type\": \"ip_address\","
                             " \"match\": {\"path_pattern\": \"/\"}}]";
    sluicegate_limiter *away = NULL;
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_request request = SLUICEGATE_REQUEST_INIT;
    char url[64];
    int server = silent_server(url);
    double began = seconds();
    options.timeout_us = request.timeout_us = 50000;
    request.method = "GET", request.method_len = 3;
    request.path = "/", request.path_len = 1;
    request.ip = "203.0.113.9", request.ip_len = 11;
    EXPECT_OK(sluicegate_limiter_new(url, web, NULL, &away, error));
    EXPECT(sluicegate_check(away, "a", "k", 1, &options, &decision, NULL) == SLUICEGATE_TIMEOUT);
    EXPECT(sluicegate_reset(away, "a", "k", 1, &options, NULL) == SLUICEGATE_TIMEOUT);
    EXPECT(sluicegate_check_request(away, &request, &decision, NULL, 0, NULL, NULL) == SLUICEGATE_TIMEOUT);
    EXPECT(sluicegate_limiter_ping_with(away, 50000, NULL) == SLUICEGATE_TIMEOUT);
    /* One of them alone would take a second by default. */
    EXPECT(seconds() - began < 0.9);
    EXPECT(sluicegate_limiter_ping_with(away, 999, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    sluicegate_limiter_free(away);
    close(server);
}

static void statuses_have_names(void) {
    static const char *names[] = {"Ok", "InvalidRule", "UnknownRule", "InvalidArgument", "Connection",
                                  "Timeout", "Server", "Closed", "Internal", "Unknown"};
    for (int status = 0; status < 10; status++)
        EXPECT(strcmp(sluicegate_status_name(status), names[status]) == 0);
    EXPECT(strcmp(sluicegate_status_name(-1), "Unknown") == 0);
    EXPECT(strcmp(sluicegate_status_name(SLUICEGATE_CLOSED), "Closed") == 0);
}

static void the_version_is_that_of_the_manifest(void) {
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", SLUICEGATE_VERSION_MAJOR, SLUICEGATE_VERSION_MINOR,
             SLUICEGATE_VERSION_PATCH);
    EXPECT(strcmp(header, MANIFEST_VERSION) == 0);
    EXPECT(strcmp(sluicegate_version(), MANIFEST_VERSION) == 0);
}

int main(void) {
    EXPECT_OK(sluicegate_limiter_new("memory://", rules, NULL, &limiter, error));
    EXPECT_OK(sluicegate_clock_new(0, &a_clock, error));
    RUN(limiter_new);
    RUN(limiter_new_from_file);
    RUN(limiter_options);
    RUN(limiter_calls);
    RUN(calls_about_one_key);
    RUN(reset);
    RUN(wait);
    RUN(check_all);
    RUN(what_waits_or_is_repeated);
    RUN(wait_all);
    RUN(clocks);
    RUN(clocks_stop_at_the_last_microsecond);
    RUN(outputs_are_left_alone);
    RUN(a_charge_is_not_lost_on_a_bad_output);
    RUN(a_server_that_is_away_is_worth_a_retry);
    RUN(a_call_ends_by_its_own_time);
    RUN(statuses_have_names);
    RUN(the_version_is_that_of_the_manifest);
    sluicegate_limiter_free(limiter);
    sluicegate_clock_free(a_clock);
    return summary();
}
