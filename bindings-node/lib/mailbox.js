'use strict';

// The memory through which calls and answers pass: rows of numbers that both sides read and write, since
// making a JavaScript value for each number would cost more than a check. src/mailbox.rs is the other side.

/** @import { CheckOptions, Decision } from './index.js' */

const { operations } = require('./native.js');

/** Numbers in a row. */
const ROW = 10;

/** Numbers after the rows: how many rows were fetched, and how many the next answer takes. */
const FETCHED = 2;

/**
 * The numbers of what is asked. Those about a single item come first, `RESET` after them.
 *
 * @type {Readonly<Record<string, number>>}
 */
const OP = Object.freeze({ ...operations() });

/** The result of a call; src/answers.rs has the same numbers. A decision is a sum of flags. */
const ALLOWED = 1;
const SHADOW_DENIED = 2;
const IN_MEMORY = 4;
const SHADOW = 8;
const RESERVED = 16;
const BLOCKED = 32;
const FALLBACK = 64;
const ALLOTMENT = 128;
const SHARE = 256;
const CACHE = 512;
const REPLICATED = 1024;
const LEASE = 2048;
const DONE = -1;
const FAILED = -2;
/** Any other number below zero: it did not take effect. */
const ENDED = -3;

const { charCodeAt } = String.prototype;

/** Who decided. @param {number} outcome */
function sourceOf(outcome) {
  if ((outcome & IN_MEMORY) !== 0) return 'memory';
  if ((outcome & FALLBACK) !== 0) return 'fallback';
  if ((outcome & ALLOTMENT) !== 0) return 'allotment';
  if ((outcome & CACHE) !== 0) return 'cache';
  if ((outcome & LEASE) !== 0) return 'lease';
  return (outcome & SHARE) !== 0 ? 'share' : 'server';
}

/** So long a key in ASCII passes through memory; for a longer one, passing a string is as fast. */
const KEY_LENGTH = 64;

const NOT_GIVEN = -1;
/** @type {CheckOptions} */
const NO_OPTIONS = Object.freeze({});
/** @type {readonly Decision[]} */
const NO_PARTS = Object.freeze([]);

class Mailbox {
  numbers;
  key = new Uint8Array(KEY_LENGTH);

  /**
   * The names of rules that crossed so far, and the place of each: from then on it crosses as that. An object
   * without a prototype, in which V8 finds the names that a program uses sooner than in a map.
   */
  rules = [];
  places = Object.create(null);

  constructor(rows) {
    this.grow(rows);
  }

  /** How many rows there is room for. */
  get rows() {
    return (this.numbers.length - FETCHED) / ROW;
  }

  grow(rows) {
    this.numbers = new Float64Array(rows * ROW + FETCHED);
  }

  /** How many rows the last fetch wrote. */
  get fetched() {
    return this.numbers[this.numbers.length - FETCHED];
  }

  /** How many rows the next answer takes; 0 when there is none. */
  get more() {
    return this.numbers[this.numbers.length - 1];
  }

  /** Takes up names; src/names.rs has the same ones. */
  learn(names) {
    for (const name of names) this.places[name] = this.rules.push(name) - 1;
  }

  /** Writes a call, and returns its texts: those of all calls cross as one. */
  putCall(row, call) {
    const { items } = call;
    let text = this.putItem(row, call);
    if (items !== undefined) for (const item of items) text += this.putItem(++row, item);
    return text;
  }

  putItem(row, { token, op, rule, key, resource, cost, limit, extra, timeoutMs, requestId }) {
    const { numbers } = this;
    const at = row * ROW;
    numbers[at] = token;
    numbers[at + 1] = op;
    numbers[at + 2] = rule;
    numbers[at + 3] = key.length;
    numbers[at + 4] = resource === undefined ? NOT_GIVEN : resource.length;
    numbers[at + 5] = cost;
    numbers[at + 6] = limit === undefined ? NOT_GIVEN : limit;
    numbers[at + 7] = extra;
    numbers[at + 8] = timeoutMs === undefined ? NOT_GIVEN : timeoutMs;
    numbers[at + 9] = requestId === undefined ? NOT_GIVEN : requestId.length;
    const texts = resource === undefined ? key : key + resource;
    return requestId === undefined ? texts : texts + requestId;
  }

  /**
   * Writes a call without options where `singleAtOnce` reads it; not if its key is no text in ASCII or is too
   * long. For the calls that are made most: it makes no object, what is in ASCII is well-formed, and where no cost is
   * given, `singleAtOnce` reads no other option.
   */
  putPlain(op, rule, key) {
    if (typeof key !== 'string' || !this.putKey(key)) return false;
    const { numbers } = this;
    numbers[1] = op;
    numbers[2] = rule;
    numbers[3] = key.length;
    numbers[5] = NOT_GIVEN;
    return true;
  }

  /** Writes a key where `singleAtOnce` reads it, unless it is too long or not in ASCII. */
  putKey(key) {
    const bytes = this.key;
    const { length } = key;
    if (length > KEY_LENGTH) return false;
    let all = 0;
    for (let at = 0; at < length; at++) {
      const unit = charCodeAt.call(key, at);
      all |= unit;
      bytes[at] = unit;
    }
    return all < 128;
  }

  token(row) {
    return this.numbers[row * ROW];
  }

  hasFailed(row) {
    return this.numbers[row * ROW + 1] === FAILED;
  }

  /** Whether the decision in a row is that of a reservation. */
  isReserved(row) {
    const outcome = this.numbers[row * ROW + 1];
    return outcome >= 0 && (outcome & RESERVED) !== 0;
  }

  /**
   * The decision in a row and those after it; whether an end took effect; `undefined` where the answer is that all is
   * done.
   */
  answer(row) {
    const { numbers, rules } = this;
    const at = row * ROW;
    const outcome = numbers[at + 1];
    if (outcome < 0) return outcome === DONE ? undefined : outcome === ENDED;
    const rule = rules[numbers[at + 2]];
    const parts = numbers[at + 8];
    return {
      allowed: (outcome & ALLOWED) !== 0,
      rule,
      ruleApplied: rule !== '',
      limit: numbers[at + 3],
      windowMs: numbers[at + 4],
      remaining: numbers[at + 5],
      retryAfterMs: numbers[at + 6],
      resetAfterMs: numbers[at + 7],
      blocked: (outcome & BLOCKED) !== 0,
      replicated: (outcome & REPLICATED) !== 0,
      shadow: (outcome & SHADOW) !== 0,
      shadowDenied: (outcome & SHADOW_DENIED) !== 0,
      source: sourceOf(outcome),
      parts: parts === 0 ? NO_PARTS : Array.from({ length: parts }, (_, part) => this.answer(row + 1 + part)),
    };
  }

  /** How many rows the answer in a row takes. */
  rowsOf(row) {
    return 1 + this.numbers[row * ROW + 8];
  }
}

/**
 * A call as it crosses. Every call has the same fields, in the same order, so that V8 takes them for
 * objects of one shape.
 */
class Call {
  /** Identifies its answer. */
  token = 0;
  resolve;
  reject;

  /**
   * @param {number} op
   * @param {number} rule
   * @param {string} key
   * @param {CheckOptions} [options]
   * @param {number} [extra]
   * @param {Call[]} [items]
   */
  constructor(op, rule, key, options = NO_OPTIONS, extra = 0, items = undefined) {
    const { cost = 1, resource, limit, timeoutMs, requestId } = options;
    this.op = op;
    this.rule = rule;
    this.key = key;
    this.cost = cost;
    this.resource = resource;
    this.limit = limit;
    /** Milliseconds for a wait; otherwise the number of items. */
    this.extra = extra;
    this.timeoutMs = timeoutMs;
    this.requestId = requestId;
    this.items = items;
  }

  /** How many rows it takes. */
  get rows() {
    return this.items === undefined ? 1 : 1 + this.items.length;
  }
}

module.exports = { Call, Mailbox, OP };
