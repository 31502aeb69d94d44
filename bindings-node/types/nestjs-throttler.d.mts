export * from './nestjs-throttler.js';
