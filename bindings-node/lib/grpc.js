'use strict';

// Answers to gRPC. Its clients read the status at the end of an answer.

/**
 * The type of a body: every call of gRPC is a POST.
 *
 * @param {string | undefined} method
 * @param {string | undefined} contentType
 */
function contentTypeOf(method, contentType) {
  return method === 'POST' ? contentType : undefined;
}

/** Whether an answer is a status of gRPC, which no error of a framework leads to. */
function isGrpc({ headers }) {
  return 'grpc-status' in headers;
}

/** What begins an answer: all else that is said to clients of gRPC ends it. */
const LEADING = new Set(['content-type', 'cache-control']);

/**
 * Sets the headers of an answer in place of the application's by `setHeader`. In HTTP/2 most of those of an answer to gRPC
 * end it.
 *
 * @param {Record<string, string>} headers
 * @param {any} response Node's.
 * @param {(name: string, value: string) => unknown} setHeader
 */
function setFields(headers, response, setHeader) {
  const isSplit = isGrpc({ headers }) && typeof response?.setTrailer === 'function';
  for (const [name, value] of Object.entries(headers)) {
    if (isSplit && !LEADING.has(name.toLowerCase())) response.setTrailer(name, value);
    else setHeader(name, value);
  }
}

module.exports = { contentTypeOf, isGrpc, setFields };
