"""What the Python client leaves to an application that signs a person in: a loopback address for the authorization
response, and the memory of tokens and registration. Everything else is the SDK's own.
"""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

CALLBACK_PATH = "/callback"


class Memory:
    """The SDK's TokenStorage."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def answer(reader, writer, responses):
    """Takes one request of the person's browser."""
    target = (await reader.readline()).split()[1].decode()
    while (await reader.readline()).strip():
        pass
    parts = urlsplit(target)
    found = parts.path == CALLBACK_PATH
    status, body = ("200 OK", b"You can close this page.\n") if found else ("404 Not Found", b"")
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()
    if found:
        responses.put_nowait({name: values[0] for name, values in parse_qs(parts.query).items()})


async def ask_person(url):
    """Asks the person by a line on standard output to open a URL."""
    print(json.dumps({"visit": url}), flush=True)


@asynccontextmanager
async def person(url, port):
    """A provider whose person is asked to open authorization URLs."""
    responses = asyncio.Queue()
    server = await asyncio.start_server(lambda r, w: answer(r, w, responses), "127.0.0.1", port)
    port = server.sockets[0].getsockname()[1]

    async def response():
        params = await responses.get()
        if "error" in params:
            raise RuntimeError(f"the authorization server says {params['error']}: {params.get('error_description')}")
        return AuthorizationCodeResult(code=params["code"], state=params.get("state"), iss=params.get("iss"))

    async with server:
        yield OAuthClientProvider(
            url,
            OAuthClientMetadata(
                client_name="patchbay-tests",
                redirect_uris=[f"http://127.0.0.1:{port}{CALLBACK_PATH}"],
                token_endpoint_auth_method="none",
            ),
            Memory(),
            redirect_handler=ask_person,
            callback_handler=response,
        )


@asynccontextmanager
async def provider(url, sign_in):
    """The SDK's httpx authentication for a script's signIn; None where there is none."""
    if sign_in is None:
        yield None
    elif sign_in.get("clientId"):
        yield ClientCredentialsOAuthProvider(
            url, Memory(), sign_in["clientId"], sign_in["clientSecret"], scope=sign_in.get("scope")
        )
    else:
        async with person(url, sign_in.get("callbackPort", 0)) as found:
            yield found
