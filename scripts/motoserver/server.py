# Runs moto's server: python -c <this text>.
# Prints {"url": "http://..."} once it listens, and ends on SIGTERM or when standard input ends, which is when its parent
# has gone, however it went.
import json
import os
import signal
import sys
import threading

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

# Ctrl-C reaches every process of the terminal's group, and the parent may still have something to ask.
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


class Serial:
    """One request to DynamoDB at a time.

    moto checks the condition of a write and writes in two steps, and nothing keeps another thread from coming between
    them. DynamoDB's conditional writes are atomic, and what they decide is what the tests are about. Other services
    are served in parallel, since moto's CloudFormation asks moto itself while it answers.
    """

    def __init__(self, app):
        self.app = app
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB_"):
            return self.app(environ, start_response)
        with self.lock:
            return list(self.app(environ, start_response))


app = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, Serial(app), threaded=True, request_handler=MotoRequestHandler)
os.environ["MOTO_PORT"] = str(server.port)  # moto's own requests to itself go there
threading.Thread(target=end_with_parent, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{server.port}"}), flush=True)
server.serve_forever()
