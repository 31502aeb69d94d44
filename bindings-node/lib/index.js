'use strict';

const { ManualClock } = require('./clock.js');
const { SluicegateError } = require('./error.js');
const { headers } = require('./headers.js');
const { RateLimiter } = require('./limiter.js');

module.exports = { ManualClock, RateLimiter, SluicegateError, headers };
