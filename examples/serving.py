"""A saved model behind HTTP, with the standard library alone.

    python examples/serving.py MODEL.joblib

prints its address. POST a JSON list of rows, get a JSON list of predictions; input that
the model refuses is answered by status 400 and the model's own message.
"""

import json
import os
import re
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import joblib
import numpy as np


def megabytes():
    "The largest memory of this process so far; not that of the one that started it."
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Handler(BaseHTTPRequestHandler):
    model = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            found, status = np.asarray(self.model.predict(json.loads(body))), 200
            found = {"predictions": found.tolist(), "megabytes": megabytes()}
        except (TypeError, ValueError) as error:
            found, status = {"error": str(error)}, 400
        answer = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        "Say nothing."


@contextmanager
def served(path):
    "A function that asks a server in another process; it ends with the block."
    command = [sys.executable, __file__, str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()

        def ask(rows):
            try:
                with urlopen(address, json.dumps(rows).encode()) as answer:
                    return json.load(answer)
            except HTTPError as error:
                return json.load(error)

        yield ask
    finally:
        server.terminate()
        server.wait()


def save_and_serve(model, queries, path):
    "Save a model, ask a server for predictions, and print what it takes."
    start = time.perf_counter()
    joblib.dump(model, path)
    saved = time.perf_counter() - start
    start = time.perf_counter()
    expected = np.asarray(model.predict(queries)).tolist()
    here = time.perf_counter() - start
    rows = queries.tolist()
    start = time.perf_counter()
    with served(path) as ask:
        first = ask(rows[:1])
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        answer = ask(rows)
        asked = time.perf_counter() - start
        refused = ask([[None]])
    assert answer["predictions"] == expected and first["predictions"] == expected[:1]
    assert "error" in refused
    print(f"saved:       {os.path.getsize(path) / 1e6:.1f} MB in {saved:.2f} s")
    print(f"here:        {len(rows)} predictions in {here:.3f} s")
    print(f"served:      the first in {loaded:.2f} s, {len(rows)} in {asked:.3f} s")
    print(f"memory:      {megabytes():.0f} MB here, {answer['megabytes']:.0f} MB there")
    print("the same predictions from another process")


if __name__ == "__main__":
    Handler.model = joblib.load(sys.argv[1])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        print(f"http://127.0.0.1:{http.server_port}", flush=True)
        http.serve_forever()
