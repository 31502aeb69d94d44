/* Admits once, denies once. */
#include <sluicegate.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    sluicegate_limiter *limiter = NULL;
    sluicegate_decision first, second;
    sluicegate_error error;
    if (argc != 4) return 2;
    sluicegate_status status = sluicegate_limiter_new(argv[1], argv[2], NULL, &limiter, &error);
    const char *key = argv[3];
    if (status == SLUICEGATE_OK) status = sluicegate_check(limiter, "a", key, strlen(key), NULL, &first, &error);
    if (status == SLUICEGATE_OK) status = sluicegate_check(limiter, "a", key, strlen(key), NULL, &second, &error);
    if (status != SLUICEGATE_OK) {
        fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error.message);
        return 1;
    }
    sluicegate_limiter_free(limiter);
    return first.allowed && !second.allowed ? 0 : 1;
}
