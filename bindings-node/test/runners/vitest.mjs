// Run by vitest: its fake timers move the clock of the limiter.

import { TestRateLimiter } from 'sluicegate/testing';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';

const limits = new TestRateLimiter({ rules: [{ rule_id: 'mail', rate: '1/hour' }], followDate: true });
const allowed = async () => (await limits.limiter.check('mail', 'alice')).allowed;

beforeEach(() => {
  vi.useFakeTimers();
  return limits.reset();
});
afterEach(() => vi.useRealTimers());
afterAll(() => limits.close());

test.each([1, 2])('an hour later there is room again (%i)', async () => {
  expect([await allowed(), await allowed()]).toEqual([true, false]);
  vi.advanceTimersByTime(3_600_000);
  expect(await allowed()).toBe(true);
});
