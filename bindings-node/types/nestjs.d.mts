export * from './nestjs.js';
