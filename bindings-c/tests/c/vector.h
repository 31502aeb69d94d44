/* A call of a vector, from JSON to what the library takes. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdlib.h>
#include <jansson.h>
#include "expect.h"
#include "operations.h"

enum { MOST_ITEMS = 128 };

/* What a vector cannot be played without, so the program ends. */
static inline void fail(const char *what, const char *detail) {
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(2);
}

static inline const char *text(json_t *of, const char *field) {
    const char *value = json_string_value(json_object_get(of, field));
    if (!value)
        fail("a vector has no text", field);
    return value;
}

static inline size_t text_length(json_t *of, const char *field) {
    return json_string_length(json_object_get(of, field));
}

/* A key, joined here if it has parts. */
struct call_key {
    char joined[16384];
    const char *text;
    size_t length;
};

enum { MOST_PARTS = 16 };

static inline sluicegate_status read_key(json_t *of, struct call_key *key, sluicegate_error *error) {
    json_t *parts = json_object_get(of, "key");
    sluicegate_key_part given[MOST_PARTS];
    size_t count = json_array_size(parts);
    if (!json_is_array(parts)) {
        key->text = text(of, "key");
        key->length = text_length(of, "key");
        return SLUICEGATE_OK;
    }
    if (count > MOST_PARTS)
        fail("a key has too many parts", "enlarge MOST_PARTS");
    for (size_t i = 0; i < count; i++) {
        given[i].text = json_string_value(json_array_get(parts, i));
        given[i].text_len = json_string_length(json_array_get(parts, i));
    }
    key->text = key->joined;
    return sluicegate_join_key(given, count, key->joined, sizeof key->joined, &key->length, error);
}

/* A call's options with room for what they point to. */
struct call_options {
    sluicegate_check_options options;
    uint64_t limit;
};

static inline const sluicegate_check_options *options_of(json_t *call, struct call_options *room) {
    static const sluicegate_check_options defaults = SLUICEGATE_CHECK_OPTIONS_INIT;
    json_t *cost = json_object_get(call, "cost"), *limit = json_object_get(call, "limit");
    /* That of a wait is an argument. */
    bool waits = json_object_get(call, "op") && strcmp(text(call, "op"), "wait") == 0;
    json_t *timeout = waits ? NULL : json_object_get(call, "timeout");
    room->options = defaults;
    if (cost)
        room->options.cost = (uint64_t)json_integer_value(cost);
    if (json_object_get(call, "resource")) {
        room->options.resource = text(call, "resource");
        room->options.resource_len = text_length(call, "resource");
    }
    if (limit) {
        room->limit = (uint64_t)json_integer_value(limit);
        room->options.limit = &room->limit;
    }
    if (json_object_get(call, "request_id")) {
        room->options.request_id = text(call, "request_id");
        room->options.request_id_len = text_length(call, "request_id");
    }
    if (timeout)
        room->options.timeout_us = (uint64_t)json_integer_value(timeout);
    return &room->options;
}

/* The items of a check_all, with their options. */
struct call_items {
    sluicegate_item items[MOST_ITEMS];
    struct call_options options[MOST_ITEMS];
    struct call_key keys[MOST_ITEMS];
    size_t count;
};

static inline sluicegate_status read_items(json_t *items, struct call_items *room, sluicegate_error *error) {
    room->count = json_array_size(items);
    if (room->count > MOST_ITEMS)
        fail("a vector has too many items", "enlarge MOST_ITEMS");
    for (size_t i = 0; i < room->count; i++) {
        json_t *item = json_array_get(items, i);
        room->items[i].rule = text(item, "rule");
        sluicegate_status status = read_key(item, &room->keys[i], error);
        if (status != SLUICEGATE_OK)
            return status;
        room->items[i].key = room->keys[i].text;
        room->items[i].key_len = room->keys[i].length;
        room->items[i].options = options_of(item, &room->options[i]);
    }
    return SLUICEGATE_OK;
}

static inline operation *operation_named(const char *op) {
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (strcmp(operations[i].name, op) == 0)
            return operations[i].call;
    }
    fail("the runner knows no operation", op);
    return NULL;
}

/* Where the decisions of a call go, and the rest of a reservation. */
struct call_answer {
    sluicegate_decision decision, parts[MOST_ITEMS];
    char id[SLUICEGATE_RESERVATION_ID_SIZE];
    uint64_t token;
    /* Of a call that ends a reservation. */
    bool took_effect;
    /* Whether there is a decision, and of how many parts. */
    bool is_decision;
    size_t parts_count;
};

/* Whether a call ends or renews the reservation that a vector names. */
static inline bool is_ending(const char *op) {
    return strcmp(op, "commit") == 0 || strcmp(op, "release") == 0 || strcmp(op, "renew") == 0;
}

/* Ends or renews a reservation, as a vector says. */
static inline sluicegate_status end(sluicegate_limiter *limiter, json_t *vector, const char *id,
                                    struct call_answer *answer, sluicegate_error *error) {
    const char *op = text(vector, "op"), *rule;
    json_t *cost = json_object_get(vector, "cost"), *costs = json_object_get(vector, "costs"), *value;
    sluicegate_usage usages[MOST_ITEMS];
    uint64_t used = (uint64_t)json_integer_value(cost);
    size_t count = 0;
    if (strcmp(op, "release") == 0)
        return sluicegate_release(limiter, id, &answer->took_effect, error);
    if (strcmp(op, "renew") == 0)
        return sluicegate_renew(limiter, id, &answer->took_effect, error);
    if (!costs)
        return sluicegate_commit(limiter, id, cost ? &used : NULL, &answer->took_effect, error);
    if (json_object_size(costs) > MOST_ITEMS)
        fail("a vector has too many costs", "enlarge MOST_ITEMS");
    json_object_foreach(costs, rule, value) {
        usages[count].rule = rule;
        usages[count].item = 0;
        usages[count++].cost = (uint64_t)json_integer_value(value);
    }
    return sluicegate_commit_usage(limiter, id, usages, count, &answer->took_effect, error);
}

/* Reserves some items; waits for room where there is a time for that. */
static inline sluicegate_status reserve_items(sluicegate_limiter *limiter, json_t *given, json_t *wait,
                                              struct call_answer *answer, sluicegate_error *error) {
    static struct call_items items;
    sluicegate_status status = read_items(given, &items, error);
    answer->parts_count = items.count;
    if (status != SLUICEGATE_OK)
        return status;
    if (wait)
        return sluicegate_reserve_all_within(limiter, items.items, items.count, (uint64_t)json_integer_value(wait),
                                             &answer->decision, answer->parts, answer->id, sizeof answer->id,
                                             &answer->token, error);
    return sluicegate_reserve_all(limiter, items.items, items.count, &answer->decision, answer->parts, answer->id,
                                  sizeof answer->id, &answer->token, error);
}

typedef sluicegate_status ending(const sluicegate_limiter *, const char *, const void *, size_t,
                                 const sluicegate_check_options *, bool *, sluicegate_error *);

/* The calls about one key that answer whether they took effect. */
static const struct {
    const char *name;
    ending *call;
} endings[] = {
#define ANSWERS_sluicegate_decision(name)
#define ANSWERS_bool(name) {#name, sluicegate_##name},
#include "operations.inc"
#undef ANSWERS_sluicegate_decision
#undef ANSWERS_bool
};

static inline ending *ending_named(const char *op) {
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(endings[i].name, op) == 0)
            return endings[i].call;
    }
    return NULL;
}

/* Whether a call says how long a block or a stored limit is to last. */
static inline bool sets(const char *op) {
    return strcmp(op, "block") == 0 || strcmp(op, "set_limit") == 0;
}

/* A time of a vector in seconds, in microseconds; what is not there is never. */
static inline uint64_t seconds_of(json_t *vector, const char *field) {
    json_t *seconds = json_object_get(vector, field);
    double us = json_number_value(seconds) * 1e6;
    if (!seconds)
        return SLUICEGATE_NEVER;
    return us > 0 ? (uint64_t)(us + 0.5) : 0;
}

/* Sets a block or a stored limit, as a vector says. */
static inline sluicegate_status set(sluicegate_limiter *limiter, json_t *vector, const struct call_key *key,
                                    const sluicegate_check_options *options, sluicegate_error *error) {
    const char *rule = text(vector, "rule");
    if (strcmp(text(vector, "op"), "block") == 0)
        return sluicegate_block(limiter, rule, key->text, key->length, seconds_of(vector, "seconds"), options, error);
    uint64_t limit = (uint64_t)json_integer_value(json_object_get(vector, "limit"));
    return sluicegate_set_limit(limiter, rule, key->text, key->length, limit, seconds_of(vector, "expires_in"),
                                options, error);
}

/* Makes the call that a vector names, with the arguments that it states. */
static inline sluicegate_status make(sluicegate_limiter *limiter, json_t *vector, struct call_answer *answer,
                                     sluicegate_error *error) {
    const char *op = text(vector, "op");
    struct call_options room;
    /* Too large for a stack. */
    static struct call_items items;
    static struct call_key who;
    sluicegate_status status;
    ending *ends = ending_named(op);
    answer->is_decision = strcmp(op, "ping") != 0 && strcmp(op, "reset") != 0 && !sets(op) && !ends;
    answer->parts_count = 0;
    if (strcmp(op, "ping") == 0)
        return sluicegate_limiter_ping_with(limiter, options_of(vector, &room)->timeout_us, error);
    if (strcmp(op, "check_all") == 0 || strcmp(op, "wait_all") == 0) {
        status = read_items(json_object_get(vector, "items"), &items, error);
        if (status != SLUICEGATE_OK)
            return status;
        answer->parts_count = items.count;
        if (strcmp(op, "wait_all") == 0)
            return sluicegate_wait_all(limiter, items.items, items.count,
                                       (uint64_t)json_integer_value(json_object_get(vector, "timeout")),
                                       &answer->decision, answer->parts, error);
        if (json_object_get(vector, "request_id"))
            return sluicegate_check_all_with(limiter, items.items, items.count, text(vector, "request_id"),
                                             text_length(vector, "request_id"), &answer->decision, answer->parts, error);
        return sluicegate_check_all(limiter, items.items, items.count, &answer->decision, answer->parts, error);
    }
    if (strcmp(op, "reserve_all") == 0)
        return reserve_items(limiter, json_object_get(vector, "items"), json_object_get(vector, "wait"), answer, error);
    const sluicegate_check_options *options = options_of(vector, &room);
    status = read_key(vector, &who, error);
    if (status != SLUICEGATE_OK)
        return status;
    const char *rule = text(vector, "rule"), *key = who.text;
    size_t length = who.length;
    if (ends)
        return ends(limiter, rule, key, length, options, &answer->took_effect, error);
    if (sets(op))
        return set(limiter, vector, &who, options, error);
    if (strcmp(op, "reset") == 0)
        return sluicegate_reset(limiter, rule, key, length, options, error);
    if (strcmp(op, "wait") == 0) {
        uint64_t timeout = (uint64_t)json_integer_value(json_object_get(vector, "timeout"));
        return sluicegate_wait(limiter, rule, key, length, options, timeout, &answer->decision, error);
    }
    json_t *longest = json_object_get(vector, "wait");
    if (strcmp(op, "reserve") == 0 && longest)
        return sluicegate_reserve_within(limiter, rule, key, length, options, (uint64_t)json_integer_value(longest),
                                         &answer->decision, answer->id, sizeof answer->id, &answer->token, error);
    if (strcmp(op, "reserve") == 0)
        return sluicegate_reserve(limiter, rule, key, length, options, &answer->decision, answer->id,
                                  sizeof answer->id, &answer->token, error);
    return operation_named(op)(limiter, rule, key, length, options, &answer->decision, error);
}

/* Rules as text, to be freed. */
static inline char *rules_of(json_t *rules) {
    const char *given = json_string_value(rules);
    char *copy = NULL;
    if (!given)
        return json_dumps(rules, JSON_REAL_PRECISION(17));
    copy = (char *)malloc(strlen(given) + 1);
    return strcpy(copy, given);
}

static inline json_t *load(const char *path) {
    json_error_t error;
    json_t *file = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!file)
        fail(path, error.text);
    return file;
}

/* The line that tests/run collects, then the summary. */
static inline int vectors_summary(const char *what, int skipped, const char *reason) {
    printf("vectors: C, %s: %d passed, %d failed, %d skipped%s\n", what, passed, failed, skipped, reason);
    return summary();
}

#endif
