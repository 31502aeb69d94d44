import testing from './testing.js';

export const { TestRateLimiter } = testing;
export * from './testing.js';
