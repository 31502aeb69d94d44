// Limits at the routes of Hono.
//
//     npm install sluicegate hono @hono/node-server
//     node examples/routes/hono_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

// --8<-- [start:limits]
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { RateLimiter } from 'sluicegate';
import { routeLimits } from 'sluicegate/hono';

// For several processes: redis://localhost/0.
const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] });
const limits = routeLimits(limiter, {
  name: 'shop',
  userId: (context) => context.get('user'),
  skip: (context) => context.req.path === '/health',
  onDenied: tooMany,
  trustedProxies: Number(process.env.PROXIES ?? 0),
});
const app = new Hono();
app.use(limits('1000/hour'));
// --8<-- [end:limits]

// --8<-- [start:address]
app.post('/signup', limits('3/hour'), (context) => context.json({ welcome: 'to the shop' }));
// --8<-- [end:address]

// --8<-- [start:user]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
async function signedIn(context, next) {
  const user = context.req.header('authorization')?.replace(/^Bearer /, '');
  if (!user) throw new HTTPException(401);
  context.set('user', user);
  await next();
}

app.get('/reports/:report', signedIn, limits(['4/hour', '20/day']), (context) => {
  return context.json({ report: Number(context.req.param('report')), left: context.get('rateLimit').remaining });
});
// --8<-- [end:user]

// --8<-- [start:plan]
const PLANS = { alice: 4 }; // How many exports a day a user has bought.
const ofPlan = (context) => PLANS[context.get('user')];

app.get('/exports', signedIn, limits('2/day', { limit: ofPlan }), (context) => context.json({ rows: 250 }));
// --8<-- [end:plan]

// --8<-- [start:denied]
function tooMany(context, decision) {
  return Response.json({ error: `try again in ${Math.ceil(decision.retryAfterMs / 1000)} s` }, { status: 429 });
}
// --8<-- [end:denied]

app.get('/health', (context) => context.text('well'));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8000) }, ({ port }) => console.log(`listening on port ${port}`));
