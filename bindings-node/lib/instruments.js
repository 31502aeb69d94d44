'use strict';

/** @import { Attributes } from '@opentelemetry/api' */
/** @import { Metrics } from './index.js' */

/**
 * What an instrument of OpenTelemetry observes of the metrics of a limiter.
 *
 * @typedef {object} Instrument
 * @property {'Counter' | 'Gauge' | 'UpDownCounter'} kind
 * @property {string} unit
 * @property {string} description
 * @property {(metrics: Metrics) => [number, Attributes][]} observed
 */

/** @type {{ [name: string]: Instrument }} */
const INSTRUMENTS = {
  decisions: { kind: 'Counter', unit: '{request}', description: 'Checks by rule, result and who decided.', observed: decisions },
  cost: { kind: 'Counter', unit: '{unit}', description: 'What admitted checks have cost.', observed: ofRules(({ cost }) => cost) },
  'fallback.admitted': {
    kind: 'Counter',
    unit: '{request}',
    description: 'Checks that the fallback admitted.',
    observed: ofRules(({ decisions }) => decisions['fallback']?.admitted ?? 0),
  },
  waiting: {
    kind: 'UpDownCounter',
    unit: '{call}',
    description: 'Calls that wait for room.',
    observed: ofRules(({ waiting }) => waiting),
  },
  'loan.units': { kind: 'Counter', unit: '{unit}', description: 'Units that servers and other regions lend, by what became of them.', observed: loans },
  errors: {
    kind: 'Counter',
    unit: '{error}',
    description: 'Calls that ended with an error, by its kind.',
    observed: ({ errors }) => Object.entries(errors).map(([kind, count]) => [count, { kind }]),
  },
  'breaker.open': {
    kind: 'Gauge',
    unit: '1',
    description: 'Whether the circuit breaker of a server is open.',
    observed: ofServers(({ breakerOpen }) => Number(breakerOpen)),
  },
  'breaker.openings': {
    kind: 'Counter',
    unit: '{opening}',
    description: 'How often circuit breakers have opened.',
    observed: ofServers(({ breakerOpenings }) => breakerOpenings),
  },
  'rules.version': {
    kind: 'Gauge',
    unit: '1',
    description: 'The version of the rules in force, as an attribute.',
    observed: ({ rulesVersion }) => [[1, { version: rulesVersion }]],
  },
  region: {
    kind: 'Gauge',
    unit: '1',
    description: 'The region of the limiter, as an attribute.',
    observed: ({ region }) => (region === null ? [] : [[1, { region }]]),
  },
};

const RESULTS = { admitted: 'admitted', denied: 'denied', shadowDenied: 'shadow_denied', blocked: 'blocked', error: 'error' };
const USES = { asked: 'asked', granted: 'granted', spent: 'spent', givenBack: 'given_back', lost: 'lost' };

/** @returns {[number, Attributes][]} */
function decisions(/** @type {Metrics} */ { rules }) {
  return Object.entries(rules).flatMap(([rule, counted]) =>
    Object.entries(counted.decisions).flatMap(([source, counts]) =>
      above0(counts, RESULTS).map(([count, result]) => /** @type {[number, Attributes]} */ ([count, { rule, result, source }])),
    ),
  );
}

/** @returns {[number, Attributes][]} */
function loans(/** @type {Metrics} */ { rules }) {
  return Object.entries(rules).flatMap(([rule, counted]) =>
    above0(counted.loans, USES).map(([units, what]) => /** @type {[number, Attributes]} */ ([units, { rule, what }])),
  );
}

/** Those that have happened, as in `prometheus()`. */
function above0(counts, names) {
  return Object.entries(names).flatMap(([name, told]) => (counts[name] > 0 ? [[counts[name], told]] : []));
}

/** @returns {Instrument['observed']} */
function ofRules(/** @type {(rule: Metrics['rules'][string]) => number} */ count) {
  return ({ rules }) => Object.entries(rules).map(([rule, counted]) => [count(counted), { rule }]);
}

/** @returns {Instrument['observed']} */
function ofServers(/** @type {(server: Metrics['servers'][string]) => number} */ count) {
  return ({ servers }) => Object.entries(servers).map(([server, counted]) => [count(counted), { server }]);
}

module.exports = { INSTRUMENTS };
