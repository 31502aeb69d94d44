// Limits at the routes of Koa.
//
//     npm install sluicegate koa @koa/router
//     node examples/routes/koa_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

// --8<-- [start:limits]
import Router from '@koa/router';
import Koa from 'koa';
import { RateLimiter } from 'sluicegate';
import { routeLimits } from 'sluicegate/koa';

// For several processes: redis://localhost/0.
const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] });
const limits = routeLimits(limiter, {
  name: 'shop',
  userId: (context) => context.state.user,
  skip: (context) => context.path === '/health',
  onDenied: tooMany,
  trustedProxies: Number(process.env.PROXIES ?? 0),
});
const app = new Koa();
const router = new Router();
app.use(limits('1000/hour'));
// --8<-- [end:limits]

// --8<-- [start:address]
router.post('/signup', limits('3/hour'), (context) => {
  context.body = { welcome: 'to the shop' };
});
// --8<-- [end:address]

// --8<-- [start:user]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
function signedIn(context, next) {
  context.state.user = context.get('authorization').replace(/^Bearer /, '');
  context.assert(context.state.user, 401);
  return next();
}

router.get('/reports/:report', signedIn, limits(['4/hour', '20/day']), (context) => {
  context.body = { report: Number(context.params.report), left: context.state.rateLimit.remaining };
});
// --8<-- [end:user]

// --8<-- [start:plan]
const PLANS = { alice: 4 }; // How many exports a day a user has bought.

router.get('/exports', signedIn, limits('2/day', { limit: (context) => PLANS[context.state.user] }), (context) => {
  context.body = { rows: 250 };
});
// --8<-- [end:plan]

// --8<-- [start:denied]
function tooMany(context, decision) {
  context.status = 429;
  context.body = { error: `try again in ${Math.ceil(decision.retryAfterMs / 1000)} s` };
}
// --8<-- [end:denied]

router.get('/health', (context) => {
  context.body = 'well';
});
app.use(router.routes());
const server = app.listen(process.env.PORT ?? 8000, () => console.log(`listening on port ${server.address().port}`));
