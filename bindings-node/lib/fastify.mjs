import middleware from './fastify.js';

export const { rateLimit } = middleware;
