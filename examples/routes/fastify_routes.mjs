// Limits at the routes of Fastify.
//
//     npm install sluicegate fastify
//     node examples/routes/fastify_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

// --8<-- [start:limits]
import fastify from 'fastify';
import { RateLimiter } from 'sluicegate';
import { RateLimited, routeLimits } from 'sluicegate/fastify';

// For several processes: redis://localhost/0.
const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] });
const limits = routeLimits(limiter, {
  name: 'shop',
  userId: (request) => request.user,
  skip: (request) => request.routeOptions.url === '/health',
  trustedProxies: Number(process.env.PROXIES ?? 0),
});
const app = fastify();
await app.register(limits.plugin);
app.addHook('onRequest', limits('1000/hour', { shared: 'all' }));
// --8<-- [end:limits]

// --8<-- [start:address]
app.post('/signup', { config: { limit: '3/hour' } }, () => {
  return { welcome: 'to the shop' };
});
// --8<-- [end:address]

// --8<-- [start:user]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
async function signedIn(request, reply) {
  request.user = request.headers.authorization?.replace(/^Bearer /, '');
  if (!request.user) return reply.code(401).send();
}

app.get('/reports/:report', { onRequest: signedIn, config: { limit: ['4/hour', '20/day'] } }, (request) => {
  return { report: Number(request.params.report), left: request.rateLimit.remaining };
});
// --8<-- [end:user]

// --8<-- [start:plan]
const PLANS = { alice: 4 }; // How many exports a day a user has bought.
const ofPlan = { limits: '2/day', limit: (request) => PLANS[request.user] };

app.get('/exports', { onRequest: signedIn, config: { limit: ofPlan } }, () => {
  return { rows: 250 };
});
// --8<-- [end:plan]

// --8<-- [start:denied]
app.setErrorHandler((error, request, reply) => {
  if (!(error instanceof RateLimited)) return reply.send(error);
  return reply.code(error.statusCode).send({ error: error.message });
});
// --8<-- [end:denied]

app.get('/health', () => 'well');
await app.listen({ port: Number(process.env.PORT ?? 8000) });
console.log(`listening on port ${app.server.address().port}`);
