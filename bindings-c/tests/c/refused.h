/* What must be refused. */
#ifndef REFUSED_H
#define REFUSED_H

#include "expect.h"

/* The call, with and without room for an error, ends with a status and a message that begins so. */
#define EXPECT_REFUSED(expected, beginning, call)                                             \
    do {                                                                                      \
        sluicegate_error error_of_call = {SLUICEGATE_OK, true, "", ""};                           \
        sluicegate_error *error = &error_of_call;                                             \
        EXPECT((call) == (expected));                                                         \
        EXPECT(error->status == (expected) && !error->retryable);                             \
        if (strncmp(error->message, beginning, strlen(beginning)) != 0) {                     \
            printf("%s:%d: \"%s\" does not begin with \"%s\"\n", __FILE__, __LINE__,          \
                   error->message, beginning);                                                \
            wrong++;                                                                          \
        }                                                                                     \
        error = NULL;                                                                         \
        EXPECT((call) == (expected));                                                         \
    } while (0)

#define EXPECT_INVALID(name, call) EXPECT_REFUSED(SLUICEGATE_INVALID_ARGUMENT, name " ", call)

/* Not UTF-8. */
static const char bad[] = "\xff\xfe";

#endif
