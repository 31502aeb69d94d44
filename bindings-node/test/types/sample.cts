// Compiled, never run: the types of the package loaded by `require`.

import sluicegate = require('sluicegate');

const limiter: Promise<sluicegate.RateLimiter> = sluicegate.RateLimiter.connect('memory://', { rules: 'rules.jsonc' });
void limiter.then((it) => it.check('login', 'alice')).then((decision: sluicegate.Decision) => decision.allowed);
