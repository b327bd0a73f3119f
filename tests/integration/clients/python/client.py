"""Lists and calls tools with the official Python client and prints what it saw as one line of JSON.

Usage: client.py URL MODE, with a script {"calls": [{"tool", "arguments", "progress"}]} on standard input. MODE is the
client's own: auto, legacy or a protocol version.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError


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


async def list_tools(client):
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def main(url, mode):
    script = json.load(sys.stdin)
    async with Client(url, mode=mode) as client:
        report = {
            "protocolVersion": client.protocol_version,
            "tools": await list_tools(client),
            # One after the other, so that what is seen belongs to one call.
            "calls": [await call(client, step) for step in script["calls"]],
        }
        report["server"] = client.server_info.name if client.server_info else ""
    print(json.dumps(report))


asyncio.run(main(sys.argv[1], sys.argv[2]))
