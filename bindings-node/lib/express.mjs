import middleware from './express.js';

export const { rateLimit } = middleware;
