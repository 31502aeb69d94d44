"""Messages of a WebSocket, batches of JSON-RPC and fields of GraphQL, charged one by one.

    pip install 'sluicegate[fastapi]' 'uvicorn[standard]' graphql-core
    uvicorn --app-dir examples/routes fastapi_batches:app
"""

import os
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, HTTPException, Request, WebSocket
from graphql import GraphQLError, parse

from sluicegate import AsyncRateLimiter
from sluicegate.fastapi import RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")
RULES = [{"rule_id": "messages", "rate": "2/hour"}]


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with AsyncRateLimiter.connect(URL, rules=RULES) as app.state.limiter:
        yield


app = FastAPI(title="shop", lifespan=lifespan)
limits = RouteLimits(lambda request: request.app.state.limiter)


# --8<-- [start:messages]
@app.websocket("/chat", dependencies=[Depends(limits("20/hour"))])
async def chat(socket: WebSocket, user: str):
    await socket.accept()
    async for text in socket.iter_text():
        decision = await app.state.limiter.check("messages", user)
        if decision:
            await socket.send_json({"said": text})
        else:
            await socket.send_json({"error": "too many messages", "retry_after": decision.retry_after})
# --8<-- [end:messages]


# --8<-- [start:batches]
async def calls_of(request: Request) -> int:
    """How many calls a batch of JSON-RPC holds."""
    body = await json_of(request)
    return max(1, len(body)) if isinstance(body, list) else 1


async def fields_of(request: Request) -> int:
    """How many fields the operations of a request of GraphQL ask for."""
    body = await json_of(request)
    queries = body if isinstance(body, list) else [body]
    try:
        documents = [parse(str(query["query"])) for query in queries]
    except (GraphQLError, KeyError, TypeError) as error:
        raise HTTPException(400, "not a request of GraphQL") from error
    asked = [part.selection_set for document in documents for part in document.definitions if hasattr(part, "selection_set")]
    return max(1, sum(len(fields.selections) for fields in asked))


async def json_of(request: Request):
    try:
        return await request.json()
    except ValueError as error:
        raise HTTPException(400, "not JSON") from error


@app.post("/rpc")
async def rpc(request: Request, decision=Depends(limits("5/hour", cost=calls_of))):
    return {"left": decision.remaining}  # And the answers to `await request.json()`.


@app.post("/graphql", dependencies=[Depends(limits("5/hour", cost=fields_of))])
async def graphql(request: Request):
    return {"data": {}}
# --8<-- [end:batches]
