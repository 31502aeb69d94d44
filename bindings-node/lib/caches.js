'use strict';

// Answers that a cache may send to other clients have no headers of one client's limit.

/** Such headers, at a response that may have them. */
const TOLD = Symbol('sluicegate.told');

const CACHE_CONTROL = 'cache-control';
const FOR_ONE = ['private', 'no-store', 'no-cache'];

/**
 * Whether a cache that clients share may send an answer to other clients.
 *
 * @param {unknown} cacheControl The header of the answer, as Node has it.
 */
function isForAll(cacheControl) {
  if (cacheControl === undefined || cacheControl === null) return false;
  const directives = String(cacheControl).toLowerCase().split(',').map((directive) => directive.trim());
  if (directives.some((directive) => FOR_ONE.some((name) => directive.startsWith(name)))) return false;
  return directives.some((directive) => directive === 'public' || /^(s-maxage|max-age)="?0*[1-9]/.test(directive));
}

/**
 * Takes the headers of a limit off an answer that turns out to be for all when it begins: the application says so later.
 *
 * @param {any} response Node's, of HTTP/1.1 or HTTP/2; `undefined` where it is not known.
 * @param {Record<string, string>} headers
 */
function keepFromCaches(response, headers) {
  if (typeof response?.writeHead !== 'function') return;
  if (response[TOLD] !== undefined) response[TOLD].push(headers);
  else if (Object.keys(headers).length > 0) watch(response, (response[TOLD] = [headers]));
}

function watch(response, told) {
  const { writeHead } = response;
  response.writeHead = function writeHeadForAll(...given) {
    const last = given.length - 1;
    const headers = typeof given[last] === 'object' ? (given[last] ?? undefined) : undefined;
    if (isForAll(cacheControlIn(headers) ?? this.getHeader('cache-control'))) {
      const known = new Set(told.flatMap(Object.keys).map((name) => name.toLowerCase()));
      for (const name of known) this.removeHeader(name);
      if (headers) given[last] = without(known, fieldsOf(headers), Array.isArray(headers));
    }
    return writeHead.apply(this, given);
  };
}

/** The header among those that `writeHead` is given, if it is. */
function cacheControlIn(headers = {}) {
  // Most answers come here with an object: nothing is made of its other headers.
  const stated = Array.isArray(headers)
    ? fieldsOf(headers).filter(([name]) => name === CACHE_CONTROL).map(([, , value]) => value)
    : Object.keys(headers).filter(isCacheControl).map((name) => headers[name]);
  return stated.length > 0 ? stated.join() : undefined;
}

function isCacheControl(name) {
  return name.length === CACHE_CONTROL.length && name.toLowerCase() === CACHE_CONTROL;
}

/** Headers as `writeHead` takes them: each as its name in small letters, its name and its value. */
function fieldsOf(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers).map(([name, value]) => [name.toLowerCase(), name, value]);
  const flat = Array.isArray(headers[0]) ? headers.flat() : headers;
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name).toLowerCase(), name, flat[at + 1]]] : []));
}

function without(known, fields, isFlat) {
  const left = fields.filter(([name]) => !known.has(name)).map(([, name, value]) => [name, value]);
  return isFlat ? left.flat() : Object.fromEntries(left);
}

module.exports = { isForAll, keepFromCaches };
