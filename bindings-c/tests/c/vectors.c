/* Plays the conformance vectors: vectors BACKEND URL FILE... */
#include "overview.h"

static json_t *time_as_json(uint64_t us) {
    return us == SLUICEGATE_NEVER ? json_string("never") : json_integer((json_int_t)us);
}

static json_t *decision_as_json(const sluicegate_decision *decision) {
    json_t *answer =
        json_pack("{s:b, s:s, s:I, s:I, s:o, s:o, s:b}", "allowed", decision->allowed, "rule", decision->rule,
                     "limit", (json_int_t)decision->limit, "remaining", (json_int_t)decision->remaining,
                     "retry_after_us", time_as_json(decision->retry_after_us), "reset_after_us",
                     time_as_json(decision->reset_after_us), "shadow_denied", decision->shadow_denied);
    if (decision->blocked)
        json_object_set_new(answer, "blocked", json_true());
    return answer;
}

static void add_rule(void *rules, const char *name, const char *rule) {
    (void)name;
    json_array_append_new((json_t *)rules, json_loads(rule, 0, NULL));
}

static json_t *rules_in_force(sluicegate_limiter *limiter) {
    json_t *rules = json_array();
    sluicegate_limiter_rules(limiter, add_rule, rules, NULL);
    return json_pack("{s:o}", "rules", rules);
}

/* `ids` keeps the ids of reservations by the names that the vector gives them. */
static json_t *play(sluicegate_limiter *limiter, json_t *step, json_t *ids) {
    struct call_answer given = {0};
    if (strcmp(text(step, "op"), "rules") == 0)
        return rules_in_force(limiter);
    const char *name = json_string_value(json_object_get(step, "as"));
    bool ends = is_ending(text(step, "op"));
    sluicegate_status status = ends ? end(limiter, step, text(ids, text(step, "reservation")), &given, NULL)
                                    : make_any(limiter, step, &given, NULL);
    if (status != SLUICEGATE_OK)
        return json_pack("{s:s}", "error", sluicegate_status_name(status));
    if (ends || ending_named(text(step, "op")))
        return json_pack("{s:b}", "took_effect", given.took_effect);
    if (!given.is_decision)
        return json_object();
    json_t *answer = given.decision.rule_applied ? decision_as_json(&given.decision)
                                                : json_pack("{s:b, s:b}", "allowed", given.decision.allowed,
                                                            "rule_applied", given.decision.rule_applied);
    json_t *parts = json_array();
    for (size_t i = 0; i < given.parts_count; i++)
        json_array_append_new(parts, decision_as_json(&given.parts[i]));
    if (given.parts_count > 0)
        json_object_set(answer, "parts", parts);
    json_decref(parts);
    if (name) {
        json_object_set_new(ids, name, json_string(given.id));
        json_object_set_new(answer, "id", json_boolean(given.id[0] != '\0'));
        if (given.token != 0)
            json_object_set_new(answer, "token", json_integer((json_int_t)given.token));
    }
    return answer;
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
    json_t *step, *ids = json_object();

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
        json_t *answer = play(limiter, step, ids);
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
    json_decref(ids);
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
