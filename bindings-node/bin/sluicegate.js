#!/usr/bin/env node
'use strict';

// The command-line tool, which the native part brings along.

process.exitCode = require('../lib/native.js').cli(['sluicegate', ...process.argv.slice(2)]);
