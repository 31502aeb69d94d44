export type DecisionFields = {
    /**
     * Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
     */
    allowed: boolean;
    /**
     * The rule that decided: when denied, the one that makes the caller wait the longest. Empty
     * when none applied.
     */
    rule: string;
    /**
     * Whether any rule applied. Only a request can find that none does; then it is
     * admitted, and `limit` and `remaining` are 2^53 - 1.
     */
    ruleApplied: boolean;
    /**
     * The most that the deciding limit admits at once from a key never seen, in units of cost.
     */
    limit: number;
    /**
     * The time in which `limit` is admitted anew, over and over; 0 for `decay`, which has no
     * window.
     */
    windowMs: number;
    /**
     * The most cost that would still be admitted now.
     */
    remaining: number;
    /**
     * The shortest wait after which the same cost would be admitted if nobody else came,
     * exact to the microsecond. 0 when it fits, `Infinity` when it never can.
     */
    retryAfterMs: number;
    /**
     * Time until the key is as if never seen.
     */
    resetAfterMs: number;
    /**
     * Whether the key is blocked: by an earlier denial, by this one, or by hand.
     */
    blocked: boolean;
    /**
     * Whether as many replicas as the option `replicas` asks for have what was charged: where these
     * are all, no failover loses it. Always false where none are asked for.
     */
    replicated: boolean;
    /**
     * Whether nothing but rules in shadow decided.
     */
    shadow: boolean;
    /**
     * True when a rule in shadow would have denied.
     */
    shadowDenied: boolean;
    /**
     * Who decided: a Redis server, the in-memory
     * engine; since no server could, what the rule or the limiter says for that case; this process, which remembers a denial, or has borrowed units of the server; the near server, of units that another
     * region has lent, or by the part of this region.
     */
    source: "server" | "memory" | "fallback" | "cache" | "lease" | "allotment" | "share";
    /**
     * One decision per item of a `checkAll`, or rule of a
     * `checkRequest`, in order; empty otherwise.
     */
    parts: readonly Decision[];
};
export type Subject = {
    /**
     * The rule's name.
     */
    rule: string;
    /**
     * Who is counted.
     */
    key: Key;
};
export type Verdict = {
    /**
     * Whether the rule applies.
     */
    matched: boolean;
    /**
     * The first condition that does not hold, beginning with the field that states it.
     */
    reason: string;
};
/**
 * An error, as the native part reports it.
 */
export type Failure = {
    code: ErrorCode;
    message: string;
    retryable: boolean;
    key?: string;
};
/**
 * What a function of the application finds in a request, at once or later.
 */
export type Found = string | null | undefined | Promise<string | null | undefined>;
/**
 * The user that it finds.
 */
export type FoundUser = Name | null | undefined | Promise<Name | null | undefined>;
/**
 * What the middleware for Express and that for Fastify have in common.
 */
export type RateLimitOptions<Request> = {
    /**
     * Who has authenticated. A rule does not apply to a
     * request that lacks what the rule counts by. Default: nobody.
     */
    userId?: ((request: Request) => FoundUser) | undefined;
    /**
     * The API key, or the name of the header that
     * has it. Default: none.
     */
    apiKey?: ((request: Request) => Found) | string | undefined;
    /**
     * How many proxies stand between clients and this server, each of
     * which adds the address it was called from to `X-Forwarded-For`. With n of them the client is the n-th address
     * from the right, over all lines of that header; a port or brackets are ignored. Where there is no valid address,
     * the client is the peer of the connection. Default: 0, and the header is not looked at.
     *
     * One proxy too many, and clients choose their addresses themselves.
     *
     * Or the networks of the proxies, such as `['10.0.0.0/8', '2001:db8::/32']`: the client is the first address, from the peer
     * on and then from the right, that is in none of them.
     */
    trustedProxies?: number | string[] | undefined;
    /**
     * The header that the proxies write: `forwarded` is
     * that of RFC 7239. They have to write the one that is read: the other one is the client's own word. Default:
     * `x-forwarded-for`.
     */
    forwardedHeader?: "x-forwarded-for" | "forwarded" | undefined;
    /**
     * The headers that state the limits to clients. Default: `ietf`.
     */
    headers?: HeaderStyle | undefined;
    /**
     * Whether the application routes without regard to capitals. Default: of
     * Fastify, what the application says; of Express `true`, since parts of an application cannot be seen. Even then keys
     * are spelled as the client spelled them.
     */
    ignoreCase?: boolean | undefined;
    /**
     * What becomes of a request if the limiter cannot decide,
     * such as when its server is away: it goes on, is answered with 503, or the error is thrown to the framework.
     * Default: `admit`.
     */
    onError?: "admit" | "deny" | "throw" | undefined;
    /**
     * For how long what is reserved for a request is renewed at most, in
     * seconds. A response that is not over by then is logged, and what is held for it ends with its lease: what is committed
     * later answers `false`. Default: 3600.
     */
    maxLeaseSeconds?: number | undefined;
    /**
     * Receives the error when the limiter could not decide, unless that
     * is thrown, and that of a reservation which is not renewed any more.
     */
    log?: ((error: SluicegateError) => void) | undefined;
};
/**
 * A value, at once or later.
 */
export type Later<Value> = Value | Promise<Value>;
/**
 * Who is counted: a text that is not empty, a number other than 0, or several texts.
 */
export type Named = string | number | bigint | readonly string[];
/**
 * What limits at routes have in common: functions of the request, which may be async.
 */
export type RouteHooks<Args extends unknown[], Response, Denied extends unknown[]> = {
    /**
     * Who is counted, by rates and by rules without
     * `identifier_type`. One that names nobody is an error that says which route. Default: `userId`, or else the address.
     */
    key?: ((...args: Args) => Later<Named>) | undefined;
    /**
     * The user; `undefined` or `null` for
     * nobody.
     */
    userId?: ((...args: Args) => Later<Named | null | undefined>) | undefined;
    /**
     * Default: 1.
     */
    cost?: number | ((...args: Args) => Later<number>) | undefined;
    /**
     * A limit in place of the
     * rule's single one, such as that of a plan; `undefined`: the rule's.
     */
    limit?: number | ((...args: Args) => Later<number | null | undefined>) | undefined;
    /**
     * `true` exempts the request.
     */
    skip?: ((...args: Args) => Later<boolean | undefined>) | undefined;
    /**
     * Answers a request that is denied, in place of 429 and
     * problem details.
     */
    onDenied?: ((...args: Denied) => unknown) | undefined;
    /**
     * Receives every decision.
     */
    onDecision?: ((...args: [...Args, decision: Decision]) => unknown) | undefined;
    /**
     * What is charged: all
     * requests, those whose answer has a status of 400 and above, the others, or what a function of the response says. The
     * cost is reserved before, so that requests at the same time do not pass together. Default: `all`.
     */
    count?: "all" | "failures" | "successes" | ((response: Response) => boolean) | undefined;
    /**
     * What becomes of a request that is counted by its address
     * and has none: it is refused, all such share one limit, or it is exempt. Default: `shared`.
     */
    noAddress?: "deny" | "shared" | "skip" | undefined;
};
/**
 * Functions of middleware, which may be async. One that throws, or answers what it may not, is an error that names it.
 */
export type MatchingHooks<Request, Response, Denied extends unknown[]> = {
    /**
     * `true` exempts the request, before anything
     * else is asked.
     */
    skip?: ((request: Request) => Later<boolean | undefined>) | undefined;
    /**
     * In place of the `cost` of the rules.
     */
    cost?: number | ((request: Request) => Later<number>) | undefined;
    /**
     * In place of the limit of every
     * rule that is applied, such as that of a plan; `undefined`: the rules' own. It is for rules with a single limit, which `rules` may choose.
     */
    limit?: number | ((request: Request) => Later<number | null | undefined>) | undefined;
    /**
     * Names
     * of rules, such as those of a plan. A rule that is named is applied if it matches; if it has no `match`, in any case.
     * Default: all rules that match.
     */
    rules?: readonly string[] | ((request: Request) => Later<readonly string[] | null | undefined>) | undefined;
    /**
     * Who is counted by rules without `identifier_type`, which
     * `rules` names. Default: the user, or else the address.
     */
    key?: ((request: Request) => Later<Named>) | undefined;
    /**
     * Answers a request that is denied, in place of 429 and
     * problem details.
     */
    onDenied?: ((...args: Denied) => unknown) | undefined;
    /**
     * Receives every decision.
     */
    onDecision?: ((request: Request, decision: Decision) => unknown) | undefined;
    /**
     * What is charged of what is
     * reserved, which rules with `"reservations": true` are: all, or what the answer says. Default: `all`.
     */
    count?: "all" | "failures" | "successes" | ((response: Response) => boolean) | undefined;
};
/**
 * A rate such as `5/minute`, the name of a rule, a rule, or several of them, which are decided together.
 */
export type Stated = string | Rule | readonly (string | Rule)[];
/**
 * Options of all limits of one `routeLimits`.
 */
export type RouteDefaults<Args extends unknown[], Response, Denied extends unknown[]> = RouteHooks<Args, Response, Denied> & Pick<RateLimitOptions<unknown>, "trustedProxies" | "forwardedHeader" | "headers" | "onError" | "maxLeaseSeconds" | "log"> & RouteNames;
export type RouteNames = {
    /**
     * Begins the names of rules that are stated at routes, so that two services on one
     * Redis count apart. Default: `routes`.
     */
    name?: string | undefined;
    /**
     * `false` makes every route unlimited. Default: `true`.
     */
    enabled?: boolean | undefined;
};
/**
 * Options of the limits of one route.
 */
export type RouteLimitOptions<Args extends unknown[], Response, Denied extends unknown[]> = RouteHooks<Args, Response, Denied> & RouteSharing;
export type RouteSharing = {
    /**
     * Routes with the same name share one limit.
     */
    shared?: string | undefined;
    /**
     * Each method has a limit of its own. `HEAD` counts as `GET`. Default: `false`.
     */
    perMethod?: boolean | undefined;
};
/**
 * A limiter, or a function that finds it by the request.
 */
export type LimiterOf<Args extends unknown[]> = Later<RateLimiter> | ((...args: Args) => Later<RateLimiter>);
/**
 * What is needed of a context of Koa.
 */
export type KoaContext = {
    req: import("node:http").IncomingMessage;
    res: import("node:http").ServerResponse;
    state: object;
    status: number;
    body: unknown;
    /**
     * A header of the request; empty where there is none.
     */
    get: (name: string) => string;
};
/**
 * Middleware of Express.
 */
export type ExpressMiddleware<Request> = (request: Request, response: import("node:http").ServerResponse, next: (error?: unknown) => void) => void;
/**
 * What `onDenied` of Express is called with.
 */
export type ExpressDenied<Request> = [request: Request, decision: Decision, response: import("node:http").ServerResponse, next: (error?: unknown) => void];
import type { Decision } from './index.js';
import type { Key } from './index.js';
import type { ErrorCode } from './index.js';
import type { Name } from './index.js';
import type { HeaderStyle } from './index.js';
import type { SluicegateError } from './index.js';
import type { Rule } from './index.js';
import type { RateLimiter } from './index.js';
