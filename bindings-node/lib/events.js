'use strict';

const { EventEmitter } = require('node:events');

const { NativeEvents } = require('./native.js');

/**
 * What limiters tell of themselves.
 *
 * @typedef {object} LimiterEvent
 * @property {string} name What happened: `breaker_open`, `breaker_closed`, `fallback_began`, `fallback_lasts`,
 *   `fallback_ended`, `rules_changed`, `rules_refused`, `rules_lost`, `rules_unreachable`, `topology_changed`,
 *   `shadow_denied` and others.
 * @property {boolean} warning Whether somebody should look at it.
 * @property {string} message What happened, in one line.
 */

/**
 * Emits `event` for what the limiters of this process tell of themselves, such as that a circuit breaker has opened. As long
 * as somebody listens, warnings are not written to standard error. It does not keep the process alive.
 *
 * @extends {EventEmitter<{ event: [LimiterEvent] }>}
 */
class LimiterEvents extends EventEmitter {
  /** @type {{ take: () => LimiterEvent[], end: () => void } | undefined} */
  #native;

  constructor() {
    super();
    this.#watch();
  }

  /** @param {Parameters<EventEmitter<any>['removeAllListeners']>} names */
  removeAllListeners(...names) {
    super.removeAllListeners(.../** @type {any} */ (names));
    if (names.length === 0) {
      // Its own were among them.
      this.#end();
      this.#watch();
    }
    return this;
  }

  #watch() {
    /** @type {EventEmitter<any>} */
    const own = this;
    own.on('newListener', (name) => {
      if (name === 'event') this.#native ??= new NativeEvents(() => this.#read());
    });
    own.on('removeListener', () => {
      if (this.listenerCount('event') === 0) this.#end();
    });
  }

  #read() {
    this.#emit(this.#native?.take() ?? []);
  }

  /** @param {LimiterEvent[]} events */
  #emit(events) {
    const rest = [...events];
    try {
      for (let event; (event = rest.shift()) !== undefined; ) this.emit('event', event);
    } finally {
      // A listener that throws loses no event but its own.
      if (rest.length > 0) setImmediate(() => this.#emit(rest));
    }
  }

  #end() {
    this.#native?.end();
    this.#native = undefined;
  }
}

module.exports = { LimiterEvents, events: new LimiterEvents() };
