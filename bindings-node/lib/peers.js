'use strict';

// Keys of clients by the addresses of their peers.

/** How many are kept. */
const KEPT = 10_000;

/** Remembers the keys of peers: they send many requests, and each would ask Rust twice. */
class Peers {
  #keys = new Map();

  /**
   * @param {string} peer
   * @param {number} prefixLength
   * @param {() => string | undefined} find Finds a key that is not known yet, if there is one.
   */
  keyOf(peer, prefixLength, find) {
    const place = `${prefixLength} ${peer}`;
    let key = this.#keys.get(place);
    if (key === undefined) {
      key = find();
      if (key === undefined) return undefined;
      if (this.#keys.size >= KEPT) this.#keys.clear();
      this.#keys.set(place, key);
    }
    return key;
  }
}

module.exports = { Peers };
