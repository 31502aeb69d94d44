// Compiled, never run: what the types of Fastify 5 have and those of 4 lack.

import fastify from 'fastify';
import { RateLimiter } from 'sluicegate';
import { RateLimited, routeLimits } from 'sluicegate/fastify';

const server = fastify();
await server.register(routeLimits(await RateLimiter.connect('memory://', { rules: [] })).plugin);
server.get('/orders/:order', { config: { limit: ['5/minute', '100/hour'] } }, (request) => request.rateLimit?.remaining);
server.get('/items', { config: { limit: { limits: '5/minute', key: ({ ip }) => ip, count: 'failures' } } }, () => 'items');
server.setErrorHandler((error, request, reply) => {
  if (error instanceof RateLimited) return reply.code(error.statusCode).send({ rule: error.decision?.rule });
  throw error;
});
// @ts-expect-error There is no such outcome.
server.get('/', { config: { limit: { limits: '5/minute', count: 'none' } } }, () => 'items');
