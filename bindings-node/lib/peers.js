'use strict';

// Keys of clients by the addresses of their peers.

/** How many are kept, of each length of prefixes. */
const KEPT = 10_000;

/** Remembers the keys of peers: they send many requests, and each would ask Rust twice. */
class Peers {
  /** By the length of the prefix. To look for a text of both would take as long as a check. */
  #keys = [];

  /**
   * @param {string} peer
   * @param {number} prefixLength
   * @param {() => string | undefined} find Finds a key that is not known yet, if there is one.
   */
  keyOf(peer, prefixLength, find) {
    const keys = (this.#keys[prefixLength] ??= new Map());
    let key = keys.get(peer);
    if (key === undefined) {
      key = find();
      if (key === undefined) return undefined;
      if (keys.size >= KEPT) keys.clear();
      keys.set(peer, key);
    }
    return key;
  }
}

module.exports = { Peers };
