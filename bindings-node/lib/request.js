'use strict';

// A request, checked and made ready to cross.

const { KNOWN, boolean, nameOf, optional, options, pair, text, timeout, wrongType } = require('./arguments.js');
const { Call, OP } = require('./mailbox.js');

const FIELDS = new Set([
  'method',
  'path',
  'userId',
  'ip',
  'apiKey',
  'headers',
  'apiKeyHeader',
  'otherPaths',
  'ignoreCase',
  'timeoutMs',
]);

/** A request crosses as pairs of texts; src/calls.rs has the same order. An empty text is as good as none. */
function requestCall(request, op = OP.REQUEST) {
  if (request === undefined) throw wrongType('request', 'an object', request);
  const fields = options('request', request, FIELDS);
  const { method, path, userId, ip, apiKey, headers, apiKeyHeader, otherPaths, ignoreCase, timeoutMs } = fields;
  const pairs = [
    crossing(given('userId', userId, nameOf), given('ip', ip)),
    crossing(given('apiKey', apiKey), given('apiKeyHeader', apiKeyHeader)),
    crossing(joined(otherPaths), optional(boolean, 'ignoreCase', ignoreCase) ? 'true' : ''),
  ];
  for (const [name, value] of headerPairs(headers)) pairs.push(crossing(name, value));
  const first = { resource: text('path', path), timeoutMs: optional(timeout, 'timeoutMs', timeoutMs) };
  return new Call(op, 0, text('method', method), first, pairs.length, pairs);
}

function crossing(first, second) {
  return new Call(OP.REQUEST, 0, first, { resource: second });
}

function given(name, value, read = text) {
  return value === null ? '' : (optional(read, name, value) ?? '');
}

/** Paths in one text, a line each: what breaks lines crosses as an escape, which is read alike. */
function joined(otherPaths = []) {
  if (!Array.isArray(otherPaths)) throw wrongType('otherPaths', 'an array of strings', otherPaths);
  return otherPaths.map((path) => text('otherPaths', path).replace(/[\r\n]/g, encodeURIComponent)).join('\n');
}

/** The headers in any form that Node and the web have for them: an object, `Headers`, a `Map`, a list of pairs. */
function* headerPairs(headers) {
  if (headers === undefined) return;
  if (typeof headers !== 'object' || headers === null) {
    throw wrongType('headers', 'an object or a list of pairs', headers);
  }
  const isList = Symbol.iterator in headers;
  for (const header of isList ? headers : Object.entries(headers)) {
    const [name, value] = pair('headers', header);
    for (const line of Array.isArray(value) ? value : [value]) {
      if (line !== undefined) yield [text('headers', name), text('headers', line)];
    }
  }
}

/** Which rules match a request; to `explain`, all rules, and why each does or not. */
function matchesOf(caller, request, wanted) {
  const call = requestCall(request);
  const { explain = false } = options('options', wanted, KNOWN.match);
  return caller.matches(call, boolean('explain', explain));
}

module.exports = { matchesOf, requestCall };
