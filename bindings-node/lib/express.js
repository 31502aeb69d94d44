'use strict';

const { judgeBy } = require('./middleware.js');

/** Middleware for Express, and for whatever else has its signature. */
function rateLimit(limiter, options) {
  const judge = judgeBy(limiter, options);
  return async (request, response, next) => {
    let ruling;
    try {
      ruling = await judge(request, request, request.originalUrl ?? request.url);
      for (const [name, value] of Object.entries(ruling.headers)) response.setHeader(name, value);
    } catch (error) {
      return next(error);
    }
    if (ruling.status === undefined) return next();
    response.statusCode = ruling.status;
    response.end(ruling.body);
  };
}

module.exports = { rateLimit };
