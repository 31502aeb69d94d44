// Before the tests that @fastify/rate-limit comes with: its store in memory is ours, on a clock that goes as theirs does.

import Module from 'node:module';
import { ManualClock, RateLimiter } from 'sluicegate';
import { sluicegateStore } from 'sluicegate/fastify-rate-limit';

/** Stores are made where nothing can be awaited. */
const READY = 60;

const ready = [];
for (let at = 0; at < READY; at++) {
  // Tests set the time to 0, and what counts begins later.
  const clock = new ManualClock(1_000_000_000_000);
  ready.push({ clock, limiter: await RateLimiter.connect('memory://', { rules: [], clock }) });
}

class LocalStore {
  #store;
  #clock;
  #then;

  constructor(continueExceeding, exponentialBackoff, cache, made) {
    this.#then = Date.now();
    const { clock, limiter } = made ?? ready.pop();
    this.#clock = clock;
    this.#store = made?.store ?? new (sluicegateStore(limiter))({ continueExceeding, exponentialBackoff });
  }

  incr(...given) {
    this.#follow();
    this.#store.incr(...given);
  }

  read(...given) {
    this.#follow();
    this.#store.read(...given);
  }

  child(options) {
    return new LocalStore(false, false, 0, { clock: this.#clock, store: this.#store.child(options) });
  }

  #follow() {
    const now = Date.now();
    if (now > this.#then) this.#clock.advance(now - this.#then);
    this.#then = now;
  }
}

const load = Module._load;
Module._load = function (request, ...given) {
  return request === './store/LocalStore' ? LocalStore : load.call(this, request, ...given);
};
