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
     * Whether nothing but rules in shadow decided.
     */
    shadow: boolean;
    /**
     * True when a rule in shadow would have denied.
     */
    shadowDenied: boolean;
    /**
     * Who decided: a Redis server, the in-memory
     * engine; since no server could, what the rule or the limiter says for that case; the near server, of units that another
     * region has lent, or by the part of this region.
     */
    source: "server" | "memory" | "fallback" | "allotment" | "share";
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
     * Who is counted; not empty. The parts of an array are joined.
     */
    key: string | readonly string[];
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
 * What the middleware for Express and that for Fastify have in common.
 */
export type RateLimitOptions<Request> = {
    /**
     * Who has authenticated. A rule does not apply to a
     * request that lacks what the rule counts by. Default: nobody.
     */
    userId?: ((request: Request) => Found) | undefined;
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
     */
    trustedProxies?: number | undefined;
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
import type { Decision } from './index.js';
import type { ErrorCode } from './index.js';
import type { HeaderStyle } from './index.js';
import type { SluicegateError } from './index.js';
