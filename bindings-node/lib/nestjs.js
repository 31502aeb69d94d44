'use strict';

/** @import { CanActivate, DynamicModule, ExecutionContext } from '@nestjs/common' */
/** @import { Decision } from './index.js' */
/** @import { Later, LimiterOf, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

/**
 * What functions of the application get: the request of HTTP or GraphQL, the client of a WebSocket or the data of a message, and the
 * context that Nest has for it.
 *
 * @template Request
 * @typedef {[request: Request, context: ExecutionContext]} NestArguments
 */

/**
 * A request, with what guards before have added.
 *
 * @typedef {{ readonly [name: string]: unknown, readonly headers: Readonly<Record<string, string | undefined>> }} NestRequest
 */

/**
 * What `onDenied` gets.
 *
 * @template Request
 * @typedef {[request: Request, context: ExecutionContext, decision: Decision]} NestDenied
 */

/**
 * Options of the limits of a handler or class.
 *
 * @template Request
 * @typedef {RouteLimitOptions<NestArguments<Request>, unknown, NestDenied<Request>>} NestRouteOptions
 */

/**
 * Options of the module: the limiter, and defaults for all limits.
 *
 * @template Request
 * @typedef {{ limiter: LimiterOf<NestArguments<Request>> }
 *   & RouteDefaults<NestArguments<Request>, unknown, NestDenied<Request>>} RateLimitModuleOptions
 */

const { HttpException, Inject, Injectable, Module, SetMetadata, StreamableFile, UseGuards, applyDecorators } = require('@nestjs/common');
const { keepFromCaches } = require('./caches.js');
const { isGrpc } = require('./grpc.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { errorFrom } = require('./routes/hooks.js');
const { RouteRules } = require('./routes/rules.js');
const { contextOf } = require('./routes/nest-context.js');
const { holdFor } = require('./routes/node.js');

/** What the limits of an application share, among its providers. */
const SHARED = Symbol('sluicegate.shared');

/** The limits of a handler or class, among its metadata. */
const STATED = 'sluicegate:limits';

/** What was decided: a guard may stand at the handler, at its class and before all of an application. */
const DECIDED = new WeakSet();

/**
 * Makes an exception; its constructor is not for users.
 *
 * @type {(status: number, problem: object, decision: Decision | undefined) => RateLimitException}
 */
let rateLimitException;

/** A request is denied: status 429, with problem details (RFC 9457) as its response; or 503 or 400 if it could not be decided. */
class RateLimitException extends HttpException {
  static {
    rateLimitException = (...given) => new RateLimitException(...given);
  }

  /**
   * @private
   * @param {number} status
   * @param {object} problem
   * @param {Decision | undefined} decision
   */
  constructor(status, problem, decision) {
    super(problem, status);
    /** @type {Decision | undefined} @readonly The decision; `undefined` where the limiter made none. */
    this.decision = decision;
  }
}

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
function RateLimit(limits, options = {}) {
  // What is not valid is refused when the class is defined.
  new RouteRules(limits, { shared: undefined, perMethod: false, count: options.count ?? 'all' });
  return applyDecorators(SetMetadata(STATED, { limits, options }), UseGuards(RateLimitGuard));
}

/**
 * The guard that `RateLimit` states. Only `RateLimitModule` makes what it needs.
 *
 * @implements {CanActivate}
 */
class RateLimitGuard {
  #shared;
  #routes = new WeakMap();

  /** @param {object} shared What the module makes of its options. */
  constructor(shared) {
    this.#shared = shared;
  }

  /**
   * Decides a request.
   *
   * @param {ExecutionContext} context
   * @returns {Promise<boolean>}
   */
  async canActivate(context) {
    if (DECIDED.has(context)) return true;
    DECIDED.add(context);
    const route = this.#routeOf(context);
    if (route !== undefined) await decide(route, context);
    return true;
  }

  #routeOf(context) {
    const places = [context.getHandler(), context.getClass()];
    const stated = places.map((place) => Reflect.getMetadata(STATED, place)).find((found) => found !== undefined);
    if (stated === undefined) return undefined;
    let route = this.#routes.get(stated);
    if (route === undefined) this.#routes.set(stated, (route = new Route(this.#shared, stated.limits, stated.options)));
    return route;
  }
}

Injectable()(RateLimitGuard);
Inject(SHARED)(RateLimitGuard, undefined, 0);

async function decide(route, context) {
  const place = contextOf(context);
  try {
    await limit(route, place);
  } catch (error) {
    if (place.ends === undefined) throw error;
    if (error.getError === undefined) route.policy.log(error);
    await place.ends(error);
  }
}

async function limit(route, { asked, request, raw, response, carried, setHeader, denied }) {
  const ruling = await route.decide(asked);
  const { status, headers, decision, held } = ruling;
  for (const [name, value] of Object.entries(untyped(headers))) setHeader(name, value);
  if (decision !== undefined && typeof request === 'object') Object.assign(request, { rateLimit: decision, reservation: held });
  if (status !== undefined) throw await refusal(route, asked, decision, () => denied(rateLimitException(status, problemOf(ruling), decision), ruling));
  keepFromCaches(carried, headers);
  if (held === undefined) return;
  if (response === undefined) {
    await held.release();
    throw new Error(`${asked.where}: rules with reservations are for requests of HTTP, whose end is known`);
  }
  holdFor(route, held, raw, response);
}

/** What filters send: problem details, or, beside a status of gRPC, nothing: then headers are the end of the answer. */
function problemOf({ headers, body }) {
  if (isGrpc({ headers })) return new StreamableFile(Buffer.alloc(0), { type: headers['Content-Type'] });
  return JSON.parse(body ?? '{}');
}

async function refusal(route, asked, decision, otherwise) {
  const own = decision !== undefined && route.hooks.onDenied ? await route.ask('onDenied', asked, decision) : undefined;
  return errorFrom(asked.where, own ?? otherwise());
}

/** The module for the root of an application: `RateLimitModule.forRoot({ limiter, userId })`. */
class RateLimitModule {
  /**
   * @template [Request=NestRequest]
   * @param {RateLimitModuleOptions<Request>} options
   * @returns {DynamicModule}
   */
  static forRoot(options) {
    return moduleWith({ provide: SHARED, useValue: sharedBy(options) });
  }

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
  static forRootAsync({ imports = [], inject = [], useFactory }) {
    const make = async (...given) => sharedBy(await useFactory(.../** @type {any} */ (given)));
    return { ...moduleWith({ provide: SHARED, inject, useFactory: make }), imports };
  }
}

Module({})(RateLimitModule);

function moduleWith(provider) {
  return { module: RateLimitModule, global: true, providers: [provider], exports: [SHARED] };
}

function sharedBy({ limiter, ...defaults }) {
  return sharedOf(limiter, defaults);
}

module.exports = { RateLimit, RateLimitGuard, RateLimitModule, RateLimitException };
