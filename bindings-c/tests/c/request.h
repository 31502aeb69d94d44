/* A request of a vector, from JSON to what the library takes. */
#ifndef REQUEST_H
#define REQUEST_H

#include "vector.h"

enum { MOST_HEADERS = 16 };

/* A request with room for its headers. */
struct request {
    sluicegate_request request;
    sluicegate_header headers[MOST_HEADERS];
};

static inline void text_of(json_t *value, const void **start, size_t *length) {
    *start = json_string_value(value);
    *length = json_string_length(value);
}

static inline const sluicegate_request *request_of(json_t *fields, struct request *room) {
    static const sluicegate_request nothing = SLUICEGATE_REQUEST_INIT;
    sluicegate_request *request = &room->request;
    json_t *header;
    *request = nothing;
    text_of(json_object_get(fields, "method"), &request->method, &request->method_len);
    text_of(json_object_get(fields, "path"), &request->path, &request->path_len);
    text_of(json_object_get(fields, "user_id"), &request->user_id, &request->user_id_len);
    text_of(json_object_get(fields, "ip"), &request->ip, &request->ip_len);
    text_of(json_object_get(fields, "api_key"), &request->api_key, &request->api_key_len);
    request->headers = room->headers;
    json_array_foreach(json_object_get(fields, "headers"), request->header_count, header) {
        sluicegate_header *place = &room->headers[request->header_count];
        if (request->header_count == MOST_HEADERS)
            fail("a vector has too many headers", "enlarge MOST_HEADERS");
        text_of(json_array_get(header, 0), &place->name, &place->name_len);
        text_of(json_array_get(header, 1), &place->value, &place->value_len);
    }
    return request;
}

#endif
