'use strict';

// What Node has of a request.

/** Every line that the client sent: Node's own `headers` leaves some out. In HTTP/2, a name with a colon is none. */
function headersOf({ rawHeaders }) {
  const lines = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!rawHeaders[at].startsWith(':')) lines.push([rawHeaders[at], decoded(rawHeaders[at + 1])]);
  }
  return lines;
}

/** Node takes the bytes of a header for Latin-1, and clients send UTF-8. What is neither is kept as well as may be. */
function decoded(value) {
  return Buffer.from(value, 'latin1').toString();
}

module.exports = { headersOf };
