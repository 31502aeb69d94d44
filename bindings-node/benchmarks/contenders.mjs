// Who takes part: each connects and gives a `check(key)` that is awaited. Limits are never reached, so that
// all do the same work.

import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiter } from '../lib/index.mjs';

const LIMIT = 1e9;
const NO_PARTS = Object.freeze([]);
const WINDOW_SECONDS = 3600;
const baseline = (name) => readFileSync(new URL(`../../tests/benchmarks/baseline/${name}`, import.meta.url), 'utf8');

const RULES = ['fixed_window', 'gcra'].map((algorithm) => {
  return { rule_id: algorithm, algorithm, limit: LIMIT, window_size_seconds: WINDOW_SECONDS };
});

function sluicegate(rule) {
  return async (url) => {
    const limiter = await RateLimiter.connect(url, { rules: RULES });
    return { check: (key) => limiter.check(rule, key), close: () => limiter.close() };
  };
}

/** One limiter with several rules, as an application has it. */
const inMemory = await RateLimiter.connect('memory://', { rules: RULES });

function sluicegateMemory(rule) {
  return async () => ({ check: (key) => inMemory.check(rule, key), close() {} });
}

/** A script registered by hand, as somebody does who uses no library. */
function evalsha(script, args) {
  return async (url) => {
    const redis = new Redis(url);
    const sha = createHash('sha1').update(script).digest('hex');
    await redis.script('LOAD', script);
    return { check: (key) => redis.evalsha(sha, 1, `bare:${key}`, ...args), close: () => redis.quit() };
  };
}

async function flexible(url) {
  const storeClient = new Redis(url);
  const limiter = new RateLimiterRedis({ storeClient, points: LIMIT, duration: WINDOW_SECONDS });
  return { check: (key) => limiter.consume(key), close: () => storeClient.quit() };
}

async function store(url) {
  const redis = new Redis(url);
  const limiter = new RedisStore({ sendCommand: (...words) => redis.call(...words) });
  limiter.init({ windowMs: WINDOW_SECONDS * 1000 });
  await limiter.increment('first');
  return { check: (key) => limiter.increment(key), close: () => redis.quit() };
}

async function flexibleMemory() {
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_SECONDS });
  return { check: (key) => limiter.consume(key), close() {} };
}

/** What any limiter takes whose answer says as much as ours: the time, and a promise of the object. */
async function nothing() {
  const check = () => {
    const remaining = LIMIT - (Date.now() & 1);
    return Promise.resolve({
      allowed: true,
      rule: 'none',
      ruleApplied: true,
      limit: LIMIT,
      windowMs: WINDOW_SECONDS * 1000,
      remaining,
      retryAfterMs: 0,
      resetAfterMs: WINDOW_SECONDS * 1000,
      shadow: false,
      shadowDenied: false,
      source: 'memory',
      parts: NO_PARTS,
    });
  };
  return { check, close() {} };
}

export const ON_REDIS = {
  'sluicegate fixed_window': sluicegate('fixed_window'),
  'sluicegate gcra': sluicegate('gcra'),
  'ioredis evalsha return 1': evalsha(baseline('return1.lua'), []),
  'ioredis evalsha gcra': evalsha(baseline('gcra.lua'), [LIMIT, WINDOW_SECONDS * 1000, 0]),
  'rate-limiter-flexible': flexible,
  'rate-limit-redis': store,
};

export const IN_MEMORY = {
  'sluicegate fixed_window': sluicegateMemory('fixed_window'),
  'sluicegate gcra': sluicegateMemory('gcra'),
  'rate-limiter-flexible memory': flexibleMemory,
  'no limiter: the time and an object': nothing,
};
