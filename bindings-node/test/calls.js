'use strict';

// The calls of vectors, in the names and units of this language.

/** What a vector says beside the arguments of its call. */
const BESIDE = new Set([
  'id', 'note', 'only', 'why', 'url', 'rules', 'rules_file', 'options', 'closed', 'op', 'at_us', 'expect', 'instead',
  'as', 'reserve', 'change',
]);
const SECONDS = new Set(['seconds', 'expires_in']);
const TIMES = new Set([
  'connect_timeout',
  'response_timeout',
  'timeout',
  'breaker_probe',
  'remember_denials',
  'replica_timeout',
  'wait',
]);

const camel = (name) => name.replace(/_[a-z]/g, (letter) => letter[1].toUpperCase());
/** The name of an option or of an argument. */
const renamed = (name) => (name === 'seconds' ? 'durationMs' : camel(name) + (TIMES.has(name) || SECONDS.has(name) ? 'Ms' : ''));

/** What is given; what is no number where one is wanted is the mistake. */
function translated(options = {}) {
  const inUnit = (name, value) => {
    if (typeof value !== 'number') return value;
    if (SECONDS.has(name)) return value * 1000;
    return TIMES.has(name) ? value / 1000 : value;
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [renamed(name), inUnit(name, value)]));
}

/** Makes the call that a vector names, with the arguments that it states. */
function make(limiter, vector) {
  const { rule, key, items, request, reservation, cost, costs, ...others } = Object.fromEntries(Object.entries(vector).filter(([name]) => !BESIDE.has(name)));
  const call = limiter[camel(vector.op)];
  if (typeof call !== 'function') throw new Error(`no method is called ${camel(vector.op)}`);
  if (request !== undefined) return call.call(limiter, translated(request));
  if (reservation !== undefined) return call.call(limiter, reservation, ...(vector.op === 'commit' ? [costs ?? cost] : []));
  if (vector.op === 'block' || vector.op === 'set_limit') {
    const { seconds, limit, ...rest } = others;
    const what = vector.op === 'block' ? translated({ seconds }).durationMs : limit;
    return call.call(limiter, rule, key, what, translated(rest));
  }
  const options = 'cost' in vector ? { cost, ...others } : others;
  if ('costs' in vector) options.costs = costs;
  const given = Object.keys(options).length === 0 ? [] : [translated(options)];
  if ('items' in vector) return call.call(limiter, Array.isArray(items) ? items.map(item) : items, ...given);
  const oneKey = 'key' in vector ? [key] : [];
  return call.call(limiter, ...('rule' in vector ? [rule, key] : oneKey), translated(options));
}

/** What is no object is the mistake. */
function item(fields) {
  return Object.prototype.toString.call(fields) === '[object Object]' ? translated(fields) : fields;
}

module.exports = { item, make, renamed, translated };
