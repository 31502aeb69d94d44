'use strict';

// Calls of gRPC, as microservices of Nest get them: data, metadata, and the call itself.

/** What ends an answer otherwise, and is no metadata here. */
const OTHER = new Set(['grpc-status', 'grpc-message', 'content-type', 'cache-control']);

/** By the status of HTTP: of denials, and of what could not be decided. */
const STATUS = { 400: 3, 429: 8, 503: 14 };
const UNKNOWN = 2;

/** Whether a message is such a call. */
function isCall(metadata, call) {
  return typeof metadata?.get === 'function' && typeof call?.getPeer === 'function';
}

/** What routes know of a call: its metadata are its headers. */
function callOf(metadata, call) {
  const lines = (name) => metadata.get(name).join(', ') || undefined;
  return {
    // So that it is answered with a status of gRPC.
    method: 'POST',
    peer: addressOf(call.getPeer()),
    lines: (name) => (name === 'content-type' ? 'application/grpc' : lines(name)),
    header: (name) => metadata.get(name)[0]?.toString(),
  };
}

/** Peers are told with their port; `unknown` is that of a socket without an address. */
function addressOf(peer) {
  return peer === 'unknown' ? undefined : peer.replace(/:\d+$/, '');
}

/** What an exception says to a client of gRPC, with the headers of the decision as metadata. */
function errorOf(metadata, { status, headers, body }) {
  const said = new metadata.constructor();
  for (const [name, value] of Object.entries(headers)) {
    if (!OTHER.has(name.toLowerCase())) said.set(name.toLowerCase(), value);
  }
  const { title, detail = title } = JSON.parse(body || '{}');
  const message = headers['grpc-message'] === undefined ? detail : decodeURIComponent(headers['grpc-message']);
  return { code: Number(headers['grpc-status'] ?? STATUS[status] ?? UNKNOWN), message, details: message, metadata: said };
}

/**
 * Ends a call whose handler gets it from Nest as it is, and lets the guard wait for ever: Nest has nobody who would take its error,
 * which would end the process.
 *
 * @returns {Promise<never>}
 */
function endCall(call, callback, error) {
  const said = error.getError?.() ?? { code: UNKNOWN, details: 'Internal server error' };
  if (typeof callback === 'function') callback(said);
  else call.emit('error', said);
  return new Promise(() => {});
}

module.exports = { callOf, endCall, errorOf, isCall };
