'use strict';

// The template of a place in an application of Express: of routers as they were mounted, and of the route.
//
// A request tells the path by which it came to a router, which the client chose. How a router was mounted stands in the
// lists of layers of its parents.

/** How many paths are kept by which clients came to a place. */
const KEPT = 1000;

/** By the route or function: templates by the paths of requests. */
const KNOWN = new WeakMap();

/**
 * The template of the route or, outside of routes, of where a function is mounted. Where it cannot be found, only that of
 * the route.
 */
function templateOf(request, middleware) {
  const { route } = request;
  // Of an earlier route, if the function stands in none.
  const isInRoute = route?.stack?.some(({ handle }) => handle === middleware) ?? false;
  const target = isInRoute ? route : middleware;
  const base = request.baseUrl ?? '';
  let known = KNOWN.get(target);
  if (known === undefined) KNOWN.set(target, (known = new Map()));
  let template = known.get(base);
  if (template === undefined) {
    const [stack, ...mounted] = stacksOf(request.app);
    const mounts = patternsTo(target, stack, base, mounted) ?? [];
    template = `${mounts.join('')}${isInRoute ? route.path : ''}` || '/';
    if (known.size >= KEPT) known.clear();
    known.set(base, template);
  }
  return template;
}

/** The layers of the outermost application, and of those that are mounted in it. */
function stacksOf(app) {
  const stacks = [];
  // Express 4 refuses to be asked for `router`.
  for (; app; app = app.parent) stacks.unshift((app._router ?? app.router)?.stack);
  return stacks;
}

/** How the routers on the way to a route or function are mounted; `undefined` where there is no way by this path. */
function patternsTo(target, stack = [], base, mounted) {
  for (const layer of stack) {
    if (layer.route) {
      if (layer.route === target && base === '') return [];
      continue;
    }
    const isApp = layer.name === 'mounted_app';
    const inner = isApp ? mounted[0] : layer.handle.stack;
    if (inner === undefined && layer.handle !== target) continue;
    const match = layer.match(base);
    if (!match) continue;
    // Older versions leave what they found in the layer.
    const { path, params } = match === true ? layer : match;
    const rest = base.slice(path.length);
    const more = layer.handle === target ? (rest === '' ? [] : undefined) : patternsTo(target, inner, rest, isApp ? mounted.slice(1) : mounted);
    if (more !== undefined) return [patternOf(layer, match.pattern, path, params), ...more];
  }
  return undefined;
}

/** How a layer is mounted. Express 5.3 tells, Express 4 has it as a regular expression; in between are only matches. */
function patternOf(layer, pattern, path, params) {
  if (pattern !== undefined) return pattern === '/' ? '' : String(pattern);
  if (layer.regexp) return layer.regexp.fast_slash ? '' : fromExpression(layer);
  if (layer.matchers?.some(({ name }) => name === 'regexpMatcher')) return '/(expression)';
  return fromMatch(path, params);
}

function fromExpression({ regexp, keys }) {
  const names = keys.map(({ name }) => `:${name}`);
  const source = regexp.source.replace(/^\^/, '').replace(/\\\/\?\(\?=\\\/\|\$\)$/, '');
  // The path, if that is all there is besides parameters; else the expression as it is, which is unique as well.
  return source.replace(/\(\?:\\\/\(\[\^\/\]\+\?\)\)/g, () => `/${names.shift()}`).replace(/\\(.)/g, '$1');
}

/** Parts that are the values of parameters have their names. What is left is the same for all, except for capitals. */
function fromMatch(path, params) {
  const names = Object.keys(params);
  const left = new Set(names);
  const parts = path.split('/').map((part) => {
    const name = names.find((name) => left.has(name) && params[name] === decoded(part));
    return name !== undefined && left.delete(name) ? `:${name}` : part.toLowerCase();
  });
  return left.size === 0 ? parts.join('/') : names.map((name) => `/:${name}`).join('');
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

module.exports = { templateOf };
