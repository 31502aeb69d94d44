export * from './fastify-rate-limit.js';
