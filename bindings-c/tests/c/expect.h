/* Just enough to test: EXPECT what has to hold, RUN what expects, and end main with `return summary();`. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <string.h>
#include <sluicegate.h>

static int passed, failed, wrong;

#define EXPECT(condition)                                                    \
    do {                                                                     \
        if (!(condition)) {                                                  \
            printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);  \
            wrong++;                                                         \
        }                                                                    \
    } while (0)

#define EXPECT_OK(call)                                                      \
    do {                                                                     \
        sluicegate_error error_of_call;                                      \
        sluicegate_error *error = &error_of_call;                            \
        if ((call) != SLUICEGATE_OK) {                                       \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, error->message); \
            wrong++;                                                         \
        }                                                                    \
    } while (0)

#define RUN(test)                                                            \
    do {                                                                     \
        wrong = 0;                                                           \
        test();                                                              \
        printf("%s %s\n", wrong ? "FAILED" : "ok", #test);                   \
        wrong ? failed++ : passed++;                                         \
    } while (0)

static inline int summary(void) {
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
