"""JupyterLab in a browser, for tests: how do the notebooks of the class edition look?

`serving` starts JupyterLab on a folder, as ``make lab`` does, and `opened` opens one of
its notebooks in Chromium, with all cells drawn.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from .project import ROOT

PATIENCE = 240  # seconds
TRACKER = "@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
NEWS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"

# Of each cell: its text, without code and formulas, and what MathJax could not read.
CELLS = """() => [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(cell => {
  const text = cell.querySelector(".jp-MarkdownOutput") ?? cell;
  const wrong = text.querySelectorAll("mjx-merror, merror, [data-mjx-error]");
  const copy = text.cloneNode(true);
  copy.querySelectorAll("pre, code, mjx-container, script, style").forEach(e =>
    e.remove());
  return {
    markdown: text !== cell,
    empty: !text.textContent.trim(),
    words: copy.textContent,
    wrong: [...wrong].map(e => e.getAttribute("data-mjx-error") ?? e.textContent),
  };
})"""
# The language of the sources: roles, fences, labels, formulas that were not set.
RAW = re.compile(
    r"\{[\w:.-]+\}`|`{3,}|:{3,}|^\([\w-]+\)=|\$\$|\$[^$\s][^$\n]{0,60}\$|@@\d+@@"
    r"|\\(?:begin|frac|sum|mathcal|norm|inner|HH|RR)\b",
    re.M,
)


def faults(tab, patience=60):
    """What is wrong with the notebook in a tab: empty cells, raw or unreadable text.
    A slow machine draws cells late: what is wrong must stay so for some seconds."""
    start, found = time.monotonic(), look(tab)
    while found and time.monotonic() - start < patience:
        tab.wait_for_timeout(1000)
        found = look(tab)
    return found


def look(tab):
    "What seems to be wrong with the notebook at the moment."
    out = []
    for n, cell in enumerate(tab.evaluate(CELLS)):
        found = ["empty"] * cell["empty"] + [f"formula: {w}" for w in cell["wrong"]]
        if cell["markdown"]:
            found += [f"raw: {m[0]}" for m in RAW.finditer(cell["words"])]
        out += [f"cell {n}: {said}" for said in found]
    return out


@contextmanager
def serving(folder):
    "The address of a JupyterLab that shows a folder; it ends with the block."
    with tempfile.TemporaryDirectory() as home:
        for name, text in (
            (TRACKER, {"windowingMode": "none"}),
            (NEWS, {"fetchNews": "false", "checkForUpdates": False}),
        ):
            path = Path(home, "settings", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(text), encoding="utf8")
        environment = os.environ | {
            "JUPYTER_CONFIG_PATH": str(ROOT / "book" / "lab"),
            "JUPYTERLAB_SETTINGS_DIR": f"{home}/settings",
            "JUPYTERLAB_WORKSPACES_DIR": f"{home}/workspaces",
            "JUPYTER_RUNTIME_DIR": f"{home}/runtime",
            "JUPYTER_CONFIG_DIR": f"{home}/config",
            "JUPYTER_DATA_DIR": f"{home}/data",
        }
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        command += ["--ServerApp.port=0", "--ServerApp.ip=127.0.0.1"]
        command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
        command += ["--LabApp.extension_manager=readonly"]
        kernels = "--MappingKernelManager.cull"  # each notebook starts one
        command += [f"{kernels}_idle_timeout=30", f"{kernels}_interval=10"]
        command += [f"{kernels}_connected=True"]
        said = open(f"{home}/said", "w+", encoding="utf8")
        server = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
        try:
            yield address(server, Path(said.name))
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:  # there are many kernels to shut down
                server.kill()
            said.close()


def address(server, log):
    "Where a server that has just been started listens."
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE and server.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/", log.read_text("utf8")):
            return found[0]
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text('utf8')[-2000:]}")


def open_notebook(tab, place, name):
    "Open a notebook, and wait until its cells are drawn and its formulas are set."
    tab.goto(f"{place}doc/tree/{name}?reset", wait_until="load")
    tab.wait_for_selector(".jp-Notebook .jp-MarkdownOutput", timeout=PATIENCE * 1000)
    content = tab.request.get(f"{place}api/contents/{name}").json()["content"]
    tab.wait_for_function(
        "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length >= n"
        " && !document.querySelector('.jp-Cell.jp-mod-placeholder')",
        arg=len(content["cells"]),
        timeout=PATIENCE * 1000,
    )
    tab.wait_for_function(
        """() => {
          const now = document.querySelectorAll("mjx-container").length;
          const same = now === window.formulas;
          window.formulas = now;
          return same;
        }""",
        polling=700,
        timeout=PATIENCE * 1000,
    )
