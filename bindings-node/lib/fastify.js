'use strict';

/** @import { FastifyPluginAsync, FastifyRequest } from 'fastify' */
/** @import { RateLimiter } from './index.js' */

/**
 * Options of the middleware.
 *
 * @template Request
 * @typedef {import('./types.js').RateLimitOptions<Request>} RateLimitOptions
 */

/**
 * Options of the plugin. Without `log`, the request's own logger receives the errors.
 *
 * @typedef {RateLimitOptions<FastifyRequest> & { limiter: RateLimiter }} FastifyRateLimitOptions
 */

const { judgeBy } = require('./middleware.js');

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
  // So that all requests are objects of one shape.
  for (const name of ['reservation', 'rateLimit']) {
    if (!fastify.hasRequestDecorator(name)) fastify.decorateRequest(name, undefined);
  }
  fastify.addHook('onRequest', async (request, reply) => {
    const say = (what) => options.log ?? ((error) => request.log.warn({ err: error }, what));
    const report = { log: say('the limiter cannot decide'), warn: say('a reservation is not renewed any more') };
    const { raw, originalUrl: target } = request;
    // `rewriteUrl` changes what is routed by.
    const ruling = await judge(request, raw, reply.raw, { target, otherTargets: [raw.url ?? target], ignoreCase }, report);
    reply.headers(ruling.headers);
    if (ruling.status !== undefined) return reply.code(ruling.status).send(ruling.body);
  });
};

/** @param {any} config Of Fastify 4, and of 5, which has moved the option. */
function ignoresCase({ caseSensitive, routerOptions }) {
  return (routerOptions?.caseSensitive ?? caseSensitive) === false;
}

// The hook is for the instance that registers the plugin, not for one that is made for the plugin alone.
rateLimit[Symbol.for('skip-override')] = true;
rateLimit[Symbol.for('fastify.display-name')] = 'sluicegate';

module.exports = { rateLimit };
