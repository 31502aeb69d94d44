/**
 * A context that has the request, as `createContext` of the adapter for Node gets it.
 */
export type TrpcContext = {
    readonly [name: string]: unknown;
    readonly req: {
        readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    };
};
/**
 * A call of a procedure, with the context that the application made for it.
 */
export type TrpcCall<Context = TrpcContext> = {
    ctx: Context;
    /**
     * The procedure, such as `orders.one`.
     */
    path: string;
    type: "query" | "mutation" | "subscription";
    /**
     * What validators before have made of it; `undefined` if none has.
     */
    input: unknown;
};
/**
 * What `count` judges by: how a call ended.
 */
export type TrpcResult = {
    readonly ok: true;
} | {
    readonly ok: false;
    readonly error: import("@trpc/server").TRPCError;
};
/**
 * What the context of the procedure has besides.
 */
export type TrpcLimited = {
    rateLimit: Decision | undefined;
    reservation: Reservation | undefined;
};
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
export function routeLimits<Context = TrpcContext>(limiter: LimiterOf<[TrpcCall<Context>]>, defaults?: RouteDefaults<[TrpcCall<Context>], TrpcResult, [call: TrpcCall<Context>, decision: Decision]>): (limits: Stated, options?: RouteLimitOptions<[TrpcCall<Context>], TrpcResult, [call: TrpcCall<Context>, decision: Decision]>) => (call: TrpcCall<Context> & {
    next(given: {
        ctx: TrpcLimited;
    }): Promise<MiddlewareResult<TrpcLimited>>;
}) => Promise<MiddlewareResult<TrpcLimited>>;
import type { Decision } from './index.js';
import type { Reservation } from './index.js';
import type { LimiterOf } from './types.js';
import type { RouteDefaults } from './types.js';
import type { Stated } from './types.js';
import type { RouteLimitOptions } from './types.js';
import type { MiddlewareResult } from '@trpc/server/unstable-core-do-not-import';
