/* The options of TLS, on a server that asks for a certificate: tls URL CA CERT KEY */
#include "expect.h"

static const char rules[] =
    "[{\"rule_id\": \"a\", \"algorithm\": \"gcra\", \"limit\": 5, \"window_size_seconds\": 10}]";

static char **arguments;

static sluicegate_status ping(const sluicegate_options *options, sluicegate_error *error) {
    sluicegate_limiter *limiter = NULL;
    sluicegate_status status = sluicegate_limiter_new(arguments[1], rules, options, &limiter, error);
    if (status == SLUICEGATE_OK)
        status = sluicegate_limiter_ping(limiter, error);
    sluicegate_limiter_free(limiter);
    return status;
}

static sluicegate_options patient(void) {
    sluicegate_options options = SLUICEGATE_OPTIONS_INIT;
    options.connect_timeout_us = options.response_timeout_us = 30000000;
    return options;
}

static void a_certificate_opens_the_door(void) {
    sluicegate_options options = patient();
    options.tls_ca = arguments[2];
    options.tls_cert = arguments[3];
    options.tls_key = arguments[4];
    EXPECT_OK(ping(&options, error));
}

static void without_one_it_stays_shut(void) {
    sluicegate_options options = patient();
    options.tls_ca = arguments[2];
    EXPECT(ping(&options, NULL) == SLUICEGATE_CONNECTION);
}

static void an_unknown_authority_is_not_trusted(void) {
    sluicegate_options options = patient();
    EXPECT(ping(&options, NULL) == SLUICEGATE_CONNECTION);
}

static void a_file_that_is_missing_is_named(void) {
    sluicegate_options options = patient();
    sluicegate_error error = {SLUICEGATE_OK, false, "", ""};
    options.tls_ca = "/nowhere.pem";
    EXPECT(ping(&options, &error) != SLUICEGATE_OK);
    EXPECT(strstr(error.message, "/nowhere.pem") != NULL);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    arguments = argv;
    RUN(a_certificate_opens_the_door);
    RUN(without_one_it_stays_shut);
    RUN(an_unknown_authority_is_not_trusted);
    RUN(a_file_that_is_missing_is_named);
    return summary();
}
