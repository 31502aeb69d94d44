/**
 * What functions of the application get: the request of HTTP or GraphQL, the client of a WebSocket or the data of a message, and the
 * context that Nest has for it.
 */
export type NestArguments<Request> = [request: Request, context: ExecutionContext];
/**
 * A request, with what guards before have added.
 */
export type NestRequest = {
    readonly [name: string]: unknown;
    readonly headers: Readonly<Record<string, string | undefined>>;
};
/**
 * What `onDenied` gets.
 */
export type NestDenied<Request> = [request: Request, context: ExecutionContext, decision: Decision];
/**
 * Options of the limits of a handler or class.
 */
export type NestRouteOptions<Request> = RouteLimitOptions<NestArguments<Request>, unknown, NestDenied<Request>>;
/**
 * Options of the module: the limiter, and defaults for all limits.
 */
export type RateLimitModuleOptions<Request> = {
    limiter: LimiterOf<NestArguments<Request>>;
} & RouteDefaults<NestArguments<Request>, unknown, NestDenied<Request>>;
/**
 * Limits a handler, or each handler of a class: `@RateLimit('5/minute', { key })`. A limit is a rate, the name of a rule, a rule, or
 * an array of them, which are decided together. The limit of a handler takes the place of that of its class. Guards of the class and
 * those stated below it run before, as decorators are applied from below: `@RateLimit(...)` above `@UseGuards(AuthGuard)`.
 *
 * A request that is denied throws `RateLimitException`, which exception filters may answer, or what `onDenied(request, context, decision)`
 * throws or returns. The decision is `request.rateLimit`. It is for HTTP, GraphQL, messages of WebSockets and microservices, whose
 * clients get an `RpcException`: of gRPC with the code `RESOURCE_EXHAUSTED`.
 *
 * @template [Request=NestRequest]
 * @param {Stated} limits
 * @param {NestRouteOptions<Request>} [options]
 * @returns {ReturnType<typeof applyDecorators>}
 */
export function RateLimit<Request = NestRequest>(limits: Stated, options?: NestRouteOptions<Request>): ReturnType<typeof applyDecorators>;
/**
 * The guard that `RateLimit` states. Only `RateLimitModule` makes what it needs.
 *
 * @implements {CanActivate}
 */
export class RateLimitGuard implements CanActivate {
    /** @param {object} shared What the module makes of its options. */
    constructor(shared: object);
    /**
     * Decides a request.
     *
     * @param {ExecutionContext} context
     * @returns {Promise<boolean>}
     */
    canActivate(context: ExecutionContext): Promise<boolean>;
    #private;
}
/** The module for the root of an application: `RateLimitModule.forRoot({ limiter, userId })`. */
export class RateLimitModule {
    /**
     * @template [Request=NestRequest]
     * @param {RateLimitModuleOptions<Request>} options
     * @returns {DynamicModule}
     */
    static forRoot<Request = NestRequest>(options: RateLimitModuleOptions<Request>): DynamicModule;
    /**
     * For options that other providers make.
     *
     * @template {unknown[]} Given
     * @template [Request=NestRequest]
     * @param {{
     *   imports?: DynamicModule['imports'],
     *   inject?: Extract<NonNullable<DynamicModule['providers']>[number], { inject?: unknown }>['inject'],
     *   useFactory: (...given: Given) => Later<RateLimitModuleOptions<Request>>,
     * }} options
     * @returns {DynamicModule}
     */
    static forRootAsync<Given extends unknown[], Request = NestRequest>({ imports, inject, useFactory }: {
        imports?: DynamicModule["imports"];
        inject?: Extract<NonNullable<DynamicModule["providers"]>[number], {
            inject?: unknown;
        }>["inject"];
        useFactory: (...given: Given) => Later<RateLimitModuleOptions<Request>>;
    }): DynamicModule;
}
/** A request is denied: status 429, with problem details (RFC 9457) as its response; or 503 or 400 if it could not be decided. */
export class RateLimitException extends HttpException {
    /**
     * @private
     * @param {number} status
     * @param {object} problem
     * @param {Decision | undefined} decision
     */
    private constructor();
    /** @type {Decision | undefined} @readonly The decision; `undefined` where the limiter made none. */
    readonly decision: Decision | undefined;
}
import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from './index.js';
import type { RouteLimitOptions } from './types.js';
import type { LimiterOf } from './types.js';
import type { RouteDefaults } from './types.js';
import type { Stated } from './types.js';
import { applyDecorators } from "@nestjs/common/decorators/core/apply-decorators.js";
import type { CanActivate } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { Later } from './types.js';
import { HttpException } from "@nestjs/common/exceptions/http.exception.js";
