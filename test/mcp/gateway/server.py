"""An MCP server (Streamable HTTP) of Python's standard library, which knows nothing of tokens.

Prints its port, and then each request that it receives, as JSON. The line `end a call` on its standard input
lets one running call end. Any other line is answered by one line, after the requests before it. The end of
its standard input ends it.
"""

import json
import os
import select
import socket
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("search", "run_agent", "delete_all")]
SESSIONS = set()
MAY_END = threading.Semaphore(0)
PRINTING = threading.Lock()


def report(**fields):
    with PRINTING:
        print(json.dumps(fields), flush=True)


def text(value):
    return {"content": [{"type": "text", "text": value}]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def receive(self, body=None):
        """Reports the request. Answers 404 and returns False if its session is unknown."""
        headers = self.headers.items()
        report(received={"method": self.command, "path": self.path, "headers": headers, "body": body})
        session = self.headers["Mcp-Session-Id"]
        if session is None or session in SESSIONS:
            return True
        self.answer(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Unknown"}})
        return False

    def answer(self, status, value=None, headers=()):
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, content in (("Content-Type", "application/json"), ("Content-Length", len(data)), *headers):
            self.send_header(name, str(content))
        self.end_headers()
        self.wfile.write(data)

    def start_stream(self):
        self.send_response(200)
        for name, content in (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")):
            self.send_header(name, content)
        self.end_headers()

    def send_chunk(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def send_event(self, message):
        self.send_chunk(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())

    def has_left(self):
        """Reports once the client has closed the connection."""
        try:
            has_left = select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            has_left = True
        if has_left:
            self.close_connection = True
            report(left=self.command)
        return has_left

    def may_end(self):
        """Waits until the call may end. Returns False if the client leaves first."""
        while not MAY_END.acquire(timeout=0.01):
            if self.has_left():
                return False
        return True

    def run_agent(self, message):
        params = message["params"]
        agent = params["arguments"]["agent_id"]
        result = {"id": message["id"], "result": text("ran for " + str(self.headers["X-Principal-User"]))}
        if agent == "silent" and not self.may_end():
            return
        self.start_stream()
        if agent == "broken":
            self.wfile.write(b"this is not the length of a chunk\r\n")
            self.close_connection = True
            return
        progress = {"progressToken": params.get("_meta", {}).get("progressToken", 0), "progress": 1, "total": 2}
        self.send_event({"method": "notifications/progress", "params": progress})
        if self.may_end():
            self.send_event(result)
            self.send_chunk(b"")

    def result_of(self, message):
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "python", "version": "1.0.0"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        return {"tools": TOOLS} if message["method"] == "tools/list" else text("found")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.receive(body):
            return
        if isinstance(body, list):
            self.answer(200, [{"jsonrpc": "2.0", "id": m["id"], "result": self.result_of(m)} for m in body])
        elif "id" not in body:
            self.answer(202)
        elif body.get("params", {}).get("name") == "run_agent":
            self.run_agent(body)
        else:
            headers = []
            if body["method"] == "initialize":
                session = uuid.uuid4().hex
                SESSIONS.add(session)
                headers.append(("Mcp-Session-Id", session))
            self.answer(200, {"jsonrpc": "2.0", "id": body["id"], "result": self.result_of(body)}, headers)

    def do_GET(self):
        if self.receive():
            self.start_stream()
            while not self.has_left():
                time.sleep(0.01)

    def do_DELETE(self):
        if self.receive():
            SESSIONS.discard(self.headers["Mcp-Session-Id"])
            self.answer(204)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
report(port=server.server_port)
for line in sys.stdin:
    if line == "end a call\n":
        MAY_END.release()
    else:
        report(synced=True)
os._exit(0)
