// Compiled, never run: what is private has no types.

// @ts-expect-error Errors are made by the limiter.
import { errorOf } from 'sluicegate';
// @ts-expect-error A part of `Decision`.
import type { DecisionFields } from 'sluicegate';
// @ts-expect-error A module of its own, but none of the package's.
import { RateLimiter } from 'sluicegate/lib/limiter.js';
// @ts-expect-error Neither are the types.
import type { Verdict } from 'sluicegate/types/types.js';

export type { DecisionFields, Verdict };
export { RateLimiter, errorOf };
