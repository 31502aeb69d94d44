// Limits at the routes of Express.
//
//     npm install sluicegate express
//     node examples/routes/express_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

// --8<-- [start:limits]
import express from 'express';
import { RateLimiter } from 'sluicegate';
import { routeLimits } from 'sluicegate/express';

// For several processes: redis://localhost/0.
const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] });
const limits = routeLimits(limiter, {
  name: 'shop',
  userId: (request) => request.user,
  skip: (request) => request.path === '/health',
  onDenied: tooMany,
  trustedProxies: Number(process.env.PROXIES ?? 0),
});
const app = express();
app.use(limits('1000/hour'));
// --8<-- [end:limits]

// --8<-- [start:address]
app.post('/signup', limits('3/hour'), (request, response) => {
  response.json({ welcome: 'to the shop' });
});
// --8<-- [end:address]

// --8<-- [start:user]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
function signedIn(request, response, next) {
  request.user = request.get('authorization')?.replace(/^Bearer /, '');
  if (request.user) next();
  else response.status(401).end();
}

app.get('/reports/:report', signedIn, limits(['4/hour', '20/day']), (request, response) => {
  response.json({ report: Number(request.params.report), left: request.rateLimit.remaining });
});
// --8<-- [end:user]

// --8<-- [start:plan]
const PLANS = { alice: 4 }; // How many exports a day a user has bought.

app.get('/exports', signedIn, limits('2/day', { limit: (request) => PLANS[request.user] }), (request, response) => {
  response.json({ rows: 250 });
});
// --8<-- [end:plan]

// --8<-- [start:denied]
function tooMany(request, decision, response) {
  response.status(429).json({ error: `try again in ${Math.ceil(decision.retryAfterMs / 1000)} s` });
}
// --8<-- [end:denied]

app.get('/health', (request, response) => response.send('well'));
const server = app.listen(process.env.PORT ?? 8000, () => console.log(`listening on port ${server.address().port}`));
