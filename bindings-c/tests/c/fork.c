/* Forked children share the limit, not the connections: fork URL quiet|busy */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "expect.h"

enum { CHILDREN = 4, CALLS = 20, LIMIT = 50 };

static const char rules[] =
    "[{\"rule_id\": \"shared\", \"algorithm\": \"fixed_window\", \"limit\": 50, \"window_size_seconds\": 86400,"
    "  \"window_start\": \"first_request\"}]";

static const char *url;
static sluicegate_limiter *limiter;
static atomic_bool stop;

static void open_limiter(const char *prefix) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.prefix = prefix;
    options.response_timeout_us = 30000000;
    options.connect_timeout_us = 30000000;
    EXPECT_OK(sluicegate_limiter_new(url, rules, &options, &limiter, error));
}

/* How many of some calls are admitted; 255 if one fails. */
static int admitted(const char *key) {
    int count = 0;
    for (int i = 0; i < CALLS; i++) {
        sluicegate_decision decision;
        if (sluicegate_check(limiter, "shared", key, strlen(key), NULL, &decision, NULL) != SLUICEGATE_OK)
            return 255;
        count += decision.allowed;
    }
    return count;
}

/* A child frees what it inherited, as a careful program does, and reports by its exit status. */
static pid_t start_child(const char *key) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        int count = admitted(key);
        sluicegate_limiter_free(limiter);
        _exit(count);
    }
    return child;
}

static int end_child(pid_t child) {
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void children_share_the_limit(void) {
    pid_t children[CHILDREN];
    open_limiter("c/fork");
    int sum = admitted("key");
    EXPECT(sum == CALLS);
    for (int i = 0; i < CHILDREN; i++)
        children[i] = start_child("key");
    sum += admitted("key");
    for (int i = 0; i < CHILDREN; i++)
        sum += end_child(children[i]);
    EXPECT(sum == LIMIT);
    sluicegate_limiter_free(limiter);
}

static void *keep_calling(void *unused) {
    while (!atomic_load(&stop)) {
        sluicegate_decision decision;
        EXPECT(sluicegate_check(limiter, "shared", "busy", 4, NULL, &decision, NULL) == SLUICEGATE_OK);
    }
    return unused;
}

static void a_fork_amid_calls_of_other_threads_does_not_hang(void) {
    pthread_t threads[2];
    open_limiter("c/fork-busy");
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, keep_calling, NULL) == 0);
    for (int i = 0; i < 10; i++)
        EXPECT(end_child(start_child("child")) <= CALLS);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    sluicegate_limiter_free(limiter);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    url = argv[1];
    alarm(120); /* A hang is a failure. */
    if (strcmp(argv[2], "quiet") == 0)
        RUN(children_share_the_limit);
    else
        RUN(a_fork_amid_calls_of_other_threads_does_not_hang);
    return summary();
}
