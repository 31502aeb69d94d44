// A route of Fastify with the limit that KIND names.

import fastify from 'fastify';
import rateLimit from '@fastify/rate-limit';
import { Redis } from 'ioredis';
import { RateLimiter } from '../../lib/index.mjs';
import { routeLimits } from '../../lib/fastify.mjs';
import { sluicegateStore } from '../../lib/fastify-rate-limit.mjs';

const LIMIT = 1e9;
const RATE = `${LIMIT}/minute`;
const { KIND, PORT, REDIS_URL } = process.env;

const connect = (url) => RateLimiter.connect(url, { rules: [{ rule_id: 'items', rate: RATE }] });

const app = fastify();

async function limited(options) {
  await app.register(rateLimit, { max: LIMIT, timeWindow: '1 minute', ...options });
  return {};
}

async function bareCheck() {
  const limiter = await connect('memory://');
  return {
    preHandler: async (request, reply) => {
      const { allowed } = await limiter.check('items', request.ip);
      if (!allowed) return reply.code(429).send();
    },
  };
}

async function byConfig(url) {
  await app.register(routeLimits(await connect(url)).plugin);
  return { config: { limit: RATE } };
}

/** The options of the route. */
const LIMITS = {
  none: () => ({}),
  theirs: () => limited({ redis: new Redis(REDIS_URL) }),
  'theirs in memory': () => limited({}),
  'drop-in': async () => limited({ store: sluicegateStore(await connect(REDIS_URL)) }),
  route: () => byConfig(REDIS_URL),
  'bare check': bareCheck,
  'route in memory': () => byConfig('memory://'),
};

app.get('/items/:item', await LIMITS[KIND](), async (request) => ({ item: request.params.item }));
await app.listen({ port: Number(PORT), host: '127.0.0.1' });
