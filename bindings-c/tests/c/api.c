/* Every function, as a caller uses it: api URL RULES_FILE */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "expect.h"

static const char *url, *rules_file;

static const char rules[] =
    "["
    "{\"rule_id\": \"three\", \"algorithm\": \"fixed_window\", \"limit\": 3, \"window_size_seconds\": 10},"
    "{\"rule_id\": \"one\", \"algorithm\": \"gcra\", \"limit\": 1, \"window_size_seconds\": 10},"
    "{\"rule_id\": \"printer\", \"algorithm\": \"fixed_window\", \"limits\": ["
    "  {\"limit\": 4, \"window_size_seconds\": 10, \"scope\": \"resource\"},"
    "  {\"limit\": 2, \"window_size_seconds\": 10}]},"
    "{\"rule_id\": \"quiet\", \"algorithm\": \"fixed_window\", \"limit\": 1, \"window_size_seconds\": 10,"
    "  \"shadow\": true}"
    "]";

static sluicegate_clock *the_clock;
static sluicegate_limiter *limiter;

/* A limiter that finds nothing stored, on a clock that shows second 1000. */
static void open_limiter(const char *prefix) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    EXPECT_OK(sluicegate_clock_new(1000000000, &the_clock, error));
    options.prefix = prefix;
    options.clock = the_clock;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
}

static void close_limiter(void) {
    sluicegate_limiter_free(limiter);
    sluicegate_clock_free(the_clock);
}

static void a_check_admits_and_denies(void) {
    sluicegate_decision decision;
    open_limiter("c/check");
    for (uint64_t left = 3; left-- > 0;) {
        EXPECT_OK(sluicegate_check(limiter, "three", "alice", 5, NULL, &decision, error));
        EXPECT(decision.allowed && decision.remaining == left && decision.retry_after_us == 0);
    }
    EXPECT_OK(sluicegate_clock_advance(the_clock, 4000000, error));
    EXPECT_OK(sluicegate_check(limiter, "three", "alice", 5, NULL, &decision, error));
    EXPECT(!decision.allowed && !decision.shadow_denied);
    EXPECT(decision.limit == 3 && decision.remaining == 0);
    EXPECT(decision.retry_after_us == 6000000 && decision.reset_after_us == 6000000);
    EXPECT(strcmp(decision.rule, "three") == 0);
    EXPECT(decision.source == (strcmp(url, "memory://") ? SLUICEGATE_SOURCE_SERVER : SLUICEGATE_SOURCE_MEMORY));
    for (size_t i = 0; i < sizeof decision.reserved; i++)
        EXPECT(decision.reserved[i] == 0);
    close_limiter();
}

static void a_cost_that_never_fits_waits_for_ever(void) {
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision;
    open_limiter("c/never");
    options.cost = 4;
    EXPECT_OK(sluicegate_check(limiter, "three", "alice", 5, &options, &decision, error));
    EXPECT(!decision.allowed && decision.retry_after_us == SLUICEGATE_NEVER);
    EXPECT_OK(sluicegate_wait(limiter, "three", "alice", 5, &options, SLUICEGATE_NEVER, &decision, error));
    EXPECT(!decision.allowed);
    close_limiter();
}

static void a_limit_of_its_own_replaces_the_rule_s(void) {
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision;
    const uint64_t limit = 10;
    open_limiter("c/limit");
    options.cost = 4;
    options.limit = &limit;
    EXPECT_OK(sluicegate_check(limiter, "three", "alice", 5, &options, &decision, error));
    EXPECT(decision.allowed && decision.limit == 10 && decision.remaining == 6);
    close_limiter();
}

static void a_resource_is_shared_by_keys(void) {
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision;
    open_limiter("c/resource");
    options.cost = 2;
    options.resource = "hall";
    options.resource_len = 4;
    EXPECT_OK(sluicegate_check(limiter, "printer", "alice", 5, &options, &decision, error));
    EXPECT_OK(sluicegate_check(limiter, "printer", "bob", 3, &options, &decision, error));
    EXPECT(decision.allowed && decision.remaining == 0);
    EXPECT_OK(sluicegate_check(limiter, "printer", "carol", 5, &options, &decision, error));
    EXPECT(!decision.allowed && decision.limit == 4);
    close_limiter();
}

static void count_shadow_denials(void *context, bool is_warning, const char *event, const char *message) {
    if (strcmp(event, "shadow_denied") == 0 && !is_warning && strstr(message, "\"quiet\"") != NULL)
        ++*(int *)context;
}

static void a_shadow_admits_and_says_so(void) {
    sluicegate_decision decision;
    int told = 0;
    sluicegate_set_log(count_shadow_denials, &told);
    open_limiter("c/shadow");
    EXPECT_OK(sluicegate_check(limiter, "quiet", "alice", 5, NULL, &decision, error));
    EXPECT(decision.allowed && !decision.shadow_denied);
    EXPECT_OK(sluicegate_check(limiter, "quiet", "alice", 5, NULL, &decision, error));
    EXPECT(decision.allowed && decision.shadow_denied);
    EXPECT(told == 1);
    EXPECT_OK(sluicegate_check(limiter, "quiet", "alice", 5, NULL, &decision, error));
    EXPECT(decision.shadow_denied && told == 1);
    sluicegate_set_log(NULL, NULL);
    close_limiter();
}

static void peek_refund_and_reset(void) {
    sluicegate_check_options two = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision;
    open_limiter("c/undo");
    two.cost = 2;
    EXPECT_OK(sluicegate_check(limiter, "three", "alice", 5, &two, &decision, error));
    EXPECT_OK(sluicegate_peek(limiter, "three", "alice", 5, &two, &decision, error));
    EXPECT(!decision.allowed && decision.remaining == 1);
    EXPECT_OK(sluicegate_refund(limiter, "three", "alice", 5, NULL, &decision, error));
    EXPECT(decision.allowed && decision.remaining == 2);
    EXPECT_OK(sluicegate_reset(limiter, "three", "alice", 5, NULL, error));
    EXPECT_OK(sluicegate_peek(limiter, "three", "alice", 5, NULL, &decision, error));
    EXPECT(decision.remaining == 3 && decision.reset_after_us == 0);
    close_limiter();
}

static void a_wait_moves_a_clock_of_its_own(void) {
    sluicegate_decision decision;
    uint64_t now = 0;
    open_limiter("c/wait");
    EXPECT_OK(sluicegate_wait(limiter, "one", "alice", 5, NULL, 0, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_wait(limiter, "one", "alice", 5, NULL, 9999999, &decision, error));
    EXPECT(!decision.allowed && decision.retry_after_us == 10000000);
    EXPECT_OK(sluicegate_wait(limiter, "one", "alice", 5, NULL, 11000000, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_clock_now(the_clock, &now, error));
    EXPECT(now == 1010000000);
    close_limiter();
}

static void a_wait_for_several_charges_all_of_them(void) {
    const sluicegate_item items[] = {{"three", "alice", 5, NULL}, {"one", "alice", 5, NULL}};
    sluicegate_decision decision, parts[2];
    open_limiter("c/wait_all");
    EXPECT_OK(sluicegate_wait_all(limiter, items, 2, 0, &decision, parts, error));
    EXPECT(decision.allowed && parts[0].remaining == 2 && parts[1].remaining == 0);
    EXPECT_OK(sluicegate_wait_all(limiter, items, 2, 9999999, &decision, NULL, error));
    EXPECT(!decision.allowed && decision.retry_after_us == 10000000);
    EXPECT_OK(sluicegate_wait_all(limiter, items, 2, 11000000, &decision, parts, error));
    EXPECT(decision.allowed && parts[1].remaining == 0);
    close_limiter();
}

static void several_checks_are_all_or_nothing(void) {
    sluicegate_check_options four = SLUICEGATE_CHECK_OPTIONS_INIT;
    const sluicegate_item items[] = {{"three", "alice", 5, NULL}, {"one", "alice", 5, NULL}};
    const sluicegate_item expensive[] = {{"one", "bob", 3, NULL}, {"three", "bob", 3, &four}};
    sluicegate_decision decision, parts[2];
    open_limiter("c/all");
    four.cost = 4;
    EXPECT_OK(sluicegate_check_all(limiter, items, 2, &decision, parts, error));
    EXPECT(decision.allowed && strcmp(decision.rule, "one") == 0);
    EXPECT(parts[0].remaining == 2 && parts[1].remaining == 0);
    EXPECT_OK(sluicegate_check_all(limiter, items, 2, &decision, NULL, error));
    EXPECT(!decision.allowed && decision.retry_after_us == 10000000);
    EXPECT_OK(sluicegate_check_all(limiter, expensive, 2, &decision, parts, error));
    EXPECT(!decision.allowed && parts[0].allowed && !parts[1].allowed);
    EXPECT(strcmp(parts[0].rule, "one") == 0 && strcmp(parts[1].rule, "three") == 0);
    EXPECT_OK(sluicegate_peek(limiter, "one", "bob", 3, NULL, &decision, error));
    EXPECT(decision.allowed);
    close_limiter();
}

static void keys_hold_any_character(void) {
    sluicegate_decision decision;
    char *longer = (char *)malloc(100000);
    open_limiter("c/keys");
    memset(longer, 'x', 100000);
    EXPECT_OK(sluicegate_check(limiter, "one", "a\0b", 3, NULL, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_check(limiter, "one", "a", 1, NULL, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_check(limiter, "one", "Gr\xc3\xbc\xc3\x9f" "e{}", 9, NULL, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_check(limiter, "one", longer, 100000, NULL, &decision, error));
    EXPECT(decision.allowed);
    EXPECT_OK(sluicegate_check(limiter, "one", longer, 99999, NULL, &decision, error));
    EXPECT(decision.allowed);
    free(longer);
    close_limiter();
}

static void a_clock_can_be_set_and_freed_before_its_limiter(void) {
    sluicegate_decision decision;
    uint64_t now = 0;
    open_limiter("c/clock");
    EXPECT_OK(sluicegate_clock_set(the_clock, 5, error));
    EXPECT_OK(sluicegate_clock_advance(the_clock, 7, error));
    EXPECT_OK(sluicegate_clock_now(the_clock, &now, error));
    EXPECT(now == 12);
    sluicegate_clock_free(the_clock);
    the_clock = NULL;
    EXPECT_OK(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, error));
    close_limiter();
}

static void rules_come_from_a_file_too(void) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_decision decision;
    options.prefix = "c/file";
    EXPECT_OK(sluicegate_limiter_new_from_file(url, rules_file, &options, &limiter, error));
    EXPECT_OK(sluicegate_check(limiter, "from_file", "alice", 5, NULL, &decision, error));
    EXPECT(decision.allowed && decision.limit == 7);
    sluicegate_limiter_free(limiter);
}

static void options_are_used(void) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_decision decision;
    options.prefix = "c/options";
    options.connect_timeout_us = 2000000;
    options.response_timeout_us = 2000000;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
    EXPECT_OK(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, error));
    EXPECT(decision.allowed && decision.reset_after_us <= 10000000);
    sluicegate_limiter_free(limiter);
}

static void closing_is_final(void) {
    sluicegate_decision decision;
    sluicegate_error error;
    open_limiter("c/close");
    EXPECT_OK(sluicegate_limiter_ping(limiter, error));
    EXPECT_OK(sluicegate_limiter_close(limiter, error));
    EXPECT_OK(sluicegate_limiter_close(limiter, error));
    EXPECT(sluicegate_check(limiter, "one", "a", 1, NULL, &decision, &error) == SLUICEGATE_CLOSED);
    EXPECT(error.status == SLUICEGATE_CLOSED && !error.retryable && error.message[0] != '\0');
    EXPECT(sluicegate_limiter_ping(limiter, NULL) == SLUICEGATE_CLOSED);
    close_limiter();
}

/* Stores what no limiter stores. */
static void damage(const char *name) {
    char command[256], answer[8];
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int length = snprintf(command, sizeof command, "SET %s garbage EX 60\r\n", name);
    EXPECT(connect(server, (struct sockaddr *)&address, sizeof address) == 0);
    EXPECT(send(server, command, (size_t)length, 0) == length);
    EXPECT(recv(server, answer, sizeof answer, 0) == 5 && memcmp(answer, "+OK\r\n", 5) == 0);
    close(server);
}

static void a_damaged_key_is_reported_to_the_caller(void) {
    static const char name[] = "c/damage:one:{alice}:gt10s";
    sluicegate_decision decision;
    sluicegate_error error;
    if (strncmp(url, "redis://", 8) != 0)
        return;
    open_limiter("c/damage");
    damage(name);
    EXPECT(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, &error) == SLUICEGATE_SERVER);
    EXPECT(strcmp(error.key, name) == 0);
    EXPECT(strstr(error.message, "rule \"one\"") && !strstr(error.message, "alice"));
    EXPECT(sluicegate_check(limiter, "one", "", 0, NULL, &decision, &error) == SLUICEGATE_INVALID_ARGUMENT);
    EXPECT(error.key[0] == '\0');
    close_limiter();
}

/* Longer than the lease. */
static void work_for_a_while(void *allowed) {
    static const struct timespec pause = {2, 600000000};
    sluicegate_decision decision;
    nanosleep(&pause, NULL);
    EXPECT_OK(sluicegate_peek(limiter, "jobs", "report", 6, NULL, &decision, error));
    *(bool *)allowed = decision.allowed;
}

static void work_keeps_what_is_renewed(void) {
    static const char jobs[] =
        "[{\"rule_id\": \"jobs\", \"algorithm\": \"concurrency\", \"limit\": 1, \"lease_seconds\": 2}]";
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_decision decision;
    char id[SLUICEGATE_RESERVATION_ID_SIZE];
    bool allowed = true, took_effect = false;
    options.prefix = "c/renewed";
    EXPECT_OK(sluicegate_limiter_new(url, jobs, &options, &limiter, error));
    EXPECT_OK(sluicegate_reserve(limiter, "jobs", "report", 6, NULL, &decision, id, sizeof id, NULL, error));
    EXPECT_OK(sluicegate_while_renewed(limiter, id, work_for_a_while, &allowed, error));
    EXPECT(decision.allowed && !allowed);
    EXPECT_OK(sluicegate_commit(limiter, id, NULL, &took_effect, error));
    EXPECT(took_effect);
    EXPECT_OK(sluicegate_reserve(limiter, "jobs", "report", 6, NULL, &decision, id, sizeof id, NULL, error));
    work_for_a_while(&allowed);
    EXPECT_OK(sluicegate_commit(limiter, id, NULL, &took_effect, error));
    EXPECT(allowed && !took_effect);
    EXPECT_OK(sluicegate_while_renewed(limiter, "", work_for_a_while, &allowed, error));
    EXPECT(allowed);
    EXPECT(sluicegate_while_renewed(limiter, "", NULL, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    sluicegate_limiter_free(limiter);
}

static char counted[4096];

static void keep_text(void *context, const char *type, const char *text) {
    *(bool *)context = strcmp(type, "application/json") == 0 && strlen(text) < sizeof counted;
    snprintf(counted, sizeof counted, "%s", text);
}

static void what_was_counted_is_told(void) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_decision decision;
    bool is_json = false;

    options.prefix = "what-was-counted";
    options.top_denied = 5;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
    EXPECT_OK(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, error));
    EXPECT_OK(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, error));
    EXPECT_OK(sluicegate_metrics(limiter, keep_text, &is_json, error));
    EXPECT(is_json && strstr(counted, "\"top_denied\":[{\"denied\":1,\"key\":\"alice\",\"overstated\":0}]"));
    EXPECT(strstr(counted, "\"admitted\":1,\"blocked\":0,\"denied\":1"));
    sluicegate_limiter_free(limiter);
}

/* Signs in as a user whom any password lets in; counts its calls. */
static bool sign_in(void *context, const sluicegate_credentials *credentials) {
    int *calls = (int *)context;

    if (++*calls == 1)
        return false;
    return sluicegate_credentials_set(credentials, "default", "any", NULL) == SLUICEGATE_OK;
}

static void a_callback_gives_user_and_password(void) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_credentials_source source = {sign_in, NULL};
    sluicegate_decision decision;
    sluicegate_error problem;
    int calls = 0;

    if (strncmp(url, "redis://", 8) != 0)
        return;
    options.prefix = "credentials";
    options.credentials = &source;
    source.context = &calls;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
    EXPECT(sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, &problem) == SLUICEGATE_CONNECTION);
    EXPECT(strstr(problem.message, "`credentials` returned an error") != NULL);
    /* For a tenth of a second, the error of the last connection is that of every call. */
    while (calls < 3 && sluicegate_check(limiter, "one", "alice", 5, NULL, &decision, &problem) != SLUICEGATE_OK)
        continue;
    EXPECT(decision.allowed && !decision.replicated && calls == 2);
    sluicegate_limiter_free(limiter);
    source.callback = NULL;
    EXPECT(sluicegate_limiter_new(url, rules, &options, &limiter, &problem) == SLUICEGATE_INVALID_ARGUMENT);
    EXPECT(strcmp(problem.message, "options.credentials has no callback") == 0);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    url = argv[1];
    rules_file = argv[2];
    RUN(a_check_admits_and_denies);
    RUN(a_cost_that_never_fits_waits_for_ever);
    RUN(a_limit_of_its_own_replaces_the_rule_s);
    RUN(a_resource_is_shared_by_keys);
    RUN(a_shadow_admits_and_says_so);
    RUN(peek_refund_and_reset);
    RUN(a_wait_moves_a_clock_of_its_own);
    RUN(a_wait_for_several_charges_all_of_them);
    RUN(several_checks_are_all_or_nothing);
    RUN(keys_hold_any_character);
    RUN(a_clock_can_be_set_and_freed_before_its_limiter);
    RUN(rules_come_from_a_file_too);
    RUN(options_are_used);
    RUN(a_damaged_key_is_reported_to_the_caller);
    RUN(work_keeps_what_is_renewed);
    RUN(closing_is_final);
    RUN(what_was_counted_is_told);
    RUN(a_callback_gives_user_and_password);
    return summary();
}
