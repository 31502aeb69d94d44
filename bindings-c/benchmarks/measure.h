/* What both benchmarks need to measure. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline int by_size(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

/* Sorts the figures. */
static inline double median(double *figures, size_t count) {
    qsort(figures, count, sizeof *figures, by_size);
    return figures[count / 2];
}

static inline size_t name_key(char *room, size_t size, int keys, int call) {
    return (size_t)snprintf(room, size, "user-%d", call % keys);
}

#endif
