// Compiled, never run: limits at routes of other frameworks, and stores for other packages.

import fastifyRateLimit from '@fastify/rate-limit';
import { rateLimit } from 'express-rate-limit';
import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Request } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { RateLimiter } from 'sluicegate';
import { SluicegateStore } from 'sluicegate/express-rate-limit';
import { sluicegateStore } from 'sluicegate/fastify-rate-limit';
import { limitedFetch } from 'sluicegate/fetch';
import { routeLimits as ofHono } from 'sluicegate/hono';
import { routeLimits as ofKoa } from 'sluicegate/koa';
import { routeLimits as ofTrpc } from 'sluicegate/trpc';
import { initTRPC } from '@trpc/server';
import { RateLimit, RateLimitGuard, RateLimitModule, type RateLimitException } from 'sluicegate/nestjs';
import { SluicegateThrottlerStorage } from 'sluicegate/nestjs-throttler';

const limiter = await RateLimiter.connect('memory://', { rules: [] });

const hono = new Hono();
const honoLimits = ofHono(limiter, { userId: (context) => context.req.header('authorization') });
hono.get('/items/:item', honoLimits('5/minute', { count: ({ status }) => status === 401 }), (context) => {
  const left: number | undefined = context.get('rateLimit')?.remaining;
  return context.json({ left });
});
hono.use(honoLimits(['5/minute', '100/hour'], { onDenied: (context, decision) => context.text(decision.rule, 429) }));
// @ts-expect-error A key is not a boolean.
honoLimits('5/minute', { key: () => true });

const koaLimits = ofKoa(limiter, { name: 'shop', key: ({ req }) => req.headers.authorization ?? 'nobody' });
const middleware: (context: never, next: () => Promise<unknown>) => Promise<unknown> = koaLimits('5/minute', {
  onDenied: (context, { retryAfterMs }) => (context.body = { retryAfterMs }),
});

const trpc = initTRPC.context<{ user: string }>().create();
const trpcLimits = ofTrpc<{ user: string }>(limiter, { name: 'shop', userId: ({ ctx }) => ctx.user });
trpc.procedure.use(trpcLimits(['5/minute', '100/hour'], { count: ({ ok }) => !ok })).query(({ ctx }) => {
  const left: number | undefined = ctx.rateLimit?.remaining;
  return { left, user: ctx.user };
});
// @ts-expect-error A key is not a boolean.
trpcLimits('5/minute', { key: () => true });

rateLimit({ store: new SluicegateStore(limiter, { name: 'shop' }) });
await fastify().register(fastifyRateLimit, { store: sluicegateStore(limiter) });
console.log(middleware);

class Orders {
  @RateLimit(['2/minute', '100/hour'], { key: ({ headers }) => headers.authorization ?? 'nobody' })
  list(): string[] {
    return [];
  }

  @RateLimit<Request>('5/minute', { userId: ({ ip }) => ip, onDenied: (request, context, { rule }) => new Error(rule) })
  one(): string {
    return '';
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({ limiter, name: 'shop' }),
    RateLimitModule.forRootAsync({ inject: ['limiter'], useFactory: (given: RateLimiter) => ({ limiter: given }) }),
    ThrottlerModule.forRoot({ throttlers: [{ ttl: 1000, limit: 5 }], storage: new SluicegateThrottlerStorage(limiter) }),
  ],
  providers: [Orders, { provide: 'APP_GUARD', useClass: RateLimitGuard }],
})
export class App {}

export const decisionOf = (error: RateLimitException): number | undefined => error.decision?.retryAfterMs;

const paced: typeof fetch = limitedFetch(limiter, ['100/minute', 'daily'], { key: 'provider', cost: ({ url }) => url.length });
console.log(await paced('https://example.com/', { method: 'POST' }));
