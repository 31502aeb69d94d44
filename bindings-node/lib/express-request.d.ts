// What the middleware adds to the requests of Express.

import type { Request } from 'express';

declare global {
  namespace Express {
    interface Request {
      /** The decision about the request; `undefined` where the limiter could not decide. */
      rateLimit?: import('./index.js').Decision;
      /** What is held for the request, if anything is. */
      reservation?: import('./reservation.js').Reservation;
    }
  }
}

/** A request of Express. */
export interface ExpressRequest extends Request {}
