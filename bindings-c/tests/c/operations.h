/* The calls about one key that answer with a decision, by the names that vectors have for them. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <sluicegate.h>

typedef sluicegate_status operation(const sluicegate_limiter *, const char *, const void *, size_t,
                                    const sluicegate_check_options *, sluicegate_decision *,
                                    sluicegate_error *);

static const struct {
    const char *name;
    operation *call;
} operations[] = {
#define ANSWERS_sluicegate_decision(name) {#name, sluicegate_##name},
#define ANSWERS_bool(name)
#include "operations.inc"
#undef ANSWERS_sluicegate_decision
#undef ANSWERS_bool
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

#endif
