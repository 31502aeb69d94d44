'use strict';

/**
 * What a limiter has counted, from the JSON that core writes of it.
 *
 * @param {string} json
 * @returns {import('./index.js').Metrics}
 */
function metricsOf(json) {
  const { rules, errors, servers, round_trips: trips, rules_version: rulesVersion, rules_refusals, region } = JSON.parse(json);
  return {
    rules: mapped(rules, ruleOf),
    errors,
    servers: mapped(servers, (server) => ({
      breakerOpen: server.breaker_open,
      breakerOpenings: server.breaker_openings,
    })),
    roundTrips: {
      count: trips.count,
      sumMs: trips.sum * 1000,
      buckets: trips.buckets.map((bucket) => ({ atMostMs: bucket.at_most * 1000, count: bucket.count })),
    },
    rulesVersion,
    rulesRefusals: rules_refusals,
    region,
  };
}

function ruleOf({ decisions, cost, waiting, loans, top_denied: topDenied }) {
  const { given_back: givenBack, ...used } = loans;
  return { decisions: mapped(decisions, countsOf), cost, waiting, loans: { ...used, givenBack }, topDenied };
}

function countsOf({ shadow_denied: shadowDenied, ...counts }) {
  return { ...counts, shadowDenied };
}

/** The same object with other values. A rule may have any name, `__proto__` too. */
function mapped(object, of) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, of(value)]));
}

module.exports = { metricsOf };
