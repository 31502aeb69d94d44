// Limits at the procedures of tRPC.
//
//     npm install sluicegate @trpc/server
//     node examples/routes/trpc_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST -H 'Content-Type: application/json' http://localhost:8000/signup; done

// --8<-- [start:limits]
import { initTRPC, TRPCError } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { RateLimiter } from 'sluicegate';
import { routeLimits } from 'sluicegate/trpc';

// For several processes: redis://localhost/0.
const limiter = await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] });
const limits = routeLimits(limiter, {
  name: 'shop',
  userId: ({ ctx }) => ctx.user,
  onDenied: tooMany,
  trustedProxies: Number(process.env.PROXIES ?? 0),
});
const t = initTRPC.context().create();
// Without `req` and `res` in the context there are no addresses and no headers.
const createContext = ({ req, res }) => ({ req, res });
const limited = t.procedure.use(limits('1000/hour', { shared: 'all' }));
// --8<-- [end:limits]

// --8<-- [start:address]
const signup = limited.use(limits('3/hour')).mutation(() => ({ welcome: 'to the shop' }));
// --8<-- [end:address]

// --8<-- [start:user]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
const signedIn = t.procedure.use(({ ctx, next }) => {
  const user = ctx.req.headers.authorization?.replace(/^Bearer /, '');
  if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' });
  return next({ ctx: { user } });
});

const report = signedIn
  .input(Number)
  .use(limits(['4/hour', '20/day']))
  .query(({ ctx, input }) => ({ report: input, left: ctx.rateLimit.remaining }));
// --8<-- [end:user]

// --8<-- [start:plan]
const PLANS = { alice: 4 }; // How many exports a day a user has bought.
const ofPlan = ({ ctx }) => PLANS[ctx.user];

const exports = signedIn.use(limits('2/day', { limit: ofPlan })).query(() => ({ rows: 250 }));
// --8<-- [end:plan]

// --8<-- [start:denied]
function tooMany(call, decision) {
  const message = `try again in ${Math.ceil(decision.retryAfterMs / 1000)} s`;
  return new TRPCError({ code: 'TOO_MANY_REQUESTS', message });
}
// --8<-- [end:denied]

// --8<-- [start:health]
const health = t.procedure.query(() => 'well');
const router = t.router({ signup, report, exports, health });
// --8<-- [end:health]

// --8<-- [start:server]
const server = createHTTPServer({ router, createContext });
server.listen(process.env.PORT ?? 8000, () => console.log(`listening on port ${server.address().port}`));
// --8<-- [end:server]
