'use strict';

const { ManualClock } = require('./clock.js');
const { SluicegateError } = require('./error.js');
const { RateLimiter } = require('./limiter.js');

module.exports = { ManualClock, RateLimiter, SluicegateError };
