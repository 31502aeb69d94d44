// What the plugin adds to the requests of Fastify.

import 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits of the route, for `routeLimits(limiter).plugin`. */
    limit?: import('./types.js').Stated | ({ limits: import('./types.js').Stated } & import('./fastify.js').FastifyRouteOptions);
  }

  interface FastifyRequest {
    /** The decision about the request; `undefined` where the limiter could not decide. */
    rateLimit?: import('./index.js').Decision;
    /** What is held for the request, if anything is. */
    reservation?: import('./reservation.js').Reservation;
  }
}
