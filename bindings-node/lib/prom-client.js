'use strict';

/** @import { OpenMetricsContentType, Registry } from 'prom-client' */
/** @import { RateLimiter } from './index.js' */

const client = require('prom-client');
const { named } = require('./named.js');

/** How several processes are aggregated, where that is not by the sum. */
const AGGREGATORS = { sluicegate_breaker_open: 'max', sluicegate_rules_version: 'first', sluicegate_region: 'first' };

/**
 * Adds what limiters count to a registry of prom-client. Answers a function that removes it.
 *
 * A registry takes it once. Give it an object of all limiters: their names are the label `limiter`. Limiters that are added to the
 * object later are collected too. Does no I/O.
 *
 * @param {RateLimiter | { readonly [name: string]: RateLimiter }} limiters
 * @param {Registry | Registry<OpenMetricsContentType>} [register] Default: the global one.
 * @returns {() => void}
 */
function registerMetrics(limiters, register = client.register) {
  const collect = onceATurn(() => collected(limiters));
  const families = [...collect().values()];
  if (families.length === 0) throw new Error('name at least one limiter');
  for (const { name } of families) {
    if (register.getSingleMetric(name)) throw new Error(`the registry has ${name} already: name all limiters in one object`);
  }
  for (const family of families) register.registerMetric(/** @type {any} */ (new FamilyMetric(family, collect)));
  return () => {
    for (const { name } of families) register.removeSingleMetric(name);
  };
}

/** A family as a registry takes one. prom-client has no metric whose whole value can be set, if it is a counter or a histogram. */
class FamilyMetric {
  #key;
  #collect;

  constructor({ name, help, type }, collect) {
    this.#key = name;
    this.#collect = collect;
    // A registry for OpenMetrics changes it.
    this.name = name;
    this.help = help;
    this.type = type;
    this.aggregator = AGGREGATORS[name] ?? 'sum';
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#collect().get(this.#key)?.values ?? [] };
  }

  /** Counts are the limiter's. */
  reset() {}
}

/** A registry asks all its metrics at once. */
function onceATurn(collect) {
  let known;
  return () => {
    if (known === undefined) {
      known = collect();
      queueMicrotask(() => (known = undefined));
    }
    return known;
  };
}

/** The families of all limiters, by name. */
function collected(limiters) {
  const families = new Map();
  for (const [labels, limiter] of named(limiters)) {
    let family;
    for (const line of limiter.prometheus().split('\n')) {
      const [, what, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
      if (what === 'HELP') {
        family = families.get(name) ?? { name, help: rest, type: undefined, values: [] };
        families.set(name, family);
      } else if (what === 'TYPE') family.type = rest;
      else if (line !== '') family.values.push(sampleOf(line, labels, family.name));
    }
  }
  return families;
}

function sampleOf(line, labels, family) {
  const [name] = /** @type {RegExpExecArray} */ (/^\w+/.exec(line));
  const own = [...line.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, unescaped(text)]);
  const value = Number(line.slice(line.lastIndexOf(' ')));
  const sample = { labels: { ...labels, ...Object.fromEntries(own) }, value };
  return name === family ? sample : { metricName: name, ...sample };
}

function unescaped(/** @type {string} */ text) {
  return text.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
}

module.exports = { registerMetrics };
