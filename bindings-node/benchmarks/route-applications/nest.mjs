// A handler of NestJS with the limit that KIND names. Decorators are called, as this is not compiled.

import 'reflect-metadata';
import { Controller, Get, Module, Param } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { RateLimiter } from '../../lib/index.mjs';
import { RateLimit, RateLimitModule } from '../../lib/nestjs.mjs';
import { SluicegateThrottlerStorage } from '../../lib/nestjs-throttler.mjs';

const LIMIT = 1e9;
const RATE = `${LIMIT}/minute`;
const { KIND, PORT, REDIS_URL } = process.env;

const connect = () => RateLimiter.connect(REDIS_URL, { rules: [] });

class Items {
  item(item) {
    return { item };
  }
}

const handler = Object.getOwnPropertyDescriptor(Items.prototype, 'item');
Param('item')(Items.prototype, 'item', 0);
Get(':item')(Items.prototype, 'item', handler);
if (KIND === 'route') RateLimit(RATE)(Items.prototype, 'item', handler);
Controller('items')(Items);

function throttled(storage) {
  return {
    imports: [ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: LIMIT }], storage })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

const LIMITS = {
  none: () => ({}),
  theirs: () => throttled(new ThrottlerStorageRedisService(REDIS_URL)),
  'theirs in memory': () => throttled(undefined),
  'drop-in': async () => throttled(new SluicegateThrottlerStorage(await connect())),
  route: async () => ({ imports: [RateLimitModule.forRoot({ limiter: await connect() })] }),
};

class Shop {}
Module({ controllers: [Items], ...(await LIMITS[KIND]()) })(Shop);
const app = await NestFactory.create(Shop, { logger: ['error', 'warn'] });
await app.listen(Number(PORT), '127.0.0.1');
