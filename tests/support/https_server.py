#!/usr/bin/env python3
"""Serves a directory over HTTPS on a port of its own choice, well or badly.

usage: https_server.py DIRECTORY CERTIFICATE KEY PORT_FILE

DIRECTORY/behaviour.json, read at each request, says how a path is served: {"/stable/x": "truncated"}. Ends with the
process that started it.
"""

import gzip
import http.server
import json
import os
import pathlib
import signal
import ssl
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root = pathlib.Path()
    log = None

    def log_message(self, *_):
        pass

    def send(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def do_GET(self):
        try:
            behaviour = json.loads((self.root / "behaviour.json").read_text()).get(self.path, "good")
        except FileNotFoundError:
            behaviour = "good"
        with open(self.root / "requests.log", "a", encoding="utf-8") as log:
            log.write(self.path + "\n")
        file = self.root / self.path.lstrip("/")
        body = file.read_bytes() if file.is_file() else None
        if behaviour.startswith("redirect "):
            return self.send(302, {"Location": behaviour.split(" ", 1)[1], "Content-Length": "0"})
        if behaviour == "headers":
            return self.send(200, {f"X-{i}": "x" * 1000 for i in range(200)}, b"")
        if behaviour == "endless":
            self.send(200, {}, b"")
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return None
        if body is None:
            return self.send(404, {"Content-Length": "5"}, b"none\n")
        if behaviour == "forbidden":
            return self.send(403, {"Content-Length": str(len(body))}, body)
        if behaviour == "truncated":
            return self.send(200, {"Content-Length": str(len(body))}, body[: len(body) // 2])
        if behaviour == "longer":
            return self.send(200, {"Content-Length": str(len(body) + 7)}, body + b"appende")
        if behaviour == "shorter":
            return self.send(200, {"Content-Length": str(len(body) - 7)}, body[:-7])
        if behaviour == "slow":
            self.send(200, {"Content-Length": str(len(body))}, b"")
            for byte in body:
                try:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                except OSError:
                    return None
                time.sleep(0.2)
            return None
        if behaviour == "gzip":
            packed = gzip.compress(b"\0" * (64 << 20))
            return self.send(200, {"Content-Encoding": "gzip", "Content-Length": str(len(packed))}, packed)
        date = "Tue, 01 Sep 2026 10:00:00 GMT"
        return self.send(200, {"Content-Length": str(len(body)), "Last-Modified": date}, body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that refuses the certificate is no news."""


def main():
    directory, certificate, key, port_file = sys.argv[1:]
    signal.alarm(300)
    Handler.root = pathlib.Path(directory)
    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    partial = port_file + ".new"
    pathlib.Path(partial).write_text(str(server.server_address[1]))
    os.rename(partial, port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
