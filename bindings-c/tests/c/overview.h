/* The calls of vectors that are about more than the rules they name: about every rule, or about a request. */
#ifndef OVERVIEW_H
#define OVERVIEW_H

#include "request.h"

/* Whether a call is about every rule that a key or a request has to do with. */
static inline bool is_about_all(const char *op) {
    return strcmp(op, "inspect") == 0 || strcmp(op, "reset_all") == 0 || strcmp(op, "reserve_request") == 0;
}

/* Makes such a call, with the arguments that a vector states. */
static inline sluicegate_status make_about_all(sluicegate_limiter *limiter, json_t *vector, struct call_answer *answer,
                                               sluicegate_error *error) {
    const char *op = text(vector, "op");
    struct call_options options;
    struct request request;
    static struct call_key who;
    answer->is_decision = strcmp(op, "reset_all") != 0;
    answer->parts_count = 0;
    if (strcmp(op, "reserve_request") == 0)
        return sluicegate_reserve_request(limiter, request_of(json_object_get(vector, "request"), &request),
                                          &answer->decision, answer->parts, MOST_ITEMS, &answer->parts_count,
                                          answer->id, sizeof answer->id, &answer->token, error);
    sluicegate_status status = read_key(vector, &who, error);
    if (status != SLUICEGATE_OK)
        return status;
    if (strcmp(op, "reset_all") == 0)
        return sluicegate_reset_all(limiter, who.text, who.length, options_of(vector, &options), error);
    return sluicegate_inspect(limiter, who.text, who.length, options_of(vector, &options), &answer->decision,
                              answer->parts, MOST_ITEMS, &answer->parts_count, error);
}

/* Makes the call that a vector names, unless it ends a reservation. */
static inline sluicegate_status make_any(sluicegate_limiter *limiter, json_t *vector, struct call_answer *answer,
                                         sluicegate_error *error) {
    return is_about_all(text(vector, "op")) ? make_about_all(limiter, vector, answer, error)
                                            : make(limiter, vector, answer, error);
}

#endif
