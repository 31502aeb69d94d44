'use strict';

// Keys of clients by the addresses of their peers.

/** How many are kept, of each length of prefixes. */
const KEPT = 10_000;

/** Remembers the keys of peers: they send many requests, and each would ask Rust twice. */
class Peers {
  /** By the length of the prefix. To look for a text of both would take as long as a check. */
  #keys = [];

  /**
   * The key of a peer; `undefined` where it is not known.
   *
   * @param {string} peer
   * @param {number} prefixLength
   * @returns {string | undefined}
   */
  keyOf(peer, prefixLength) {
    return this.#keys[prefixLength]?.get(peer);
  }

  /**
   * Remembers it.
   *
   * @param {string} peer
   * @param {number} prefixLength
   * @param {string} key
   */
  keep(peer, prefixLength, key) {
    const keys = (this.#keys[prefixLength] ??= new Map());
    if (keys.size >= KEPT) keys.clear();
    keys.set(peer, key);
  }
}

module.exports = { Peers };
