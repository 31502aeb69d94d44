'use strict';

// Who is counted at a route.

const { addressKeyOf } = require('../arguments.js');
const { clientOf } = require('../policy.js');
const { HookError, ask, keyNamed } = require('./hooks.js');

/** The key of all clients that have no address. */
const NO_ADDRESS = 'no address';
const DEFAULT_PREFIX = 64;

/** A request is counted by its address, and has none. */
class NoAddress extends Error {}

/** A request is counted by a header that it lacks, which the message names. */
class NoHeader extends Error {}

let isWarned = false;

/** Finds the keys of one request; asks each function of the application once. */
class Keys {
  #hooks;
  #policy;
  #request;
  #known = {};

  constructor(hooks, policy, request) {
    this.#hooks = hooks;
    this.#policy = policy;
    this.#request = request;
  }

  /** The key under a rule, or the promise of it: what its `identifier_type` says, or else `key`, or else user or address. */
  of(rule) {
    const { identifier_type: identifier } = rule;
    if (Array.isArray(identifier)) return this.#allOf(identifier, rule);
    if (identifier !== undefined) return this.#identified(identifier, rule);
    if (this.#hooks.key) return this.#asked('key');
    return this.#hooks.userId ? this.#userOrAddress(rule) : this.#address(rule);
  }

  async #allOf(identifiers, rule) {
    const parts = [];
    for (const part of identifiers) parts.push(await this.#identified(part, rule));
    return parts;
  }

  async #userOrAddress(rule) {
    const user = await this.#asked('userId');
    // A user cannot be named like the address of somebody else.
    return user === undefined ? ['ip', this.#address(rule)] : ['user', ...[user].flat()];
  }

  async #identified(identifier, rule) {
    if (identifier === 'global') return identifier;
    if (identifier === 'ip_address') return this.#address(rule);
    if (identifier === 'user_id') {
      const user = this.#hooks.userId ? await this.#asked('userId') : undefined;
      return user ?? this.#missing(rule, 'userId names no user');
    }
    if (identifier === 'api_key') {
      this.#missing(rule, 'a route knows no API key: use header:<name>, or `key` with a rule without identifier_type');
    }
    const [kind, name] = split(identifier);
    const value = kind === 'header' ? this.#request.header(name.toLowerCase()) : this.#request.params[name];
    if (value !== undefined && value !== '') return String(value);
    if (kind === 'header') throw new NoHeader(`rule "${rule.rule_id}": the request has no header ${name}`);
    return this.#missing(rule, `the request has no ${identifier}`);
  }

  #missing(rule, why) {
    throw new HookError(`${this.#request.where}: rule "${rule.rule_id}": ${why}`);
  }

  /** What `key` or `userId` names; a user may lack. */
  async #asked(name) {
    if (!(name in this.#known)) {
      const { where, args } = this.#request;
      const value = await ask(where, name, this.#hooks[name], ...args);
      const isNobody = name === 'userId' && (value === undefined || value === null);
      this.#known[name] = isNobody ? undefined : keyNamed(where, name, value);
    }
    return this.#known[name];
  }

  #address(rule) {
    const key = addressKey(this.#request, this.#policy, rule);
    if (key !== undefined) return key;
    if (this.#hooks.noAddress !== 'shared') throw new NoAddress();
    if (!isWarned) {
      isWarned = true;
      process.emitWarning(
        'requests without an address, as from a Unix socket, share one limit (set `key`, `trustedProxies` or `noAddress`)',
      );
    }
    return NO_ADDRESS;
  }

}

/** The key of the client under a rule by its address; `undefined` where it has none. */
function addressKey(request, policy, { ipv6_prefix_length: prefixLength = DEFAULT_PREFIX }) {
  const { peer } = request;
  const lines = request.lines(policy.forwardedHeader);
  // What a proxy says of the client differs from request to request.
  const isAlone = peer !== undefined && lines === undefined;
  const known = isAlone ? policy.peers.keyOf(peer, prefixLength) : undefined;
  if (known !== undefined) return known;
  const ip = clientOf(peer, lines, policy);
  if (ip === undefined) return undefined;
  const key = addressKeyOf(ip, prefixLength);
  if (isAlone) policy.peers.keep(peer, prefixLength, key);
  return key;
}

/** @param {string} identifier */
function split(identifier) {
  const at = identifier.indexOf(':');
  return [identifier.slice(0, at), identifier.slice(at + 1)];
}

module.exports = { Keys, NoAddress, NoHeader, addressKey };
