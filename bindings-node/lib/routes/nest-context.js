'use strict';

// What Nest tells of a request, whatever carries it.

const { callOf, endCall, errorOf, isCall } = require('./nest-grpc.js');
const { NodeRequest } = require('./node.js');

/** What methods are called, by their functions. */
const NAMES = new WeakMap();

/**
 * A request as routes know it, the object that handlers see, what carries it where that is HTTP, and how a header is set and
 * a denial is thrown.
 *
 * @returns {any}
 */
function contextOf(context) {
  const kind = context.getType();
  if (kind === 'http') return ofHttp(context, context.switchToHttp().getRequest(), context.switchToHttp().getResponse());
  if (kind === 'graphql') return ofGraphql(context);
  if (kind === 'rpc') return ofRpc(context);
  return ofMessage(context, kind);
}

function ofHttp(context, request, response, template = request.routeOptions?.url ?? request.route?.path ?? nameOf(context)) {
  // Fastify has those of Node inside.
  const raw = request.raw ?? request;
  return {
    asked: new NodeRequest(raw, String(template), [request, context], request.params ?? {}),
    request,
    raw,
    response: response?.raw ?? response,
    // The answer that has headers, though it may be that of many fields.
    carried: response?.raw ?? response,
    setHeader: (name, value) => (response?.raw ? response.header(name, value) : response?.setHeader?.(name, value)),
    denied: (error) => error,
  };
}

/** A request may ask for many fields, also for one many times. */
function ofGraphql(context) {
  const [, , carrier, info] = context.getArgs();
  const request = carrier.req ?? carrier.request;
  const template = `graphql:${info.parentType.name}.${info.fieldName}`;
  if (request?.headers === undefined) return ofMessage(context, 'graphql', carrier, template);
  const known = ofHttp(context, request, carrier.res ?? carrier.reply, template);
  // The answer to one field is not the end of the response.
  return { ...known, response: undefined };
}

/** A message of a microservice. What filters do not know, its client is not told: an exception has to be of their type. */
function ofRpc(context) {
  const known = ofMessage(context, 'rpc');
  const [first, second, third] = context.getArgs();
  // A handler that gets the call itself has nothing before it.
  const isPassed = isCall(first?.metadata, first);
  const [metadata, call] = isPassed ? [first.metadata, first] : [second, third];
  const isOfGrpc = isCall(metadata, call);
  const denied = (error, ruling) => asRpcException(error, isOfGrpc ? errorOf(metadata, ruling) : error.getResponse());
  const asked = isOfGrpc ? { ...known.asked, ...callOf(metadata, call) } : known.asked;
  return { ...known, asked, denied, ends: isPassed ? (error) => endCall(call, second, error) : undefined };
}

function asRpcException(error, told) {
  const { RpcException } = require('@nestjs/microservices');
  return Object.assign(new RpcException(told), { decision: error.decision });
}

function ofMessage(context, kind, client = context.getArgByIndex(0), template = `${kind}:${nameOf(context)}`) {
  const headers = client?.handshake?.headers ?? client?.upgradeReq?.headers ?? {};
  const asked = {
    args: [client, context],
    where: `route ${template}`,
    method: '',
    template,
    peer: client?.handshake?.address ?? client?._socket?.remoteAddress,
    lines: (name) => headers[name],
    header: (name) => headers[name],
    params: {},
  };
  return { asked, request: client, setHeader() {}, denied: kind === 'ws' ? asWebSocketError : (error) => error };
}

function nameOf(context) {
  const handler = context.getHandler();
  const name = NAMES.get(handler) ?? methodOf(context.getClass().prototype, handler) ?? handler.name;
  NAMES.set(handler, name);
  return `${context.getClass().name}.${name}`;
}

/** The name of the method that is this function. A decorator may have put one without a name around it, as those of streams do. */
function methodOf(prototype, handler) {
  for (let place = prototype; place && place !== Object.prototype; place = Object.getPrototypeOf(place)) {
    const found = Object.getOwnPropertyNames(place).find((name) => Object.getOwnPropertyDescriptor(place, name)?.value === handler);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of what gateways answer with, when there are any. */
function asWebSocketError(error) {
  const { WsException } = require('@nestjs/websockets');
  return new WsException(error.getResponse());
}

module.exports = { contextOf };
