// A route of Express with the limit that KIND names.

import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { Redis } from 'ioredis';
import { RateLimiter } from '../../lib/index.mjs';
import { routeLimits } from '../../lib/express.mjs';
import { SluicegateStore } from '../../lib/express-rate-limit.mjs';

const LIMIT = 1e9;
const RATE = `${LIMIT}/minute`;
const { KIND, PORT, REDIS_URL } = process.env;

const connect = (url) => RateLimiter.connect(url, { rules: [{ rule_id: 'items', rate: RATE }] });

function redisStore() {
  const redis = new Redis(REDIS_URL);
  return new RedisStore({ sendCommand: (...words) => redis.call(...words) });
}

const limited = (store) => rateLimit({ windowMs: 60_000, limit: LIMIT, store });

async function bareCheck() {
  const limiter = await connect('memory://');
  return async (request, response, next) => {
    const { allowed } = await limiter.check('items', request.ip);
    if (allowed) next();
    else response.sendStatus(429);
  };
}

const LIMITS = {
  none: () => (request, response, next) => next(),
  theirs: () => limited(redisStore()),
  'theirs in memory': () => limited(undefined),
  'drop-in': async () => limited(new SluicegateStore(await connect(REDIS_URL))),
  route: async () => routeLimits(await connect(REDIS_URL))(RATE),
  'bare check': bareCheck,
  'route in memory': async () => routeLimits(await connect('memory://'))(RATE),
};

const app = express();
app.get('/items/:item', await LIMITS[KIND](), (request, response) => response.json({ item: request.params.item }));
app.listen(Number(PORT), '127.0.0.1');
