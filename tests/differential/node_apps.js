'use strict';

// One application in each framework of Node, behind the middleware: node_apps.js NAME, which says its port. A handler
// that runs says so in a header.

const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');
const { RateLimiter } = require('../../bindings-node');
const { rateLimit: forExpress } = require('../../bindings-node/lib/express.js');
const { rateLimit: forFastify } = require('../../bindings-node/lib/fastify.js');

const RULES = JSON.parse(readFileSync(join(__dirname, 'rules.json'), 'utf8'));

/** A limiter that remembers what it charged for the request that it was asked about last; they come one by one. */
class Recorder {
  constructor(limiter) {
    this.limiter = limiter;
    this.charged = [];
  }

  reserveRequest(request) {
    this.charged = [];
    this.charged = this.limiter.matchRequest(request).map(({ ruleId, key }) => [ruleId, key]);
    return this.limiter.reserveRequest(request);
  }

  report(rule, key = null) {
    const { charged } = this;
    return ['X-Ran', encodeURIComponent(JSON.stringify({ rule, key, charged }).toWellFormed())];
  }
}

function express(module, { rest, any }, prepare = (app) => app) {
  return (recorder) => {
    const app = module();
    const handler = (rule, key = () => null) => (request, response) =>
      response.set(...recorder.report(rule, key(request))).send('ran');
    app.use(forExpress(recorder));
    app.post('/login', handler('login'));
    app.get('/status', handler('status'));
    app.get('/a', handler('a'));
    app.get(`/api/:t/${rest}`, handler('tenant', ({ params }) => params.t));
    app.get('/items/:id', handler('item', ({ params }) => params.id));
    app.get(`/files/${rest}`, handler('files'));
    const graphql = module();
    graphql.use(handler('graphql'));
    app.use('/graphql', graphql);
    const sub = module.Router({ caseSensitive: true, strict: true });
    sub.get('/inner/:t', handler('inner', ({ params }) => params.t));
    app.use('/sub', sub);
    app.get('/keys', handler('keys', ({ headers }) => headers['x-api-key']));
    app.get(`${any}/download`, handler('download'));
    app.use((error, request, response, next) => response.status(error.status ?? 500).end());
    return createServer({ maxHeaderSize: 65_536 }, prepare(app));
  };
}

function fastify(module, options = {}) {
  return async (recorder) => {
    const app = module({ http: { maxHeaderSize: 65_536 }, maxParamLength: 20_000, ...options });
    await app.register(forFastify, { limiter: recorder });
    const handler = (rule, key = () => null) => async (request, reply) => {
      reply.header(...recorder.report(rule, key(request)));
      return 'ran';
    };
    app.post('/login', handler('login'));
    app.get('/status', handler('status'));
    app.get('/a', handler('a'));
    app.get('/api/:t/*', handler('tenant', ({ params }) => params.t));
    app.get('/items/:id', handler('item', ({ params }) => params.id));
    app.get('/files/*', handler('files'));
    app.get('/graphql', handler('graphql'));
    app.get('/graphql/*', handler('graphql'));
    app.register(async (sub) => sub.get('/inner/:t', handler('inner', ({ params }) => params.t)), { prefix: '/sub' });
    app.get('/keys', handler('keys', ({ headers }) => headers['x-api-key']));
    app.get('/d/:x/download', handler('download'));
    await app.ready();
    app.server.on('listening', () => {});
    return { listen: (port, host, then) => app.listen({ port, host }).then(then), address: () => app.server.address() };
  };
}

const LOOSE = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };
/** Counts capitals itself, as its parent does not. */
function mounted(app) {
  app.set('case sensitive routing', true);
  return require('express5')().use(app);
}

const STRICT = { rest: '*rest', any: '/*any' };
const APPS = {
  express4: express(require('express4'), { rest: '*', any: '*' }),
  express5: express(require('express5'), STRICT),
  'express5-mounted': express(require('express5'), STRICT, mounted),
  fastify4: fastify(require('fastify4')),
  fastify5: fastify(require('fastify5')),
  'fastify5-loose': fastify(require('fastify5'), { routerOptions: { ...LOOSE, useSemicolonDelimiter: true } }),
};

async function main(name) {
  const limiter = await RateLimiter.connect('memory://', { rules: RULES });
  const server = await APPS[name](new Recorder(limiter));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.resume().on('end', () => process.exit());
}

main(process.argv[2]);
