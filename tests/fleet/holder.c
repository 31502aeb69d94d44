/* The holder in C. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sluicegate.h>

static sluicegate_limiter *limiter;

static void must(sluicegate_status status, const sluicegate_error *error) {
    if (status == SLUICEGATE_OK)
        return;
    fprintf(stderr, "%s: %s\n", sluicegate_status_name(status), error->message);
    exit(1);
}

static void reserve(uint64_t cost) {
    sluicegate_check_options options = SLUICEGATE_CHECK_OPTIONS_INIT;
    sluicegate_decision decision;
    sluicegate_error error;
    char id[SLUICEGATE_RESERVATION_ID_SIZE];
    options.cost = cost;
    must(sluicegate_reserve(limiter, "held", "key", 3, &options, &decision, id, sizeof id, NULL, &error), &error);
    puts(id);
}

static void peek(void) {
    sluicegate_decision decision;
    sluicegate_error error;
    must(sluicegate_peek(limiter, "held", "key", 3, NULL, &decision, &error), &error);
    printf("%" PRIu64 "\n", decision.remaining);
}

static void end(const char *call, const char *id, const char *cost) {
    sluicegate_error error;
    bool took_effect;
    if (strcmp(call, "commit") == 0) {
        uint64_t used = strtoull(cost, NULL, 10);
        must(sluicegate_commit(limiter, id, &used, &took_effect, &error), &error);
    } else {
        bool renews = strcmp(call, "renew") == 0;
        must((renews ? sluicegate_renew : sluicegate_release)(limiter, id, &took_effect, &error), &error);
    }
    printf("%d\n", took_effect);
}

int main(int argc, char **argv) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_error error;
    if (argc < 5) {
        fputs("usage: holder URL RULES_FILE PREFIX CALL [ID] [COST]\n", stderr);
        return 2;
    }
    options.prefix = argv[3];
    must(sluicegate_limiter_new_from_file(argv[1], argv[2], &options, &limiter, &error), &error);
    if (strcmp(argv[4], "peek") == 0)
        peek();
    else if (strcmp(argv[4], "reserve") == 0 && argc > 5)
        reserve(strtoull(argv[5], NULL, 10));
    else
        end(argv[4], argc > 5 ? argv[5] : "", argc > 6 ? argv[6] : "0");
    sluicegate_limiter_free(limiter);
    return 0;
}
