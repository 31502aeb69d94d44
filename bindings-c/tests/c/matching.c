/* Plays the vectors for the matching of requests: matching FILE... */
#include "request.h"

static const char every_condition[] = "every condition holds";

static json_t *match_as_json(const sluicegate_match *match) {
    json_t *fields = json_pack("{s:s, s:s%}", "rule_id", match->rule_id, "key", match->key, match->key_len);
    if (match->resource)
        json_object_set_new(fields, "resource", json_stringn(match->resource, match->resource_len));
    return fields;
}

/* The matches of a list, and the reasons why the other rules do not match. */
static json_t *list_as_json(sluicegate_matches *matches, json_t *reasons) {
    json_t *list = json_array();
    for (size_t i = 0; i < sluicegate_matches_count(matches); i++) {
        const sluicegate_match *match = sluicegate_matches_at(matches, i);
        if (match->matched) {
            json_array_append_new(list, match_as_json(match));
            EXPECT(!match->reason == !reasons);
            EXPECT(!match->reason || strcmp(match->reason, every_condition) == 0);
        } else {
            EXPECT(!match->key && !match->resource && reasons);
            json_object_set_new(reasons, match->rule_id, json_string(match->reason));
        }
    }
    EXPECT(sluicegate_matches_at(matches, sluicegate_matches_count(matches)) == NULL);
    sluicegate_matches_free(matches);
    return list;
}

/* Compares, and gives up what was answered. */
static void same(const char *what, json_t *expected, json_t *answered) {
    if (!json_equal(expected, answered)) {
        char *wanted = json_dumps(expected, 0), *got = json_dumps(answered, 0);
        printf("%s: expected %s\n  answered %s\n", what, wanted, got);
        free(wanted);
        free(got);
        wrong++;
    }
    json_decref(answered);
}

static void answers(const sluicegate_limiter *limiter, const sluicegate_request *request, json_t *expected,
                    json_t *expected_reasons) {
    sluicegate_matches *matches = NULL;
    sluicegate_decision decision, parts[MOST_ITEMS];
    json_t *reasons = json_object(), *rules = json_array(), *applied = json_array();
    json_t *match;
    size_t number, count = 0;
    EXPECT_OK(sluicegate_match_request(limiter, request, false, &matches, error));
    same("matches", expected, list_as_json(matches, NULL));
    EXPECT_OK(sluicegate_match_request(limiter, request, true, &matches, error));
    same("explained matches", expected, list_as_json(matches, reasons));
    if (expected_reasons)
        same("reasons", expected_reasons, json_incref(reasons));
    EXPECT_OK(sluicegate_check_request(limiter, request, &decision, parts, MOST_ITEMS, &count, error));
    EXPECT(decision.allowed && decision.rule_applied == (json_array_size(expected) > 0));
    json_array_foreach(expected, number, match)
        json_array_append(rules, json_object_get(match, "rule_id"));
    for (size_t i = 0; i < count; i++)
        json_array_append_new(applied, json_string(parts[i].rule));
    same("parts", rules, applied);
    json_decref(rules);
    json_decref(reasons);
}

static void refuses(const sluicegate_limiter *limiter, const sluicegate_request *request, const char *argument) {
    size_t length = strlen(argument);
    sluicegate_matches *matches = NULL;
    sluicegate_decision decision;
    sluicegate_error error;
    for (int call = 0; call < 3; call++) {
        sluicegate_status status =
            call == 2 ? sluicegate_check_request(limiter, request, &decision, NULL, 0, NULL, &error)
                      : sluicegate_match_request(limiter, request, call == 1, &matches, &error);
        EXPECT(status == SLUICEGATE_INVALID_ARGUMENT && matches == NULL);
        EXPECT(strncmp(error.message, argument, length) == 0 && error.message[length] == ' ');
    }
}

static void run(json_t *rules, json_t *play) {
    char *text_of_rules = rules_of(rules);
    sluicegate_limiter *limiter = NULL;
    struct request room;
    const sluicegate_request *request = request_of(json_object_get(play, "request"), &room);
    EXPECT_OK(sluicegate_limiter_new("memory://", text_of_rules, NULL, &limiter, error));
    if (json_object_get(play, "argument"))
        refuses(limiter, request, text(play, "argument"));
    else
        answers(limiter, request, json_object_get(play, "matches"), json_object_get(play, "reasons"));
    sluicegate_limiter_free(limiter);
    free(text_of_rules);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t number, place;
        json_t *vector, *play, *file = load(argv[i]);
        json_array_foreach(json_object_get(file, "vectors"), number, vector) {
            json_array_foreach(json_object_get(vector, "cases"), place, play) {
                wrong = 0;
                run(json_object_get(vector, "rules"), play);
                if (wrong)
                    printf("FAILED %s, case %zu\n", text(vector, "id"), place);
                wrong ? failed++ : passed++;
            }
        }
        json_decref(file);
    }
    return vectors_summary("matching", 0, "");
}
