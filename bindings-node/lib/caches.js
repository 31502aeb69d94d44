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
  const told = response[TOLD];
  if (told !== undefined) return void told.headers.push(headers);
  if (Object.keys(headers).length === 0) return;
  response[TOLD] = { headers: [headers], writeHead: response.writeHead };
  response.writeHead = writeHeadForAll;
}

/**
 * In place of that of a response: the same function for all of them.
 *
 * @this {any}
 */
function writeHeadForAll(...given) {
  const told = this[TOLD];
  const last = given.length - 1;
  const headers = typeof given[last] === 'object' ? (given[last] ?? undefined) : undefined;
  if (isForAll(cacheControlIn(headers) ?? this.getHeader('cache-control'))) {
    const known = new Set(told.headers.flatMap(Object.keys).map((name) => name.toLowerCase()));
    for (const name of known) this.removeHeader(name);
    if (headers) given[last] = without(known, fieldsOf(headers), Array.isArray(headers));
  }
  return told.writeHead.apply(this, given);
}

/** The header among those that `writeHead` is given, if it is. */
function cacheControlIn(headers) {
  if (headers === undefined) return undefined;
  if (Array.isArray(headers)) {
    const stated = fieldsOf(headers).filter(([name]) => name === CACHE_CONTROL).map(([, , value]) => value);
    return stated.length > 0 ? stated.join() : undefined;
  }
  // Most answers come here: nothing is made of their other headers.
  let stated;
  for (const name in headers) if (isCacheControl(name)) stated = stated === undefined ? headers[name] : `${stated},${headers[name]}`;
  return stated;
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
