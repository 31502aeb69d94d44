'use strict';

const { setImmediate: soon } = require('node:timers');
const { KNOWN, callOptions, keyOf, text, wrongType } = require('./arguments.js');
const { Calls } = require('./calls.js');
const { errorOf, succeeded } = require('./error.js');
const { severalCall } = require('./items.js');
const { Call, OP } = require('./mailbox.js');
const { metricsOf } = require('./metrics.js');
const { NativeLimiter, open } = require('./native.js');
const { connectOptions } = require('./options.js');

/** After so many calls that needed no server, the loop turns. */
const TURN = 1000;

/** Whether the event loop is Node's own, which can watch sockets. Bun has functions of the same names that abort. */
const WATCHES = process.versions.bun === undefined;

/** How a limiter makes its calls. It refers to the native limiter, which so lives as long as the limiter does. */
class Caller {
  #native;
  #calls;
  #mailbox;
  #isLocal;
  #singleAtOnce;
  /** From the name of a rule to its place. */
  #places;
  /** How many calls were answered at once in a server's place. */
  #answered = 0;
  /** The rule of the last plain call, and its place: V8 looks up one of several names more slowly than it compares two. */
  #lastRule = '';
  #lastPlace;

  constructor(native, calls) {
    this.#native = native;
    this.#calls = calls;
    this.#isLocal = native.isLocal;
    this.#mailbox = calls.mailbox;
    this.#singleAtOnce = native.singleAtOnce(this.#mailbox.key);
    this.#places = this.#mailbox.places;
  }

  /** Connects a limiter to the backend that `url` names. */
  static async open(url, options) {
    const calls = new Calls();
    const wake = () => calls.wake();
    const native = open(text('url', url), connectOptions(options), calls.mailbox.numbers, wake, WATCHES);
    if (!(native instanceof NativeLimiter)) throw errorOf(native);
    await calls.connected(native);
    return new Caller(native, calls);
  }

  /** The place of a rule among the names that crossed. */
  placeOf(rule) {
    return this.#places[rule] ?? this.#learn(rule);
  }

  #learn(rule) {
    this.#mailbox.learn(succeeded(this.#native.learn(rule)));
    return this.#places[rule];
  }

  /** Makes a call without options for which no object is needed; `undefined` where one is, or the arguments are wrong. */
  #plainAtOnce(op, rule, key) {
    return this.#isPut(op, rule, key) ? this.#answerAtOnce() : undefined;
  }

  /** Writes such a call where `singleAtOnce` reads it. */
  #isPut(op, rule, key) {
    if (!(this.#isLocal || this.#calls.decide) || typeof rule !== 'string') return false;
    const place = this.#knownPlaceOf(rule);
    return place !== undefined && this.#mailbox.putPlain(op, place, key);
  }

  /** The place of a rule that crossed before. */
  #knownPlaceOf(rule) {
    if (rule === this.#lastRule) return this.#lastPlace;
    const place = this.#places[rule];
    if (place !== undefined) {
      this.#lastRule = rule;
      this.#lastPlace = place;
    }
    return place;
  }

  /** A call about a key under a rule; `known` are the names of the options that it may have. */
  ruleCall(op, rule, key, given, known, extra = 0) {
    text('rule', rule);
    const who = keyOf('key', key);
    const wanted = callOptions(given, known);
    return new Call(op, this.placeOf(rule), who, wanted, extra);
  }

  /** A call about a key under every rule. */
  keyCall(op, key, given) {
    const who = keyOf('key', key);
    return new Call(op, 0, who, callOptions(given, KNOWN.reset));
  }

  /** A call about several checks. */
  severalCall(op, items, wanted) {
    return severalCall(op, items, wanted, this);
  }

  /** The plain way for the calls that are made most; for an async function, a promise more would be made. */
  about(op, rule, key, given, known) {
    const answer = given === undefined ? this.#plainAtOnce(op, rule, key) : undefined;
    return answer ?? this.#byCall(op, rule, key, given, known);
  }

  /**
   * Checks a key without options, for a caller whom the loop calls each time. What is decided at once is answered without a promise,
   * and an error is thrown.
   */
  checkSoonest(rule, key) {
    const refusal = this.#isPut(OP.CHECK, rule, key) ? this.#singleAtOnce() : true;
    if (refusal === true) return this.#byCall(OP.CHECK, rule, key, undefined, KNOWN.check);
    if (refusal) throw errorOf(refusal);
    return this.#mailbox.answer(0);
  }

  #byCall(op, rule, key, given, known) {
    try {
      return this.make(this.ruleCall(op, rule, key, given, known));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Makes a call whose answer takes no more rows than it has itself. */
  make(call) {
    if (call.items !== undefined) this.#calls.reserve(this.#native, call.rows);
    if (this.#isLocal) return this.#atOnce(call);
    const answer = this.#calls.decide && call.op === OP.CHECK ? this.#byCell(call) : undefined;
    return answer ?? this.#calls.send(this.#native, call);
  }

  /** Makes a call whose answer may take more rows than it has itself. */
  makeLong(call) {
    this.#calls.reserve(this.#native, call.rows);
    return this.#isLocal ? this.#calls.sendAtOnce(this.#native, call) : this.#calls.send(this.#native, call);
  }

  /** Makes a call that may sleep, until it is answered or `signal` aborts it. */
  wait(call, signal) {
    this.#calls.reserve(this.#native, call.rows);
    if (signal === undefined) return this.#calls.send(this.#native, call);
    if (!(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal);
    return this.#abortable(call, signal);
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

  /** Which rules match the request of a call; to `explain`, all rules, and why each does or not. */
  matches(call, explain) {
    this.#calls.reserve(this.#native, call.rows);
    return succeeded(this.#native.matchRequest(this.#mailbox.putCall(0, call), explain));
  }

  rules() {
    return JSON.parse(this.#native.rules());
  }

  addRules(rules) {
    const failure = this.#native.addRules(rules);
    if (failure) throw errorOf(failure);
  }

  setInstances(instances) {
    const failure = this.#native.setInstances(instances);
    if (failure) throw errorOf(failure);
  }

  metrics() {
    return metricsOf(this.#native.metrics());
  }

  prometheus() {
    return this.#native.prometheus();
  }

  rulesStatus() {
    const status = this.#native.rulesStatus();
    return { ...status, loadedAt: new Date(status.loadedAt) };
  }

  close() {
    return this.#calls.close(this.#native);
  }

  /** What needs no I/O crosses to no other thread. */
  #atOnce(call) {
    const words = this.#mailbox.putCall(0, call);
    const isPlain = call.op < OP.RESET && isAlone(call) && this.#mailbox.putKey(words);
    return isPlain ? this.#answerAtOnce() : this.#answer(this.#native.atOnce(words));
  }

  /** Answers a check by what a server lent or said before; `undefined` where it has to be asked. */
  #byCell(call) {
    return isAlone(call) && this.#mailbox.putKey(this.#mailbox.putCall(0, call)) ? this.#answerAtOnce() : undefined;
  }

  /** Answers the call in the first row, which has its key in the mailbox; `undefined` where a server has to be asked. */
  #answerAtOnce() {
    const refusal = this.#singleAtOnce();
    if (refusal === true) return undefined;
    const answer = this.#answer(refusal);
    if (this.#isLocal || ++this.#answered % TURN !== 0) return answer;
    // Who calls again and again keeps nobody else from running.
    return new Promise((resolve) => soon(() => resolve(answer)));
  }

  #answer(failure) {
    if (failure) return Promise.reject(errorOf(failure));
    const decision = this.#mailbox.answer(0);
    if (decision === undefined) return Promise.resolve();
    // V8 knows the shape of an object that was just looked at, and so that it has no method `then`; to look
    // for one would take a twentieth of a check's time.
    void decision.parts;
    return Promise.resolve(decision);
  }
}

/** Whether a call about one key has no resource, nor an id. */
function isAlone(call) {
  return call.resource === undefined && call.requestId === undefined;
}

module.exports = { Caller };
