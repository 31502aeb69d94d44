// Compiled, never run: the types say what the library does.

import {
  ManualClock,
  RateLimiter,
  SluicegateError,
  headers,
  type Decision,
  type ErrorCode,
  type Explanation,
  type HttpRequest,
  type RequestMatch,
  type Rule,
  type RulesStatus,
} from 'sluicegate';

const rules: Rule[] = [
  { rule_id: 'login', algorithm: 'gcra', limit: 5, window_size_seconds: 60 },
  { rule_id: 'use', algorithm: 'sliding_buckets', limits: [{ limit: 5, window_size_seconds: 10, resolution_seconds: 1 }] },
];

const clock = new ManualClock(0);
await using limiter: RateLimiter = await RateLimiter.connect('redis://localhost', {
  rules,
  rulesCache: 'rules.cache.json',
  clock,
  prefix: 'shop',
  connectTimeoutMs: 1000,
  responseTimeoutMs: 500,
  tlsCa: 'ca.pem',
  tlsCert: 'cert.pem',
  tlsKey: 'key.pem',
});

const decision: Decision = await limiter.check('login', 'alice', { cost: 2, resource: 'printer', limit: 10 });
const flags: boolean[] = [decision.allowed, decision.ruleApplied, decision.shadow, decision.shadowDenied];
const figures: [string, number, number, number, number, number, 'server' | 'memory' | 'fallback' | 'cache' | 'lease' | 'allotment' | 'share'] = [
  decision.rule,
  decision.limit,
  decision.windowMs,
  decision.remaining,
  decision.retryAfterMs,
  decision.resetAfterMs,
  decision.source,
];
const parts: readonly Decision[] = (await limiter.checkAll([{ rule: 'login', key: 'alice', cost: 1 }])).parts;
await limiter.peek('login', 'alice');
await limiter.refund('login', 'alice', { cost: 1 });
const nothing: void = await limiter.reset('login', 'alice', { resource: 'printer' });
await limiter.wait('login', 'alice', { timeoutMs: 100, signal: AbortSignal.timeout(10) });
await limiter.ping();

const request: HttpRequest = { method: 'GET', path: '/', userId: null, ip: '::1', headers: new Headers() };
const headerFields: Record<string, string> = headers(await limiter.checkRequest(request), 'x-ratelimit');
await limiter.checkRequest({ ...request, headers: [['a', 'b']] });
await limiter.checkRequest({ ...request, headers: { a: ['b', 'c'], d: undefined } });
const matches: RequestMatch[] = limiter.matchRequest(request);
const reasons: [boolean, string, string | undefined][] = limiter
  .matchRequest(request, { explain: true })
  .map(({ matched, reason, key }: Explanation) => [matched, reason, key]);
const { loadedAt, refused, lastError }: RulesStatus = limiter.rulesStatus();
const status: [Date, string | undefined, string | undefined] = [loadedAt, refused[0]?.reason, lastError];

clock.advance(5);
clock.set(clock.nowUs + 1);

try {
  await limiter.check('login', 'alice');
} catch (error) {
  if (error instanceof SluicegateError) {
    const code: ErrorCode = error.code;
    const retryable: boolean = error.retryable;
    console.log(code, retryable, error.message);
  }
}

// @ts-expect-error A rule is named by a string.
await limiter.check(5, 'alice');
// @ts-expect-error There is no such option.
await limiter.check('login', 'alice', { costs: 1 });
// @ts-expect-error A request has a path.
await limiter.checkRequest({ method: 'GET' });
// @ts-expect-error There is no such style.
headers(decision, 'X-RateLimit');
// @ts-expect-error A wait needs a timeout.
await limiter.wait('login', 'alice');
// @ts-expect-error Limiters are made by `connect`.
new RateLimiter();
// @ts-expect-error A decision is not changed.
decision.allowed = true;
// @ts-expect-error There is no such algorithm.
rules.push({ rule_id: 'x', algorithm: 'guess' });

console.log(flags, figures, parts, nothing, headerFields, matches, reasons, status);
