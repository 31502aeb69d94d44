'use strict';

// What the tests of an application take: a limiter that is new for every test, by a clock that tests or fake timers move.

const assert = require('node:assert/strict');
const { after, beforeEach, describe, mock, test } = require('node:test');
const { TestRateLimiter } = require('sluicegate/testing');

const HOUR_MS = 3_600_000;
const rules = [{ rule_id: 'mail', algorithm: 'fixed_window', limit: 1, window_size_seconds: 3600 }];

const allowed = async (limits) => (await limits.limiter.check('mail', 'alice')).allowed;

describe('by a clock that a test moves', () => {
  const limits = new TestRateLimiter({ rules });
  beforeEach(() => limits.reset());
  after(() => limits.close());

  for (let number = 1; number <= 5; number += 1) {
    test(`nothing is left of other tests (${number})`, async () => {
      assert.deepEqual([await allowed(limits), await allowed(limits)], [true, false]);
      assert.equal((await limits.limiter.peek('mail', 'alice')).retryAfterMs, HOUR_MS);
      limits.advance(HOUR_MS - 1);
      assert.equal(await allowed(limits), false);
      limits.advance(1);
      assert.equal(await allowed(limits), true);
    });
  }

  test('a wait takes no time', async () => {
    const begun = limits.clock.nowUs;
    for (let calls = 0; calls < 3; calls += 1) assert.ok((await limits.limiter.wait('mail', 'alice', { timeoutMs: 2 * HOUR_MS })).allowed);
    assert.equal(limits.clock.nowUs - begun, 2 * HOUR_MS * 1000);
  });
});

test('fake timers move it', async () => {
  const limits = new TestRateLimiter({ rules, followDate: true });
  mock.timers.enable({ apis: ['Date', 'setTimeout'] });
  try {
    await limits.reset();
    assert.deepEqual([await allowed(limits), await allowed(limits)], [true, false]);
    mock.timers.tick(HOUR_MS - 1);
    assert.equal(await allowed(limits), false);
    let later;
    setTimeout(() => (later = allowed(limits)), 1);
    mock.timers.tick(1);
    assert.equal(await later, true);
    // Beside them it moves as it does without them; a Date that goes back takes nothing with it.
    assert.equal(await allowed(limits), false);
    mock.timers.setTime(0);
    assert.equal(await allowed(limits), false);
    limits.advance(HOUR_MS);
    assert.equal(await allowed(limits), true);
  } finally {
    mock.timers.reset();
    await limits.close();
  }
});

test('mistakes are named', async () => {
  assert.throws(() => new TestRateLimiter({ rules }).limiter, /await reset\(\) before each test/);
  assert.throws(() => new TestRateLimiter({ rule: rules }), /rule is not known; there is rules, followDate/);
  await assert.rejects(new TestRateLimiter({ rules: 'mail' }).reset(), { code: 'InvalidRule' });
});
