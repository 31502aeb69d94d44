'use strict';

const { judgeBy } = require('./middleware.js');

/** A plugin for Fastify. */
async function rateLimit(fastify, { limiter, ...options }) {
  const judge = judgeBy(limiter, options);
  fastify.addHook('onRequest', async (request, reply) => {
    const log = options.log ?? ((error) => request.log.warn({ err: error }, 'the limiter cannot decide'));
    const ruling = await judge(request, request.raw, request.originalUrl, log);
    reply.headers(ruling.headers);
    if (ruling.status !== undefined) return reply.code(ruling.status).send(ruling.body);
  });
}

// The hook is for the instance that registers the plugin, not for one that is made for the plugin alone.
rateLimit[Symbol.for('skip-override')] = true;
rateLimit[Symbol.for('fastify.display-name')] = 'sluicegate';

module.exports = { rateLimit };
