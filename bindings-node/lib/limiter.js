'use strict';

const { amount, boolean, optional, options, span, text, wrongType } = require('./arguments.js');
const { Calls } = require('./calls.js');
const { SluicegateError, succeeded } = require('./error.js');
const { Call, OP } = require('./mailbox.js');
const { NativeLimiter, open } = require('./native.js');
const { connectOptions } = require('./options.js');
const { requestCall } = require('./request.js');

const CHECK_OPTIONS = new Set(['cost', 'resource', 'limit']);
const RESET_OPTIONS = new Set(['resource']);
const WAIT_OPTIONS = new Set(['timeoutMs', 'signal', ...CHECK_OPTIONS]);
const MATCH_OPTIONS = new Set(['explain']);
const ITEM_FIELDS = new Set(['rule', 'key', ...CHECK_OPTIONS]);

/** Only `connect` makes limiters. */
const INTERNAL = Symbol('internal');

/** Whether the event loop is Node's own, which can watch sockets. Bun has functions of the same names that abort. */
const WATCHES = process.versions.bun === undefined;

/**
 * Decides whether a cost is admitted. Every method but `matchRequest` and `rulesStatus`, which only look,
 * returns a promise; whatever is wrong, be it an argument of the wrong type, rejects it.
 */
class RateLimiter {
  #native;
  #calls;
  #mailbox;
  #isLocal;
  #singleAtOnce;
  /** From the name of a rule to its place. */
  #places;

  constructor(internal, native, calls) {
    if (internal !== INTERNAL) throw new TypeError('use RateLimiter.connect(url, options)');
    this.#native = native;
    this.#calls = calls;
    this.#isLocal = native.isLocal;
    this.#mailbox = calls.mailbox;
    this.#singleAtOnce = native.singleAtOnce(this.#mailbox.key);
    this.#places = this.#mailbox.places;
  }

  static async connect(url, options) {
    const calls = new Calls();
    const wake = () => calls.wake();
    const native = open(text('url', url), connectOptions(options), calls.mailbox.numbers, wake, WATCHES);
    if (!(native instanceof NativeLimiter)) throw new SluicegateError(native);
    await calls.connected(native);
    return new this(INTERNAL, native, calls);
  }

  check(rule, key, options) {
    if (options === undefined && this.#isLocal) {
      const place = this.#places.get(rule);
      if (place !== undefined && this.#mailbox.putPlain(OP.CHECK, place, key)) return this.#answerAtOnce();
    }
    return this.#single(OP.CHECK, rule, key, options, CHECK_OPTIONS);
  }

  peek(rule, key, options) {
    return this.#single(OP.PEEK, rule, key, options, CHECK_OPTIONS);
  }

  refund(rule, key, options) {
    return this.#single(OP.REFUND, rule, key, options, CHECK_OPTIONS);
  }

  async reset(rule, key, options) {
    return this.#make(this.#call(OP.RESET, rule, key, options, RESET_OPTIONS));
  }

  async checkAll(items) {
    if (!Array.isArray(items)) throw wrongType('items', 'an array', items);
    // Not `map`, which skips holes.
    const calls = Array.from(items, (item, at) => this.#item(`items[${at}]`, item));
    const call = new Call(OP.ALL, 0, '', undefined, calls.length, calls);
    this.#calls.reserve(this.#native, call.rows);
    return this.#make(call);
  }

  async checkRequest(request) {
    const call = requestCall(request);
    this.#calls.reserve(this.#native, call.rows);
    return this.#isLocal ? this.#calls.sendAtOnce(this.#native, call) : this.#calls.send(this.#native, call);
  }

  matchRequest(request, given) {
    const call = requestCall(request);
    const { explain = false } = options('options', given, MATCH_OPTIONS);
    this.#calls.reserve(this.#native, call.rows);
    const words = this.#mailbox.putCall(0, call);
    return succeeded(this.#native.matchRequest(words, boolean('explain', explain)));
  }

  rulesStatus() {
    const status = this.#native.rulesStatus();
    return { ...status, loadedAt: new Date(status.loadedAt) };
  }

  async wait(rule, key, options) {
    const call = this.#call(OP.WAIT, rule, key, options, WAIT_OPTIONS);
    const { timeoutMs, signal } = options ?? {};
    call.extra = span('timeout', timeoutMs);
    if (signal === undefined) return this.#calls.send(this.#native, call);
    if (!(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal);
    return this.#abortable(call, signal);
  }

  async ping() {
    return this.#make(new Call(OP.PING, 0, ''));
  }

  async close() {
    this.#native.close();
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  /** The plain way for the calls that are made most; for an async function, a promise more would be made. */
  #single(op, rule, key, options, known) {
    try {
      return this.#make(this.#call(op, rule, key, options, known));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #make(call) {
    return this.#isLocal ? this.#atOnce(call) : this.#calls.send(this.#native, call);
  }

  /** What needs no I/O crosses to no other thread. */
  #atOnce(call) {
    const words = this.#mailbox.putCall(0, call);
    const isPlain = call.op <= OP.REFUND && call.resource === undefined && this.#mailbox.putKey(words);
    return isPlain ? this.#answerAtOnce() : this.#answer(this.#native.atOnce(words));
  }

  /** Answers the call in the first row, which has its key in the mailbox. */
  #answerAtOnce() {
    return this.#answer(this.#singleAtOnce());
  }

  #answer(failure) {
    return failure ? Promise.reject(new SluicegateError(failure)) : Promise.resolve(this.#mailbox.answer(0));
  }

  async #abortable(call, signal) {
    signal.throwIfAborted();
    const abort = () => this.#calls.cancel(this.#native, call, signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#calls.send(this.#native, call);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #call(op, rule, key, given, known) {
    const place = this.#placeOf(rule);
    text('key', key);
    if (given === undefined) return new Call(op, place, key);
    return new Call(op, place, key, checkOptions('', options('options', given, known)));
  }

  #item(name, item) {
    if (item === undefined) throw wrongType(name, 'an object', item);
    const given = options(name, item, ITEM_FIELDS);
    text(`${name}.key`, given.key);
    return new Call(OP.CHECK, this.#placeOf(given.rule, `${name}.rule`), given.key, checkOptions(`${name}.`, given));
  }

  #placeOf(rule, name = 'rule') {
    return this.#places.get(rule) ?? this.#learn(text(name, rule));
  }

  #learn(rule) {
    this.#mailbox.learn(succeeded(this.#native.learn(rule)));
    return this.#places.get(rule);
  }
}

/** Cost, resource and limit, checked; messages have `prefix` before their names. */
function checkOptions(prefix, { cost, resource, limit }) {
  return {
    cost: optional(amount, `${prefix}cost`, cost),
    resource: optional(text, `${prefix}resource`, resource),
    limit: optional(amount, `${prefix}limit`, limit),
  };
}

module.exports = { RateLimiter };
