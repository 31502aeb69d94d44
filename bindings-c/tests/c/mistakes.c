/* Plays the vectors of mistakes: mistakes REDIS_URL FILE... */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "overview.h"

enum { ADDRESS_SIZE = 64, TEXT_SIZE = 2048 };

/* What the names in braces stand for. */
static struct {
    const char *name;
    char address[ADDRESS_SIZE];
} servers[] = {{"{redis}", ""}, {"{nobody}", ""}, {"{silent}", ""}};

static int skipped;

/* A server that takes connections and never answers. */
static int listening(char address[ADDRESS_SIZE]) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || bind(server, (struct sockaddr *)&place, size) != 0 || listen(server, 16) != 0 ||
        getsockname(server, (struct sockaddr *)&place, &size) != 0)
        fail("socket", "cannot listen");
    snprintf(address, ADDRESS_SIZE, "127.0.0.1:%d", ntohs(place.sin_port));
    return server;
}

static const char *fill_in(const char *given, char room[TEXT_SIZE]) {
    size_t used = 0;
    while (*given && used + ADDRESS_SIZE < TEXT_SIZE) {
        size_t i = 0, count = sizeof servers / sizeof *servers;
        while (i < count && strncmp(given, servers[i].name, strlen(servers[i].name)) != 0)
            i++;
        if (i == count) {
            room[used++] = *given++;
        } else {
            used += (size_t)snprintf(room + used, ADDRESS_SIZE, "%s", servers[i].address);
            given += strlen(servers[i].name);
        }
    }
    room[used] = '\0';
    return room;
}

static bool is_for_c(json_t *vector) {
    json_t *only = json_object_get(vector, "only"), *language;
    size_t number;
    json_array_foreach(only, number, language) {
        if (strcmp(json_string_value(language), "c") == 0)
            return true;
    }
    return !only;
}

/* An object as JSON text, in room of the caller. */
static const char *object(json_t *value, char room[TEXT_SIZE]) {
    size_t length = json_dumpb(value, room, TEXT_SIZE - 1, 0);
    room[length < TEXT_SIZE ? length : TEXT_SIZE - 1] = '\0';
    return room;
}

static void set_options(json_t *vector, sluicegate_options *options) {
    static char regions[TEXT_SIZE], parts[TEXT_SIZE];
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(vector, "options"), name, value) {
        const char *given = json_string_value(value);
        uint64_t number = (uint64_t)json_integer_value(value);
        if (strcmp(name, "prefix") == 0)
            options->prefix = given;
        else if (strcmp(name, "connect_timeout") == 0)
            options->connect_timeout_us = number;
        else if (strcmp(name, "response_timeout") == 0)
            options->response_timeout_us = number;
        else if (strcmp(name, "tls_ca") == 0)
            options->tls_ca = given;
        else if (strcmp(name, "tls_cert") == 0)
            options->tls_cert = given;
        else if (strcmp(name, "tls_key") == 0)
            options->tls_key = given;
        else if (strcmp(name, "identifier_secret") == 0)
            options->identifier_secret = given;
        else if (strcmp(name, "max_keys") == 0)
            options->max_keys = (size_t)number;
        else if (strcmp(name, "breaker_failures") == 0)
            options->breaker_failures = (uint32_t)number;
        else if (strcmp(name, "breaker_probe") == 0)
            options->breaker_probe_us = number;
        else if (strcmp(name, "fallback") == 0)
            options->fallback = given;
        else if (strcmp(name, "share") == 0)
            options->share = json_number_value(value);
        else if (strcmp(name, "replicas") == 0)
            options->replicas = (uint32_t)number;
        else if (strcmp(name, "replica_timeout") == 0)
            options->replica_timeout_us = number;
        else if (strcmp(name, "remember_denials") == 0)
            options->remember_denials_us = number;
        else if (strcmp(name, "request_id_seconds") == 0)
            options->request_id_seconds = number;
        else if (strcmp(name, "region") == 0)
            options->region = given;
        else if (strcmp(name, "regions") == 0)
            options->regions = object(value, regions);
        else if (strcmp(name, "region_parts") == 0)
            options->region_parts = object(value, parts);
        else
            fail("the runner knows no option", name);
    }
}

/* The id that a call gets: that of what is reserved first, with a change, or one as it stands. */
static sluicegate_status id_of(sluicegate_limiter *limiter, const char *url, const char *rules, json_t *vector,
                               char id[TEXT_SIZE + ADDRESS_SIZE], sluicegate_error *error) {
    static struct call_answer reserved;
    json_t *reserve = json_object_get(vector, "reserve");
    const char *change = json_string_value(json_object_get(vector, "change"));
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_limiter *other = NULL;
    sluicegate_status status = SLUICEGATE_OK;
    if (!reserve) {
        snprintf(id, TEXT_SIZE + ADDRESS_SIZE, "%s", text(vector, "reservation"));
        return SLUICEGATE_OK;
    }
    options.prefix = "other";
    if (change && strcmp(change, "prefix") == 0)
        status = sluicegate_limiter_new(url, rules, &options, &other, error);
    if (status == SLUICEGATE_OK)
        status = reserve_items(other ? other : limiter, reserve, NULL, &reserved, error);
    sluicegate_limiter_free(other);
    if (status != SLUICEGATE_OK)
        return status;
    snprintf(id, TEXT_SIZE + ADDRESS_SIZE, "%s", reserved.id);
    size_t length = strlen(id);
    if (change && strcmp(change, "cut") == 0)
        id[length - 1] = '\0';
    if (change && strcmp(change, "altered") == 0)
        id[length / 2] = id[length / 2] == 'A' ? 'B' : 'A';
    return status;
}

static sluicegate_status attempt(const char *url, const char *rules, json_t *vector, sluicegate_error *error) {
    const char *file = json_string_value(json_object_get(vector, "rules_file"));
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    sluicegate_limiter *limiter = NULL;
    struct call_answer answer;
    char id[TEXT_SIZE + ADDRESS_SIZE], prefix[128];
    /* So that none finds what another reserved. */
    snprintf(prefix, sizeof prefix, "C/mistakes/%s", text(vector, "id"));
    options.prefix = prefix;
    set_options(vector, &options);
    sluicegate_status status = file ? sluicegate_limiter_new_from_file(url, file, &options, &limiter, error)
                                    : sluicegate_limiter_new(url, rules, &options, &limiter, error);
    if (status == SLUICEGATE_OK && json_is_true(json_object_get(vector, "closed")))
        status = sluicegate_limiter_close(limiter, error);
    bool ends = json_object_get(vector, "op") && is_ending(text(vector, "op"));
    if (status == SLUICEGATE_OK && ends)
        status = id_of(limiter, url, rules, vector, id, error);
    if (status == SLUICEGATE_OK && ends)
        status = end(limiter, vector, id, &answer, error);
    else if (status == SLUICEGATE_OK && json_object_get(vector, "op"))
        status = make_any(limiter, vector, &answer, error);
    sluicegate_limiter_free(limiter);
    return status;
}

static void compare(json_t *expect, const sluicegate_error *error) {
    char room[TEXT_SIZE];
    json_t *whole = json_object_get(expect, "message");
    const char *message = fill_in(text(expect, whole ? "message" : "message_begins"), room);
    EXPECT(strcmp(text(expect, "error"), sluicegate_status_name(error->status)) == 0);
    EXPECT(error->retryable == json_is_true(json_object_get(expect, "retryable")));
    EXPECT(strncmp(error->message, message, whole ? sizeof error->message : strlen(message)) == 0);
}

static void run(json_t *vector, json_t *rules_of_file) {
    const char *given = json_string_value(json_object_get(vector, "url"));
    const char *const everywhere[] = {given ? given : "memory://", "redis://{redis}"};
    json_t *own = json_object_get(vector, "rules"), *instead = json_object_get(vector, "instead");
    json_t *expect = json_object_get(instead, "c");
    char *rules = rules_of(own ? own : rules_of_file);
    wrong = 0;
    for (int i = 0; i < (given ? 1 : 2); i++) {
        char room[TEXT_SIZE];
        sluicegate_error error = {SLUICEGATE_OK, false, "no error", ""};
        attempt(fill_in(everywhere[i], room), rules, vector, &error);
        compare(expect ? expect : json_object_get(vector, "expect"), &error);
        if (wrong) {
            printf("FAILED %s, %s: answered %s\n", text(vector, "id"), everywhere[i], error.message);
            break;
        }
    }
    wrong ? failed++ : passed++;
    free(rules);
}

int main(int argc, char **argv) {
    int silent = listening(servers[2].address), nobody = listening(servers[1].address);
    /* Closed, its port was free a moment ago. */
    close(nobody);
    snprintf(servers[0].address, ADDRESS_SIZE, "%s", strstr(argv[1], "//") + 2);
    for (int i = 2; i < argc; i++) {
        size_t number;
        json_t *vector, *file = load(argv[i]);
        json_array_foreach(json_object_get(file, "vectors"), number, vector) {
            if (is_for_c(vector))
                run(vector, json_object_get(file, "rules"));
            else
                skipped++;
        }
        json_decref(file);
    }
    close(silent);
    return vectors_summary("mistakes", skipped, " (the types of C exclude the mistake)");
}
