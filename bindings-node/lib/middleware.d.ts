// What the middleware for Express and that for Fastify have in common.

import type { HeaderStyle, SluicegateError } from './index.js';

/** What a function of the application finds in a request, at once or later. */
type Found = string | null | undefined | Promise<string | null | undefined>;

/** Options of the middleware. */
export interface RateLimitOptions<Request> {
  /**
   * Who has authenticated. A rule does not apply to a request that lacks what the rule counts by. Default:
   * nobody.
   */
  userId?: ((request: Request) => Found) | undefined;
  /** The API key, or the name of the header that has it. Default: none. */
  apiKey?: ((request: Request) => Found) | string | undefined;
  /**
   * How many proxies stand between clients and this server, each of which adds the address it was called from to
   * `X-Forwarded-For`. With n of them the client is the n-th address from the right, over all lines of that
   * header; a port or brackets are ignored. Where there is no valid address, the client is the peer of the
   * connection. Default: 0, and the header is not looked at.
   *
   * One proxy too many, and clients choose their addresses themselves.
   */
  trustedProxies?: number | undefined;
  /** The headers in which clients are told of limits. Default: `ietf`. */
  headers?: HeaderStyle | undefined;
  /**
   * What becomes of a request if the limiter cannot decide, such as when its server is away: it goes on, is
   * answered with 503, or the error is thrown to the framework. Default: `admit`.
   */
  onError?: 'admit' | 'deny' | 'throw' | undefined;
  /** Told why the limiter could not decide, unless that is thrown. */
  log?: ((error: SluicegateError) => void) | undefined;
}
