import telemetry from './opentelemetry.js';

export const { RoundTripProducer, observe } = telemetry;
