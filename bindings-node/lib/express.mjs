import middleware from './express.js';

export const { rateLimit, routeLimits } = middleware;
