/* A call of a vector, from JSON to what the library takes. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdlib.h>
#include <jansson.h>
#include "expect.h"

enum { MOST_ITEMS = 64 };

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

/* A call's options with room for what they point to. */
struct call_options {
    sluicegate_check_options options;
    uint64_t limit;
};

static inline const sluicegate_check_options *options_of(json_t *call, struct call_options *room) {
    static const sluicegate_check_options defaults = SLUICEGATE_CHECK_OPTIONS_INIT;
    json_t *cost = json_object_get(call, "cost"), *limit = json_object_get(call, "limit");
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
    return &room->options;
}

/* The items of a check_all, with their options. */
struct call_items {
    sluicegate_item items[MOST_ITEMS];
    struct call_options options[MOST_ITEMS];
    size_t count;
};

static inline void read_items(json_t *items, struct call_items *room) {
    room->count = json_array_size(items);
    if (room->count > MOST_ITEMS)
        fail("a vector has too many items", "enlarge MOST_ITEMS");
    for (size_t i = 0; i < room->count; i++) {
        json_t *item = json_array_get(items, i);
        room->items[i].rule = text(item, "rule");
        room->items[i].key = text(item, "key");
        room->items[i].key_len = text_length(item, "key");
        room->items[i].options = options_of(item, &room->options[i]);
    }
}

/* The calls that take the same arguments. */
typedef sluicegate_status operation(const sluicegate_limiter *, const char *, const void *, size_t,
                                    const sluicegate_check_options *, sluicegate_decision *,
                                    sluicegate_error *);

static inline operation *operation_named(const char *op) {
    operation *call = strcmp(op, "check") == 0    ? sluicegate_check
                      : strcmp(op, "peek") == 0   ? sluicegate_peek
                      : strcmp(op, "refund") == 0 ? sluicegate_refund
                                                  : NULL;
    if (!call)
        fail("the runner knows no operation", op);
    return call;
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
