'use strict';

const { setImmediate: soon } = require('node:timers');
const { KNOWN, callOptions, keyOf, text, wrongType } = require('./arguments.js');
const { errorOf, rejected, succeeded } = require('./error.js');
const { severalCall } = require('./items.js');
const { Call, Mailbox, OP } = require('./mailbox.js');
const { metricsOf } = require('./metrics.js');
const { NativeLimiter, open } = require('./native.js');
const { connectOptions } = require('./options.js');

/** Rows of a new mailbox. A batch that is larger crosses in several parts. */
const ROWS = 256;

/** After so many calls that needed no server, the loop turns. */
const TURN = 1000;

/** What most fetches bring beside rows. */
const NOTHING = Object.freeze({ failures: [], held: [], names: [] });

/** The token of the answer that says whether the limiter is connected. */
const OPENED = 0;

/** Whether the event loop is Node's own, which can watch sockets. Bun has functions of the same names that abort. */
const WATCHES = process.versions.bun === undefined;

/**
 * The calls of one limiter on their way to Rust and back. Those made in one iteration of the event loop, such as by the requests that
 * have come, cross together, and the answers that have come by the next one are fetched together.
 *
 * The native limiter refers to this for ever, by `wake`. So this refers to the native limiter only while
 * calls are pending: with a circle through native memory, neither would ever be collected.
 */
class Calls {
  mailbox = new Mailbox(ROWS);
  #native;
  /** For answers to calls that were given up, which may come when no call is pending. */
  #weakly;
  #queue = [];
  #pending = new Map();
  #lastToken = OPENED;
  #timer;
  /** Whether checks may be answered at once by what a server lent or said before, as of the last call that was sent. */
  #usesCells = false;
  /** Whether a call that is yet to be sent may change what the server has said. */
  #changes = false;

  /** Waits until the limiter is connected. */
  connected(native) {
    this.#weakly = new WeakRef(native);
    return this.#expect(native, OPENED, {});
  }

  /** Makes a call, and promises its answer. It crosses by Node's own timers, whatever a test has put in their place since. */
  send(native, call) {
    if (this.#queue.length === 0) soon(() => this.#flush());
    this.#queue.push(call);
    this.#changes ||= call.op !== OP.CHECK && call.op !== OP.PEEK;
    call.token = ++this.#lastToken;
    return this.#expect(native, call.token, call);
  }

  /** Makes a call in memory: it crosses to no other thread. */
  sendAtOnce(native, call) {
    call.token = ++this.#lastToken;
    const answer = this.#expect(native, call.token, call);
    try {
      native.requestAtOnce(this.mailbox.putCall(0, call));
    } catch (error) {
      this.#fail([call], error);
    }
    this.wake({ isOnStack: true });
    return answer;
  }

  /** Whether a check may be answered at once by what a server lent or said before. */
  get decide() {
    return this.#usesCells && !this.#changes;
  }

  /** Gives up a call; its promise is rejected with `reason`. */
  cancel(native, call, reason) {
    if (!this.#pending.delete(call.token)) return;
    const unsent = this.#queue.indexOf(call);
    if (unsent < 0) native.cancel(call.token);
    else this.#queue.splice(unsent, 1);
    call.reject(reason);
    this.#restIfDone();
  }

  /** Makes room for a call, or an answer, of so many rows. */
  reserve(native, rows) {
    if (rows <= this.mailbox.rows) return;
    this.mailbox.grow(rows);
    native.useMailbox(this.mailbox.numbers);
  }

  /** Closes the limiter, and promises that nothing of it is open any more. */
  close(native) {
    const token = ++this.#lastToken;
    const closed = this.#expect(native, token, {});
    native.close(token);
    // Nobody calls it for a limiter of which nothing is under way.
    this.wake();
    return closed;
  }

  /** Fetches the answers that have come. Rust calls it, once per burst; then no caller is on the stack. */
  wake({ isOnStack } = { isOnStack: false }) {
    const native = this.#weakly.deref();
    for (let rows = native === undefined ? 0 : 1; rows > 0; ) {
      this.reserve(native, rows);
      const beside = native.fetch() ?? NOTHING;
      this.mailbox.learn(beside.names);
      this.#settle(beside, isOnStack);
      rows = this.mailbox.more;
    }
    this.#restIfDone();
    // A wait that was denied may sleep for less time than the timer. What was borrowed is given back while no call is under way.
    if (native?.isHurried) this.#expire();
  }

  #expect(native, token, call) {
    this.#native = native;
    this.#pending.set(token, call);
    return new Promise((resolve, reject) => {
      call.resolve = resolve;
      call.reject = reject;
    });
  }

  #flush() {
    const calls = this.#queue;
    this.#queue = [];
    for (let first = 0; first < calls.length; ) first = this.#submit(calls, first);
    // A rule that is leased may have come, or gone.
    this.#usesCells = this.#native?.usesCells ?? this.#usesCells;
    this.#changes = false;
    if (this.#native?.hasSocket) this.#sent();
  }

  /** Sees to the calls on a socket, of which no other thread takes care. */
  #sent() {
    // Such as those that an open circuit breaker refuses.
    if (this.#native.hasAnswers) this.wake();
    if (this.#pending.size === 0) return;
    if (this.#pending.size === 1) this.#spin();
    else this.#expireInTime();
  }

  /** Sees to a timer, unless one runs that is early enough. */
  #expireInTime() {
    if (this.#timer === undefined || this.#native.isHurried) this.#expire();
  }

  /** Looks for the answer to a single call, when all else that the loop has to do is done. */
  #spin() {
    if (this.#native === undefined) return;
    this.#native.spin();
    this.wake();
    if (this.#native !== undefined) this.#expireInTime();
  }

  /** Ends calls whose time is up; again and again while there are calls on the socket, or units are borrowed. */
  #expire() {
    clearTimeout(this.#timer);
    const left = this.#weakly.deref()?.expire();
    // Rust's `None` is null here.
    this.#timer = left == null ? undefined : setTimeout(() => this.#expire(), left).unref();
    this.wake();
  }

  /** Submits as many calls as there is room for, and returns the place of the first that is left. */
  #submit(calls, first) {
    let next = first;
    try {
      let text = '';
      for (let row = 0; next < calls.length && row + calls[next].rows <= this.mailbox.rows; next++) {
        text += this.mailbox.putCall(row, calls[next]);
        row += calls[next].rows;
      }
      const failure = this.#native.submit(next - first, text);
      if (failure) throw errorOf(failure);
    } catch (error) {
      // Keys can be too long for one text: then the calls so far have failed, or the one call that is left.
      if (next === first) next++;
      this.#fail(calls.slice(first, next), error);
    }
    return next;
  }

  #settle({ failures, held }, isOnStack) {
    const rows = this.mailbox.fetched;
    let failed = 0;
    let reserved = 0;
    for (let row = 0; row < rows; row += this.mailbox.rowsOf(row)) {
      const token = this.mailbox.token(row);
      const call = this.#pending.get(token);
      const failure = this.mailbox.hasFailed(row) ? failures[failed++] : undefined;
      const rest = this.mailbox.isReserved(row) ? held[reserved++] : undefined;
      // A cancelled call may be answered nevertheless.
      if (!this.#pending.delete(token)) {
        if (rest?.id) this.#release(rest.id);
        continue;
      }
      if (failure) this.#reject(call, failure, isOnStack);
      else if (rest) call.resolve({ decision: this.mailbox.answer(row), ...rest });
      else call.resolve(this.mailbox.answer(row));
    }
  }

  #reject(call, failure, isOnStack) {
    if (isOnStack) call.reject(errorOf(failure));
    else call.resolve(rejected(failure));
  }

  /** Releases what was reserved for a call that was given up. What is not released now, its lease ends. */
  #release(id) {
    const native = this.#weakly.deref();
    if (native !== undefined) this.send(native, new Call(OP.RELEASE, 0, '', { resource: id })).catch(() => {});
  }

  #fail(calls, error) {
    for (const call of calls) {
      this.#pending.delete(call.token);
      call.reject(error);
    }
    this.#restIfDone();
  }

  #restIfDone() {
    if (this.#pending.size > 0) return;
    this.#native?.rest();
    this.#native = undefined;
  }
}

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
    if (!(this.#isLocal || this.#calls.decide) || typeof rule !== 'string') return undefined;
    const place = this.#knownPlaceOf(rule);
    return place !== undefined && this.#mailbox.putPlain(op, place, key) ? this.#answerAtOnce() : undefined;
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
    if (answer !== undefined) return answer;
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
