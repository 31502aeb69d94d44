/* cc ten_lines.c $(pkg-config --cflags --libs sluicegate) && ./a.out alice */
#include <stdio.h>
#include <string.h>
#include <sluicegate.h>

int main(int argc, char **argv) {
    const char *user = argc > 1 ? argv[1] : "alice";
    const char *url = argc > 2 ? argv[2] : "memory://"; /* "redis://127.0.0.1:6379" for a whole fleet */
    const char *rules = "[{\"rule_id\": \"login\", \"algorithm\": \"gcra\", \"limit\": 5, \"window_size_seconds\": 60}]";
    sluicegate_limiter *limiter = NULL;
    sluicegate_decision decision;
    sluicegate_error error;

    sluicegate_status status = sluicegate_limiter_new(url, rules, NULL, &limiter, &error);
    if (status == SLUICEGATE_OK)
        status = sluicegate_check(limiter, "login", user, strlen(user), NULL, &decision, &error);
    if (status != SLUICEGATE_OK)
        fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error.message);
    else if (decision.allowed)
        printf("welcome, %d more\n", (int)decision.remaining);
    else
        printf("try again in %.1f s\n", (double)decision.retry_after_us / 1e6);
    sluicegate_limiter_free(limiter);
    return status;
}
