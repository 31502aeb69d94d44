'use strict';

// Applications of the real frameworks behind the middleware, and tests that run in each.

const { once } = require('node:events');
const { createServer } = require('node:http');
const { test } = require('node:test');
const { RateLimiter } = require('sluicegate');
const { rateLimit: forExpress } = require('sluicegate/express');
const { rateLimit: forFastify } = require('sluicegate/fastify');
const { ask, askRaw } = require('./http.js');

const rule = (name, identifier, match, more) => ({
  rule_id: name,
  identifier_type: identifier,
  algorithm: 'fixed_window',
  window_start: 'first_request',
  limit: 2,
  window_size_seconds: 3600,
  match,
  ...more,
});
const RULES = [
  rule('users', 'user_id', { path_pattern: '/orders/*' }),
  rule('addresses', 'ip_address', { path_pattern: '/login' }),
  rule('keys', 'api_key', { path_pattern: '/api/*' }),
  rule('agents', 'header:x-agent', { path_pattern: '/agents' }),
];

/** So that a request can be too long for the limiter before it is so for Node. */
const SERVER = { maxHeaderSize: 65_536 };

/** The middleware is for two versions of each. Of Fastify 4 it is the oldest that tells the target as it was sent. */
const EXPRESS = { 'express 4': require('express4'), 'express 5': require('express') };
const FASTIFY = { 'fastify 4': require('fastify4'), 'fastify 5': require('fastify') };

/** What an application sees: the rules in shadow that would have denied a request. */
function shadowOf({ rateLimit: decision }) {
  if (!decision) return { undecided: true };
  const parts = decision.parts.length > 0 ? decision.parts : [decision];
  return { rules: parts.filter((part) => part.shadowDenied).map((part) => part.rule) };
}

/** Each opens an application that limits its requests and answers every path, and returns its port and `close`. */
const SERVE = {
  async express(express, limiter, options) {
    const app = express();
    app.use(forExpress(limiter, options));
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.get('/shadow', (request, response) => response.send(shadowOf(request)));
    app.use((request, response) => response.send('reached'));
    app.use((error, request, response, next) => response.status(500).send(`${error.name}: ${error.message}`));
    const server = createServer(SERVER, app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async fastify(fastify, limiter, options) {
    const app = fastify({ http: SERVER });
    await app.register(forFastify, { limiter, ...options });
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.get('/shadow', async (request) => shadowOf(request));
    app.all('/*', () => 'reached');
    app.setErrorHandler((error, request, reply) => reply.code(500).send(`${error.name}: ${error.message}`));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { port: app.server.address().port, close: () => app.close() };
  },
};

/** A test in each framework. `open(options, limiter)` returns what asks an application. */
function everywhere(name, body) {
  const within = (serve) => (framework, t) => {
    const open = async (options, limiter) => {
      const asked = limiter ?? (await RateLimiter.connect('memory://', { rules: RULES }));
      const { port, close } = await serve(framework, asked, options);
      t.after(close);
      return Object.assign((path, asked) => ask(port, path, asked), { raw: (bytes) => askRaw(port, bytes) });
    };
    return body(open, t);
  };
  each(EXPRESS, name, within(SERVE.express));
  each(FASTIFY, name, within(SERVE.fastify));
}

/** A test with each version of a framework. */
function each(versions, name, body) {
  for (const [version, framework] of Object.entries(versions)) test(`${name} (${version})`, (t) => body(framework, t));
}

/** Opens a server on a free port until the test ends. */
async function serve(t, app) {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return server.address().port;
}

const userOf = (request) => request.headers.authorization;
const as = (user) => ({ headers: { authorization: user } });

module.exports = { EXPRESS, FASTIFY, RULES, as, each, everywhere, rule, serve, userOf };
