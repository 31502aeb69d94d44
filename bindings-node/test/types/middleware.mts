// Compiled, never run: the middleware fits into the frameworks.

import express, { type Request } from 'express';
import fastify from 'fastify';
import { createServer } from 'node:http';
import { RateLimiter } from 'sluicegate';
import { rateLimit as forExpress, routeLimits, type RateLimitOptions } from 'sluicegate/express';
import { rateLimit as forFastify, routeLimits as routesOfFastify } from 'sluicegate/fastify';

const limiter = await RateLimiter.connect('memory://', { rules: 'rules.jsonc' });
const options: RateLimitOptions<Request> = {
  userId: (request) => request.get('authorization'),
  apiKey: async (request) => request.query.key?.toString() ?? null,
  trustedProxies: 1,
  headers: 'ietf',
  onError: 'throw',
  maxLeaseSeconds: 600,
  log: (error) => console.warn(error.code, error.message),
};

const app = express();
app.use(forExpress(limiter));
app.use('/orders', forExpress(limiter, options));
app.use(forExpress(limiter, {
  skip: ({ url }) => url === '/health',
  rules: async ({ headers }) => (headers['x-plan'] === 'gold' ? ['gold'] : ['free']),
  onDenied: (request, decision, response) => response.writeHead(420).end(decision.rule),
}));
app.post('/login', forExpress(limiter, { userId: ({ headers }) => headers.authorization }), (request, response) => {
  response.send(request.ip);
});

app.get('/report', async (request, response) => {
  const left: number | undefined = request.rateLimit?.remaining;
  const took: boolean | undefined = await request.reservation?.commit(3);
  response.send({ left, took });
});

const limits = routeLimits(limiter, {
  name: 'shop',
  userId: (request) => request.get('authorization'),
  limit: async ({ query }) => (query.plan === 'gold' ? 5000 : undefined),
  skip: ({ path }) => path === '/health',
  log: (error) => console.warn(error.code),
});
app.get('/items/:item', limits('5/minute'), (request, response) => response.send(request.rateLimit?.remaining));
app.use('/shop', limits(['5/minute', { rate: '100/hour', rule_id: 'hourly' }], {
  key: ({ ip }) => ['ip', ip ?? ''],
  count: ({ statusCode }) => statusCode === 401,
  onDenied: (request, { retryAfterMs }, response, next) => response.writeHead(429, { 'x-wait': retryAfterMs }).end(),
  shared: 'shop',
}));
// @ts-expect-error There is no such outcome.
limits('5/minute', { count: 'none' });
// @ts-expect-error That is for all routes.
limits('5/minute', { name: 'shop' });

const plain = forExpress(limiter, { apiKey: 'X-API-Key' });
createServer((request, response) => plain(request, response, () => response.end()));

const server = fastify();
await server.register(forFastify, { limiter, userId: (request) => request.headers.authorization, onError: 'deny' });

server.get('/report', async (request) => {
  const denied: boolean | undefined = request.rateLimit?.shadowDenied;
  const took: boolean | undefined = await request.reservation?.commit({ tokens: 3 });
  return { denied, took };
});

await server.register(forFastify, { limiter, cost: ({ body }) => JSON.stringify(body).length, onDenied: (request, decision) => decision.rule });
const fastifyLimits = routesOfFastify(() => limiter, { userId: ({ headers }) => headers.authorization, name: 'shop' });
await server.register(fastifyLimits.plugin);
server.post('/login', {
  preHandler: fastifyLimits('5/minute', {
    count: (reply) => reply.statusCode === 401,
    onDenied: (request, decision, reply) => reply.code(420).send(decision.rule),
  }),
}, () => 'welcome');
// @ts-expect-error The plugin needs a limiter.
await server.register(forFastify, { onError: 'deny' });
// @ts-expect-error There is nothing else to do.
forExpress(limiter, { onError: 'raise' });
// @ts-expect-error A user is a string.
forExpress(limiter, { userId: () => true });
