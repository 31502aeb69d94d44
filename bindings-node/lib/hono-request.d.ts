// What limits at routes add to the contexts of Hono.

import 'hono';

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision about the request; `undefined` for one that is exempt. */
    rateLimit?: import('./index.js').Decision;
    /** What is held for the request, if anything is. */
    reservation?: import('./reservation.js').Reservation;
  }
}
