import middleware from './fastify.js';

export const { RateLimited, rateLimit, routeLimits } = middleware;
