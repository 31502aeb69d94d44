'use strict';

// What Nest tells of a request, whatever carries it.

const { callOf, errorOf, isCall } = require('./nest-grpc.js');
const { routeRequest } = require('./node.js');

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
  const known = { args: [request, context], template: String(template), params: request.params ?? {} };
  return {
    asked: routeRequest(raw, known),
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
  const [, metadata, call] = context.getArgs();
  const isOfGrpc = isCall(metadata, call);
  const denied = (error, ruling) => asRpcException(error, isOfGrpc ? errorOf(metadata, ruling) : error.getResponse());
  return { ...known, asked: isOfGrpc ? { ...known.asked, ...callOf(metadata, call) } : known.asked, denied };
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
  return `${context.getClass().name}.${context.getHandler().name}`;
}

/** Of what gateways answer with, when there are any. */
function asWebSocketError(error) {
  const { WsException } = require('@nestjs/websockets');
  return new WsException(error.getResponse());
}

module.exports = { contextOf };
