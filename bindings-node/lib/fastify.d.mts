export * from './fastify.js';
