/* A request of a vector, from JSON to what the library takes. */
#ifndef REQUEST_H
#define REQUEST_H

#include "vector.h"

enum { MOST_HEADERS = 16, MOST_PATHS = 8 };

/* A request with room for its headers and paths. */
struct request {
    sluicegate_request request;
    sluicegate_header headers[MOST_HEADERS];
    const char *other_paths[MOST_PATHS];
};

static inline void text_of(json_t *value, const void **start, size_t *length) {
    *start = json_string_value(value);
    *length = json_string_length(value);
}

static inline const sluicegate_request *request_of(json_t *fields, struct request *room) {
    static const sluicegate_request nothing = SLUICEGATE_REQUEST_INIT;
    sluicegate_request *request = &room->request;
    json_t *header, *path;
    *request = nothing;
    text_of(json_object_get(fields, "method"), &request->method, &request->method_len);
    text_of(json_object_get(fields, "path"), &request->path, &request->path_len);
    text_of(json_object_get(fields, "user_id"), &request->user_id, &request->user_id_len);
    text_of(json_object_get(fields, "ip"), &request->ip, &request->ip_len);
    text_of(json_object_get(fields, "api_key"), &request->api_key, &request->api_key_len);
    text_of(json_object_get(fields, "api_key_header"), &request->api_key_header, &request->api_key_header_len);
    request->ignore_case = json_is_true(json_object_get(fields, "ignore_case"));
    request->other_paths = room->other_paths;
    json_array_foreach(json_object_get(fields, "other_paths"), request->other_path_count, path) {
        if (request->other_path_count == MOST_PATHS)
            fail("a vector has too many paths", "enlarge MOST_PATHS");
        room->other_paths[request->other_path_count] = json_string_value(path);
    }
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
