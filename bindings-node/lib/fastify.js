'use strict';

/** @import { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify' */
/** @import { Decision, RateLimiter } from './index.js' */
/** @import { LimiterOf, MatchingHooks, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

/**
 * Options of the middleware.
 *
 * @template Request
 * @typedef {import('./types.js').RateLimitOptions<Request>} RateLimitOptions
 */

/**
 * Options of the plugin. Without `log`, the request's own logger receives the errors.
 *
 * @typedef {RateLimitOptions<FastifyRequest>
 *   & MatchingHooks<FastifyRequest, FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>
 *   & { limiter: RateLimiter | Promise<RateLimiter> }} FastifyRateLimitOptions
 */

/**
 * Options of the limits of one route. `onDenied` returns the payload of the answer, or sends it with the reply and returns that.
 *
 * @typedef {RouteLimitOptions<[FastifyRequest], FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>}
 *   FastifyRouteOptions
 */

/**
 * Limits of routes: a function that makes hooks, and a plugin for limits in the `config` of routes.
 *
 * @typedef {((limits: Stated, options?: FastifyRouteOptions) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>)
 *   & { plugin: FastifyPluginAsync }} FastifyRouteLimits
 */

const { keepFromCaches } = require('./caches.js');
const { RateLimited, rateLimited } = require('./denial.js');
const { isGrpc, setFields } = require('./grpc.js');
const { judgeBy } = require('./middleware.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { noAnswer, statusOf } = require('./routes/hooks.js');
const { WHERE } = require('./routes/matching.js');
const { NodeRequest, holdFor } = require('./routes/node.js');

/**
 * A plugin for Fastify: every request is decided by `reserveRequest`, in a hook `onRequest`. Register it after what
 * authenticates.
 *
 * One that is denied is answered with 429, the headers of the decision and problem details (RFC 9457); one that
 * is admitted goes on, and its answer has the headers too. One that makes no sense is answered with 400.
 *
 * What is reserved, such as a place of a rule with the algorithm `concurrency`, is held until the response is over or the
 * client hangs up, and renewed while it lasts; then it is committed as it was reserved. The application finds it as
 * `request.reservation`, and may commit what it has used itself. The decision is `request.rateLimit`; what rules in shadow
 * would have denied is in its `parts`, and said with `NODE_DEBUG=sluicegate`.
 *
 * @type {FastifyPluginAsync<FastifyRateLimitOptions>}
 */
const rateLimit = async (fastify, { limiter, ...options }) => {
  const judge = judgeBy(limiter, options);
  const ignoreCase = ignoresCase(fastify.initialConfig);
  decorate(fastify);
  fastify.addHook('onRequest', async (request, reply) => {
    const report = reportTo(request, options.log);
    const { raw, originalUrl: target } = request;
    // `rewriteUrl` changes what is routed by.
    const ruling = await judge(request, raw, reply.raw, { judged: reply, target, otherTargets: [raw.url ?? target], ignoreCase }, report);
    setFields(ruling.headers, reply.raw, (name, value) => reply.header(name, value));
    if (ruling.status === undefined) return keepFromCaches(reply.raw, ruling.headers);
    return ruling.answer ? answered(WHERE, ruling.answer, reply.code(ruling.status)) : reply.code(ruling.status).send(ruling.body);
  });
};

/** So that all requests are objects of one shape. */
function decorate(fastify) {
  for (const name of ['reservation', 'rateLimit']) {
    if (!fastify.hasRequestDecorator(name)) fastify.decorateRequest(name, undefined);
  }
}

/** What is logged by the request's own logger, unless the application has a function for it. */
function reportTo(request, given) {
  const say = (what) => given ?? ((error) => request.log.warn({ err: error }, what));
  return { log: say('the limiter cannot decide'), warn: say('a reservation is not renewed any more') };
}

/** @param {any} config Of Fastify 4, and of 5, which has moved the option. */
function ignoresCase({ caseSensitive, routerOptions }) {
  return (routerOptions?.caseSensitive ?? caseSensitive) === false;
}

/**
 * Makes limits for routes. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an array of them, which
 * are decided together, and with options of the route; it answers a hook, such as for `preHandler` of a route, which runs after what
 * authenticates. With its `plugin`, routes may state limits in their `config` instead: `config: { limit: '5/minute' }`, or
 * `{ limit: { limits: '5/minute', key } }`.
 *
 * A request that is denied throws `RateLimited`, with the status 429, which `setErrorHandler` may answer, unless there is
 * `onDenied(request, decision, reply)`. The decision is `request.rateLimit`, what is reserved `request.reservation`. All methods
 * of a route share its limit.
 *
 * @param {LimiterOf<[FastifyRequest]>} limiter A limiter, or a function of the request that returns one.
 * @param {RouteDefaults<[FastifyRequest], FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>} [defaults]
 * @returns {FastifyRouteLimits}
 */
function routeLimits(limiter, defaults) {
  const shared = sharedOf(limiter, defaults);
  const limits = (stated, options) => hookOf(new Route(shared, stated, options));
  const plugin = async (fastify) => {
    decorate(fastify);
    fastify.addHook('onRoute', (route) => limitByConfig(route, (stated, options) => hookOf(new Route(shared, stated, options), route.url)));
    // Requests are looked at only where there is something to be found: what tells of their route takes as long as a check.
    if (hasRoutes(fastify) || hasChildren(fastify)) fastify.addHook('preHandler', ensureLimited);
  };
  return Object.assign(limits, { plugin: forInstance(plugin, 'sluicegate-routes') });
}

/** A request at a route, with the log of its own. */
class FastifyRouteRequest extends NodeRequest {
  #request;
  #log;

  constructor(request, template, log) {
    super(request.raw, template, [request], request.params);
    this.#request = request;
    this.#log = log;
  }

  get report() {
    return reportTo(this.#request, this.#log);
  }
}

/**
 * A hook that limits one route, whose template is known, or several: then each request tells it, for which Fastify makes an object.
 * Where nothing is waited for, it calls `done`; an application that calls it passes none, and Fastify passes a payload in its place to `preParsing`.
 */
function hookOf(route, known) {
  const limit = (request, reply, done) => {
    const asked = new FastifyRouteRequest(request, known ?? request.routeOptions.url ?? '404', route.policy.givenLog);
    const ruling = route.decide(asked);
    if (typeof ruling.then === 'function') return ruling.then((later) => ruled(route, later, asked, reply));
    return ruled(route, ruling, asked, reply) ?? done();
  };
  const limitLater = async (request, reply) => limit(request, reply, () => undefined);
  return (request, reply, done) => (typeof done === 'function' ? limit(request, reply, done) : limitLater(request, reply));
}

/** Lets a request go on, or promises the answer. */
function ruled(route, ruling, asked, reply) {
  const { headers, status, decision, held } = ruling;
  const [request] = asked.args;
  if (decision !== undefined) {
    request.rateLimit = decision;
    request.reservation = held;
  }
  if (status !== undefined) return refused(route, ruling, asked, reply);
  reply.headers(headers);
  keepFromCaches(reply.raw, headers);
  if (held !== undefined) holdFor(route, held, request.raw, reply.raw, reply, asked.report);
  return undefined;
}

/** In the `config` of routes whose limits are in force. */
const LIMITED = Symbol('sluicegate.limited');

function limitByConfig(route, limits) {
  const { config, preHandler } = route;
  // The route for HEAD, which Fastify adds by itself, has all of that of GET.
  if (!config?.limit || config[LIMITED]) return;
  const { limits: stated, ...options } = ofConfig(config.limit);
  route.preHandler = [...[preHandler ?? []].flat(), limits(stated, options)];
  route.config = { ...config, [LIMITED]: true };
}

/** Whether an application has routes, as it prints them. */
function hasRoutes(fastify) {
  return fastify.printRoutes().trim() !== '(empty tree)';
}

/** Whether an instance has child instances, whose routes it is not told of. Where Fastify names the list otherwise, it may have some. */
function hasChildren(fastify) {
  const name = Object.getOwnPropertySymbols(fastify).find(({ description }) => description === 'fastify.children');
  return name === undefined || fastify[name].length > 0;
}

/** A route that was added before the plugin has a limit that nothing keeps. */
function ensureLimited(request, reply, done) {
  const { url, config = request.routeConfig } = request.routeOptions;
  if (!config?.limit || config[LIMITED]) return done();
  done(new Error(`route ${url}: its limit is not in force (register the plugin before the routes: await app.register(limits.plugin))`));
}

/** Answers with a status of gRPC, of which no error handler is asked, or by `onDenied`: the reply is waited for, as that may be on its way. */
async function refused(route, ruling, asked, reply) {
  const { status, headers, body, decision } = ruling;
  if (isGrpc(ruling)) {
    setFields(headers, reply.raw, (name, value) => reply.header(name, value));
    return reply.code(status).send(body);
  }
  reply.headers(untyped(headers));
  if (decision === undefined || !route.hooks.onDenied) throw rateLimited(ruling);
  return answered(asked.where, (denied) => route.ask('onDenied', asked, decision, denied), reply.code(status));
}

/** Lets the application answer: it returns the payload, or has sent it. */
async function answered(where, answer, reply) {
  try {
    const payload = await answer(reply);
    return payload === undefined ? reply : reply.send(sendable(where, payload));
  } catch (error) {
    // That of the denial would stay.
    reply.code(statusOf(error) ?? 500);
    throw error;
  }
}

/** A payload of which Fastify can make a body: JSON has none for these. */
function sendable(where, payload) {
  if (!['function', 'symbol', 'bigint'].includes(typeof payload)) return payload;
  throw noAnswer(where, payload, 'return a payload, or send one with the reply');
}

/** Limits alone, or an object with options. */
function ofConfig(stated) {
  return typeof stated === 'string' || Array.isArray(stated) ? { limits: stated } : stated;
}

/** The hooks are for the instance that registers the plugin, not for one that is made for the plugin alone. */
function forInstance(plugin, name) {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: name });
}

forInstance(rateLimit, 'sluicegate');

module.exports = { RateLimited, rateLimit, routeLimits };
