/* A request, its decision and the headers of its answer: cc request.c $(pkg-config --cflags --libs sluicegate) */
#include <stdio.h>
#include <string.h>
#include <sluicegate.h>

static void print(void *stream, const char *name, const char *value) {
    fprintf((FILE *)stream, "%s: %s\n", name, value);
}

int main(void) {
    const char *rules = "[{\"rule_id\": \"orders\", \"identifier_type\": \"user_id\", \"algorithm\": \"gcra\", \"limit\": 1,"
                        "  \"window_size_seconds\": 60, \"match\": {\"path_pattern\": \"/orders/*\"}}]";
    const char *method = "GET", *target = "/orders/7?full=1", *user = "alice";
    sluicegate_limiter *limiter = NULL;
    sluicegate_request request = SLUICEGATE_REQUEST_INIT;
    sluicegate_decision decision, parts[8];
    sluicegate_error error;
    size_t count;

    request.method = method;
    request.method_len = strlen(method);
    request.path = target;
    request.path_len = strlen(target);
    request.user_id = user;
    request.user_id_len = strlen(user);
    sluicegate_status status = sluicegate_limiter_new("memory://", rules, NULL, &limiter, &error);
    for (int i = 0; i < 2 && status == SLUICEGATE_OK; i++) {
        status = sluicegate_check_request(limiter, &request, &decision, parts, 8, &count, &error);
        if (status != SLUICEGATE_OK)
            break;
        puts(decision.allowed ? "200" : "429");
        status = sluicegate_decision_headers(&decision, parts, count, "ietf", print, stdout, &error);
    }
    if (status != SLUICEGATE_OK)
        fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error.message);
    sluicegate_limiter_free(limiter);
    return status;
}
