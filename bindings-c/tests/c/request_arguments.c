/* Everything about requests as it must not be: answered with a status and a message that names it. */
#include "refused.h"

#include <stddef.h>

static const char rules[] =
    "[{\"rule_id\": \"a\", \"algorithm\": \"gcra\", \"limit\": 5, \"window_size_seconds\": 10,"
    "  \"identifier_type\": \"user_id\", \"match\": {}}]";

static sluicegate_limiter *limiter;
static sluicegate_decision decision;
static sluicegate_matches *matches;

static const sluicegate_request good = {
    sizeof(sluicegate_request), "GET", 3, "/", 1, "alice", 5, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0};

static void ignore(void *context, const char *name, const char *value) {
    (void)context, (void)name, (void)value;
}

#define EXPECT_INVALID_REQUEST(name, request)                                                 \
    do {                                                                                      \
        EXPECT_INVALID(name, sluicegate_check_request(limiter, request, &decision, NULL, 0, NULL, error)); \
        EXPECT_INVALID(name, sluicegate_match_request(limiter, request, false, &matches, error)); \
        EXPECT_INVALID(name, sluicegate_match_request(limiter, request, true, &matches, error)); \
    } while (0)

/* Each text of a request as NULL with a length, as no UTF-8, and longer than memory. */
#define EXPECT_TEXT_IS_CHECKED(field)                                                         \
    do {                                                                                      \
        sluicegate_request request = good;                                                    \
        request.field = NULL;                                                                 \
        request.field##_len = 1;                                                              \
        EXPECT_INVALID_REQUEST("request." #field, &request);                                  \
        request.field = bad;                                                                  \
        EXPECT_INVALID_REQUEST("request." #field, &request);                                  \
        request.field##_len = SIZE_MAX;                                                       \
        EXPECT_INVALID_REQUEST("request." #field, &request);                                  \
    } while (0)

static void texts_of_a_request(void) {
    EXPECT_TEXT_IS_CHECKED(method);
    EXPECT_TEXT_IS_CHECKED(path);
    EXPECT_TEXT_IS_CHECKED(user_id);
    EXPECT_TEXT_IS_CHECKED(ip);
    EXPECT_TEXT_IS_CHECKED(api_key);
    EXPECT_TEXT_IS_CHECKED(api_key_header);
}

static void requests(void) {
    sluicegate_request request = good;
    EXPECT_INVALID_REQUEST("request", NULL);
    request.size = 0;
    EXPECT_INVALID_REQUEST("request", &request);
    request.size = sizeof request + 8;
    EXPECT_INVALID_REQUEST("request", &request);
    request = good;
    request.method_len = 0;
    EXPECT_INVALID_REQUEST("method", &request);
    request = good;
    request.path_len = 0;
    EXPECT_INVALID_REQUEST("path", &request);
    request = good;
    request.ip = "nowhere";
    request.ip_len = 7;
    EXPECT_INVALID_REQUEST("ip", &request);
    request = good;
    request.path = NULL;
    request.path_len = 0;
    EXPECT_INVALID_REQUEST("request.path", &request);
}

static void other_paths_of_a_request(void) {
    const char *paths[] = {"/a", "/b"};
    sluicegate_request request = good;
    request.other_path_count = 2;
    EXPECT_INVALID_REQUEST("request.other_paths", &request);
    request.other_paths = paths;
    EXPECT_OK(sluicegate_check_request(limiter, &request, &decision, NULL, 0, NULL, error));
    paths[1] = NULL;
    EXPECT_INVALID_REQUEST("request.other_paths", &request);
    paths[1] = bad;
    EXPECT_INVALID_REQUEST("request.other_paths", &request);
    request.other_path_count = SIZE_MAX;
    EXPECT_INVALID_REQUEST("request.other_paths", &request);
}

/* A program that was compiled before a request had other paths. */
static void older_requests(void) {
    sluicegate_request request = good;
    request.size = offsetof(sluicegate_request, api_key_header);
    request.other_path_count = 1;
    EXPECT_OK(sluicegate_check_request(limiter, &request, &decision, NULL, 0, NULL, error));
    /* Or a timeout. */
    request.size = offsetof(sluicegate_request, timeout_us);
    request.other_path_count = 0;
    request.timeout_us = 1;
    EXPECT_OK(sluicegate_check_request(limiter, &request, &decision, NULL, 0, NULL, error));
    request.size = sizeof request;
    EXPECT_INVALID("timeout", sluicegate_check_request(limiter, &request, &decision, NULL, 0, NULL, error));
}

static void headers_of_a_request(void) {
    sluicegate_header headers[] = {{"a", 1, "b", 1}, {"c", 1, NULL, 0}};
    sluicegate_request request = good;
    request.header_count = 2;
    EXPECT_INVALID_REQUEST("request.headers", &request);
    request.headers = headers;
    EXPECT_OK(sluicegate_check_request(limiter, &request, &decision, NULL, 0, NULL, error));
    headers[1].name = NULL;
    EXPECT_INVALID_REQUEST("request.headers[1].name", &request);
    headers[1].name = bad;
    headers[1].name_len = 2;
    EXPECT_INVALID_REQUEST("request.headers[1].name", &request);
    headers[1].name = "c d";
    headers[1].name_len = 3;
    EXPECT_INVALID_REQUEST("headers", &request);
    headers[1].name_len = 1;
    headers[1].value_len = 1;
    EXPECT_INVALID_REQUEST("request.headers[1].value", &request);
    headers[1].value = bad;
    EXPECT_INVALID_REQUEST("request.headers[1].value", &request);
    request.header_count = SIZE_MAX;
    EXPECT_INVALID_REQUEST("request.headers", &request);
}

static void handles_and_outputs(void) {
    sluicegate_rules state;
    EXPECT_INVALID("limiter", sluicegate_check_request(NULL, &good, &decision, NULL, 0, NULL, error));
    EXPECT_INVALID("decision", sluicegate_check_request(limiter, &good, NULL, NULL, 0, NULL, error));
    EXPECT_INVALID("limiter", sluicegate_match_request(NULL, &good, true, &matches, error));
    EXPECT_INVALID("matches", sluicegate_match_request(limiter, &good, true, NULL, error));
    EXPECT_INVALID("limiter", sluicegate_rules_status(NULL, &state, NULL, NULL, error));
    EXPECT_INVALID("rules", sluicegate_rules_status(limiter, NULL, NULL, NULL, error));
    EXPECT(matches == NULL);
    EXPECT(sluicegate_matches_count(NULL) == 0 && sluicegate_matches_at(NULL, 0) == NULL);
    sluicegate_matches_free(NULL);
}

static void headers_of_a_decision(void) {
    sluicegate_decision wrong_one;
    EXPECT_OK(sluicegate_check_request(limiter, &good, &decision, NULL, 0, NULL, error));
    EXPECT_INVALID("decision", sluicegate_decision_headers(NULL, NULL, 0, "ietf", ignore, NULL, error));
    EXPECT_INVALID("parts", sluicegate_decision_headers(&decision, NULL, 1, "ietf", ignore, NULL, error));
    EXPECT_INVALID("parts",
                   sluicegate_decision_headers(&decision, &decision, SIZE_MAX, "ietf", ignore, NULL, error));
    EXPECT_INVALID("style", sluicegate_decision_headers(&decision, NULL, 0, NULL, ignore, NULL, error));
    EXPECT_INVALID("style", sluicegate_decision_headers(&decision, NULL, 0, bad, ignore, NULL, error));
    EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, "style: ",
                   sluicegate_decision_headers(&decision, NULL, 0, "IETF", ignore, NULL, error));
    EXPECT_INVALID("header", sluicegate_decision_headers(&decision, NULL, 0, "ietf", NULL, NULL, error));
    memset(&wrong_one, 0xFF, sizeof wrong_one);
    EXPECT_INVALID("decision", sluicegate_decision_headers(&wrong_one, NULL, 0, "ietf", ignore, NULL, error));
    EXPECT_INVALID("parts", sluicegate_decision_headers(&decision, &wrong_one, 1, "ietf", ignore, NULL, error));
}

/* A request that is refused is not counted. */
static void a_charge_is_not_lost_on_a_bad_output(void) {
    sluicegate_request request = good;
    request.user_id = "unlost";
    request.user_id_len = 6;
    EXPECT(sluicegate_check_request(limiter, &request, NULL, NULL, 0, NULL, NULL) == SLUICEGATE_INVALID_ARGUMENT);
    EXPECT_OK(sluicegate_peek(limiter, "a", "unlost", 6, NULL, &decision, error));
    EXPECT(decision.remaining == 5);
}

int main(void) {
    EXPECT_OK(sluicegate_limiter_new("memory://", rules, NULL, &limiter, error));
    RUN(requests);
    RUN(texts_of_a_request);
    RUN(other_paths_of_a_request);
    RUN(older_requests);
    RUN(headers_of_a_request);
    RUN(handles_and_outputs);
    RUN(headers_of_a_decision);
    RUN(a_charge_is_not_lost_on_a_bad_output);
    sluicegate_limiter_free(limiter);
    return summary();
}
