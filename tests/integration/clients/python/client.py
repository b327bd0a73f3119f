"""Lists and calls tools with the official Python client and prints what it saw as one line of JSON.

Usage: client.py URL MODE, with a script {"calls": [{"tool", "arguments", "progress", "pauseSeconds"}], "consent",
"signIn"} on X
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from person import provider


async def call(client, step):
    seen = {"tool": step["tool"], "progress": []}

    async def on_progress(progress, total, message):
        seen["progress"].append({"progress": progress, "total": total or 0, "message": message or ""})

    try:
        result = await client.call_tool(
            step["tool"],
            step.get("arguments") or {},
            progress_callback=on_progress if step.get("progress") else None,
        )
        seen["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    except MCPError as error:
        seen["error"] = str(error)
    return seen


async def consent(context, params):
    return ElicitResult(action="accept", content={"confirm": True})


async def list_tools(client):
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def play(client, calls):
    tools, seen = await list_tools(client), []
    # One after the other, so that what is seen belongs to one call.
    for step in calls:
        await asyncio.sleep(step.get("pauseSeconds", 0))
        seen.append(await call(client, step))
    return {
        "protocolVersion": client.protocol_version,
        "server": client.server_info.name if client.server_info else "",
        "tools": tools,
        "calls": seen,
    }


async def main(url, mode):
    script = json.load(sys.stdin)
    options = {"mode": mode, "elicitation_callback": consent if script.get("consent") else None}
    async with provider(url, script.get("signIn")) as auth:
        if auth is None:
            async with Client(url, **options) as client:
                report = await play(client, script["calls"])
        else:
            async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
                async with Client(streamable_http_client(url, http_client=http), **options) as client:
                    report = await play(client, script["calls"])
    print(json.dumps(report))


asyncio.run(main(sys.argv[1], sys.argv[2]))
