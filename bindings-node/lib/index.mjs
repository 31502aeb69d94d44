// One instance of the package, however it is loaded: the classes are the same.
import sluicegate from './index.js';

export const { ManualClock, RateLimiter, Reservation, SluicegateError, WrongTypeError, addressKey, events, headers } =
  sluicegate;
