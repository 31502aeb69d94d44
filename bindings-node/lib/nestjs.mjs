import nest from './nestjs.js';

export const { RateLimit, RateLimitGuard, RateLimitModule, RateLimitException } = nest;
