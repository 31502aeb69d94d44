'use strict';

/** @import { MiddlewareResult } from '@trpc/server/unstable-core-do-not-import' */
/** @import { Decision, Reservation } from './index.js' */
/** @import { LimiterOf, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

/**
 * A context that has the request, as `createContext` of the adapter for Node gets it.
 *
 * @typedef {{ readonly [name: string]: unknown, readonly req: { readonly headers: Readonly<Record<string, string | string[] | undefined>> } }} TrpcContext
 */

/**
 * A call of a procedure, with the context that the application made for it.
 *
 * @template [Context=TrpcContext]
 * @typedef {object} TrpcCall
 * @property {Context} ctx
 * @property {string} path The procedure, such as `orders.one`.
 * @property {'query' | 'mutation' | 'subscription'} type
 * @property {unknown} input What validators before have made of it; `undefined` if none has.
 */

/**
 * What `count` judges by: how a call ended.
 *
 * @typedef {{ readonly ok: true } | { readonly ok: false, readonly error: import('@trpc/server').TRPCError }} TrpcResult
 */

/**
 * What the context of the procedure has besides.
 *
 * @typedef {{ rateLimit: Decision | undefined, reservation: Reservation | undefined }} TrpcLimited
 */

const { TRPCError } = require('@trpc/server');
const { getHTTPStatusCodeFromError } = require('@trpc/server/http');
const { keepFromCaches } = require('./caches.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { errorFrom } = require('./routes/hooks.js');

const CODES = { 400: 'BAD_REQUEST', 429: 'TOO_MANY_REQUESTS', 503: 'SERVICE_UNAVAILABLE' };

/**
 * Makes limits for procedures of tRPC. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an array of
 * them, which are decided together, and with options of the procedure; it answers middleware: `t.procedure.use(limits('5/minute'))`.
 * Functions get the call: `{ ctx, path, type, input }`. Each call of a batch is decided by itself.
 *
 * A call that is denied is answered with the error `TOO_MANY_REQUESTS`, or with what `onDenied(call, decision)` throws or returns. The
 * decision is `ctx.rateLimit`, what is reserved `ctx.reservation`; of a subscription it is charged at its beginning.
 *
 * Headers and addresses are known where `createContext` returns `req`, and `res` or `resHeaders`; elsewhere state `key`.
 *
 * @template [Context=TrpcContext]
 * @param {LimiterOf<[TrpcCall<Context>]>} limiter A limiter, or a function of the call that returns one.
 * @param {RouteDefaults<[TrpcCall<Context>], TrpcResult, [call: TrpcCall<Context>, decision: Decision]>} [defaults]
 * @returns {(
 *   limits: Stated,
 *   options?: RouteLimitOptions<[TrpcCall<Context>], TrpcResult, [call: TrpcCall<Context>, decision: Decision]>,
 * ) => (
 *   call: TrpcCall<Context> & { next(given: { ctx: TrpcLimited }): Promise<MiddlewareResult<TrpcLimited>> },
 * ) => Promise<MiddlewareResult<TrpcLimited>>}
 */
function routeLimits(limiter, defaults) {
  const shared = sharedOf(limiter, defaults);
  return (limits, options) => {
    const route = new Route(shared, limits, options);
    return async (/** @type {any} */ { next, ...call }) => {
      const asked = requestOf(call);
      const { status, headers, body, decision, held } = await route.decide(asked);
      setHeaders(call.ctx, untyped(headers));
      if (status !== undefined) throw await refusal(route, asked, { status, body, decision });
      keepFromCaches(call.ctx?.res, headers);
      const ctx = { rateLimit: decision, reservation: held };
      return held === undefined ? next({ ctx }) : charged(route, held, () => next({ ctx }));
    };
  };
}

/** @returns {import('./routes/deciding.js').RouteRequest} */
function requestOf(call) {
  const { req } = /** @type {any} */ (call.ctx ?? {});
  const header = (name) => (typeof req?.headers?.get === 'function' ? (req.headers.get(name) ?? undefined) : req?.headers?.[name]);
  return {
    args: [call],
    where: `procedure ${call.path}`,
    method: call.type,
    template: `trpc:${call.path}`,
    peer: req?.socket?.remoteAddress,
    lines: header,
    header,
    params: {},
  };
}

/** Of a batch, the headers of the call that is decided last are seen. */
function setHeaders({ res, resHeaders } = /** @type {any} */ ({}), headers) {
  for (const [name, value] of Object.entries(headers)) {
    if (resHeaders) resHeaders.set(name, value);
    else if (res?.setHeader && !res.headersSent) res.setHeader(name, value);
  }
}

async function refusal(route, asked, { status, body, decision }) {
  const own = decision !== undefined && route.hooks.onDenied ? await route.ask('onDenied', asked, decision) : undefined;
  if (own !== undefined && own !== null) return errorFrom(asked.where, own);
  const { title, detail = title } = JSON.parse(body ?? '{}');
  return new TRPCError({ code: CODES[status] ?? 'INTERNAL_SERVER_ERROR', message: detail });
}

/** Charges what is reserved, or gives it back, when the procedure has answered. */
async function charged(route, held, answer) {
  let isKept = true;
  try {
    const result = await answer();
    isKept = route.isKept(result, result.ok ? 200 : getHTTPStatusCodeFromError(result.error));
    return result;
  } finally {
    await (isKept ? held.commit() : held.release());
  }
}

module.exports = { routeLimits };
