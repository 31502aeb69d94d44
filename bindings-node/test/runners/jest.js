'use strict';

// Run by Jest: its fake timers move the clock of the limiter.

/* global afterAll, afterEach, beforeEach, expect, jest, test */

const { TestRateLimiter } = require('sluicegate/testing');

const limits = new TestRateLimiter({ rules: [{ rule_id: 'mail', rate: '1/hour' }], followDate: true });
const allowed = async () => (await limits.limiter.check('mail', 'alice')).allowed;

beforeEach(() => {
  jest.useFakeTimers();
  return limits.reset();
});
afterEach(() => jest.useRealTimers());
afterAll(() => limits.close());

test.each([1, 2])('an hour later there is room again (%i)', async () => {
  expect([await allowed(), await allowed()]).toEqual([true, false]);
  jest.advanceTimersByTime(3_600_000);
  expect(await allowed()).toBe(true);
});
