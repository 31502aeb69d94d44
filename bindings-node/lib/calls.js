'use strict';

const { setImmediate: soon } = require('node:timers');
const { errorOf, rejected } = require('./error.js');
const { Call, Mailbox, OP } = require('./mailbox.js');

/** Rows of a new mailbox. A batch that is larger crosses in several parts. */
const ROWS = 256;

/** What most fetches bring beside rows. */
const NOTHING = Object.freeze({ failures: [], held: [], names: [] });

/** The token of the answer that says whether the limiter is connected. */
const OPENED = 0;

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

module.exports = { Calls };
