/* Plays the conformance vectors: vectors BACKEND URL FILE... */
#include "vector.h"

static json_t *time_as_json(uint64_t us) {
    return us == SLUICEGATE_NEVER ? json_string("never") : json_integer((json_int_t)us);
}

static json_t *decision_as_json(const sluicegate_decision *decision) {
    return json_pack("{s:b, s:s, s:I, s:I, s:o, s:o, s:b}", "allowed", decision->allowed, "rule", decision->rule,
                     "limit", (json_int_t)decision->limit, "remaining", (json_int_t)decision->remaining,
                     "retry_after_us", time_as_json(decision->retry_after_us), "reset_after_us",
                     time_as_json(decision->reset_after_us), "shadow_denied", decision->shadow_denied);
}

static json_t *status_as_json(sluicegate_status status) {
    return status == SLUICEGATE_OK ? json_object()
                                   : json_pack("{s:s}", "error", sluicegate_status_name(status));
}

static json_t *play_check_all(const sluicegate_limiter *limiter, json_t *items) {
    struct call_items calls;
    sluicegate_decision decision, parts[MOST_ITEMS];
    read_items(items, &calls);
    sluicegate_status status =
        sluicegate_check_all(limiter, calls.items, calls.count, &decision, parts, NULL);
    if (status != SLUICEGATE_OK)
        return status_as_json(status);
    json_t *answer = decision_as_json(&decision), *parts_answer = json_array();
    for (size_t i = 0; i < calls.count; i++)
        json_array_append_new(parts_answer, decision_as_json(&parts[i]));
    json_object_set_new(answer, "parts", parts_answer);
    return answer;
}

static json_t *play(const sluicegate_limiter *limiter, json_t *step) {
    const char *op = text(step, "op");
    struct call_options room;
    sluicegate_decision decision;
    if (strcmp(op, "check_all") == 0)
        return play_check_all(limiter, json_object_get(step, "items"));
    const sluicegate_check_options *options = options_of(step, &room);
    const char *rule = text(step, "rule"), *key = text(step, "key");
    size_t length = text_length(step, "key");
    if (strcmp(op, "reset") == 0)
        return status_as_json(sluicegate_reset(limiter, rule, key, length, options, NULL));
    sluicegate_status status = operation_named(op)(limiter, rule, key, length, options, &decision, NULL);
    return status == SLUICEGATE_OK ? decision_as_json(&decision) : status_as_json(status);
}

static void tell(const char *id, size_t number, json_t *expected, json_t *answer) {
    char *wanted = json_dumps(expected, 0), *got = json_dumps(answer, 0);
    printf("FAILED %s, step %zu\n  expected %s\n  answered %s\n", id, number, wanted, got);
    free(wanted);
    free(got);
}

/* Vectors have prefixes of their own, so each finds nothing stored. */
static void run(const char *url, json_t *vector) {
    const char *id = text(vector, "id");
    char prefix[128];
    char *rules = rules_of(json_object_get(vector, "rules"));
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_clock *clock = NULL;
    sluicegate_limiter *limiter = NULL;
    sluicegate_error error;
    size_t number;
    json_t *step;

    snprintf(prefix, sizeof prefix, "C/%s", id);
    options.prefix = prefix;
    options.response_timeout_us = options.connect_timeout_us = 30000000;
    if (sluicegate_clock_new(0, &clock, &error) != SLUICEGATE_OK)
        fail(id, error.message);
    options.clock = clock;
    if (sluicegate_limiter_new(url, rules, &options, &limiter, &error) != SLUICEGATE_OK)
        fail(id, error.message);
    json_array_foreach(json_object_get(vector, "steps"), number, step) {
        json_t *expected = json_object_get(step, "expect");
        sluicegate_clock_set(clock, (uint64_t)json_integer_value(json_object_get(step, "at_us")), NULL);
        json_t *answer = play(limiter, step);
        wrong = !json_equal(expected, answer);
        if (wrong)
            tell(id, number, expected, answer);
        json_decref(answer);
        if (wrong)
            break;
    }
    wrong ? failed++ : passed++;
    sluicegate_limiter_free(limiter);
    sluicegate_clock_free(clock);
    free(rules);
}

int main(int argc, char **argv) {
    for (int i = 3; i < argc; i++) {
        size_t number;
        json_t *vector, *file = load(argv[i]);
        json_array_foreach(json_object_get(file, "vectors"), number, vector)
            run(argv[2], vector);
        json_decref(file);
    }
    return vectors_summary(argv[1], 0, "");
}
