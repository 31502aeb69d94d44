'use strict';

// Denials that are remembered for long: the server says when they end.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { ManualClock, RateLimiter } = require('../lib/index.js');
const { redisFor } = require('./servers.js');

const redis = redisFor('denials');

test('what another process gives back is seen at once', { timeout: 60_000 }, async () => {
  const { url, prefix } = redis();
  const clock = new ManualClock(1_700_000_000_000_000);
  const options = { rules: [{ rule_id: 'slow', rate: '2/hour' }], prefix, clock };
  const limiter = await RateLimiter.connect(`${url}?protocol=resp3`, { ...options, rememberDenialsMs: 600_000 });
  const other = await RateLimiter.connect(url, options);

  /** Checks until the answer is this one; meanwhile the clock moves by so much. */
  async function until(allowed, source, stepMs) {
    for (;;) {
      const decision = await limiter.check('slow', 'k');
      if (decision.allowed === allowed && decision.source === source) return;
      clock.advance(stepMs);
      await sleep(5);
    }
  }

  for (let call = 0; call < 3; call += 1) await limiter.check('slow', 'k');
  // Older than a second, it is denied again, and watched from then on.
  clock.advance(2000);
  await limiter.check('slow', 'k');
  clock.advance(2000);
  await until(false, 'cache', 2000);
  await other.refund('slow', 'k');
  // The clock stands still: no denial is old.
  await until(true, 'server', 0);
  await limiter.close();
  await other.close();
  assert.ok(true);
});
