"""The two front ends, served on loopback and driven in Chromium."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import parakit

CHROMIUM = os.environ.get("PARAKIT_CHROMIUM", "/usr/bin/chromium")
CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Python of a virtual environment with Colab's versions and Notebook 6.5.7; .ci/run makes it.
COLAB_PYTHON = os.environ.get("PARAKIT_COLAB_PYTHON", "")

# What the front ends themselves print without any notebook of ours.
_NOT_OURS = (
    "favicon",
    "Failed to load resource",
    "ResizeObserver loop",
    "net::ERR_",
    "service worker",
    "ServiceWorker",
    "Access to font at 'about:blank'",  # Notebook 6's own style sheet
)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def served(command: list[str], port: int, token: str, folder: Path) -> Iterator[str]:
    """Run a server as a process of its own until the block ends; gives its address."""
    address = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(folder / ".runtime"),
        "IPYTHONDIR": str(folder / ".ipython"),
    }
    environment["JUPYTER_CONFIG_PATH"] = str(
        Path(parakit.__file__).parent / "lab_config"
    )  # as `parakit lab` does
    # Kernels of this front end must come from its own environment.
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment['PATH']}"
    with open(folder / ".server.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            end = time.monotonic() + 90
            while True:
                try:
                    with urllib.request.urlopen(f"{address}/api/status?token={token}", timeout=5):
                        break
                except (urllib.error.URLError, OSError) as error:
                    if server.poll() is not None or time.monotonic() > end:
                        said = (folder / ".server.log").read_text()[-3000:]
                        raise RuntimeError(f"the server did not start: {said}") from error
                    time.sleep(0.3)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


@dataclass
class FrontEnd:
    """One front end with an open notebook."""

    name: str
    page: object
    errors: list[str] = field(default_factory=list)

    def run_all(self) -> None:
        """Run every cell and wait for the last."""
        if self.name == "lab":
            self.page.evaluate(
                """async () => {
                    const commands = window.jupyterapp.commands;
                    await commands.execute('notebook:clear-all-cell-outputs');  // numbers of the saved run too
                    commands.execute('notebook:run-all-cells');
                }"""
            )
            self.page.wait_for_function(
                """() => {
                    const widget = window.jupyterapp.shell.currentWidget;
                    const cells = [...widget.content.model.cells].filter(c => c.type === 'code');
                    return cells.every(c => c.executionCount) &&
                        widget.sessionContext.session.kernel.status === 'idle';
                }""",
                timeout=120_000,
            )
        else:
            self.page.evaluate("Jupyter.notebook.clear_all_output(); Jupyter.notebook.execute_all_cells()")
            self.page.wait_for_function(
                """() => Jupyter.notebook.get_cells().filter(c => c.cell_type === 'code')
                    .every(c => /^[0-9]+$/.test(c.input_prompt_number))""",
                timeout=120_000,
            )

    def show_code_cell(self, text: str) -> None:
        """Bring the code cell that contains `text` into view, its output drawn."""
        if self.name == "lab":
            self.page.evaluate(
                """async text => {
                    const notebook = window.jupyterapp.shell.currentWidget.content;
                    const at = [...notebook.model.cells].findIndex(
                        c => c.type === 'code' && c.sharedModel.source.includes(text));
                    notebook.activeCellIndex = at;
                    await notebook.scrollToItem(at, 'start');
                }""",
                text,
            )
        else:
            self.page.evaluate(
                """text => {
                    const cell = Jupyter.notebook.get_cells().find(
                        c => c.cell_type === 'code' && c.get_text().includes(text));
                    cell.element[0].scrollIntoView({block: 'start'});
                }""",
                text,
            )
        self.page.wait_for_timeout(500)


@contextmanager
def opened(
    name: str,
    browser: object,
    folder: Path,
    notebook: str,
    *,
    theme: str = "light",
    width: int = 1280,
    height: int = 900,
) -> Iterator[FrontEnd]:
    """Serve `folder`, open a notebook of it in a front end, and wait until its kernel is idle."""
    port, token = free_port(), secrets.token_hex(16)
    if name == "lab":
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--no-browser",
            "--allow-root",
            f"--IdentityProvider.token={token}",
            "--LabApp.expose_app_in_browser=True",
            f"--LabApp.user_settings_dir={folder / '.settings'}",
            f"--LabApp.workspaces_dir={folder / '.workspaces'}",
        ]
        if theme == "dark":
            themes = folder / ".settings" / "@jupyterlab" / "apputils-extension"
            themes.mkdir(parents=True)
            (themes / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')
        path = f"/lab/tree/{notebook}?token={token}"
    else:
        command = [
            COLAB_PYTHON,
            "-m",
            "notebook",
            "--ip=127.0.0.1",
            f"--port={port}",
            "--no-browser",
            "--allow-root",
            f"--NotebookApp.token={token}",
        ]
        path = f"/notebooks/{notebook}?token={token}"
    with served(command, port, token, folder) as address:
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        page.set_default_timeout(20_000)
        front = FrontEnd(name=name, page=page)

        def note(message: object) -> None:
            if message.type == "error" and not any(word in message.text for word in _NOT_OURS):
                front.errors.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: front.errors.append(str(error)))
        page.goto(address + path)
        if name == "lab":
            page.wait_for_function(
                """() => window.jupyterapp && window.jupyterapp.shell.currentWidget &&
                    window.jupyterapp.shell.currentWidget.sessionContext &&
                    window.jupyterapp.shell.currentWidget.sessionContext.session &&
                    window.jupyterapp.shell.currentWidget.sessionContext.session.kernel &&
                    window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'""",
                timeout=90_000,
            )
        else:
            page.wait_for_function(
                "() => window.Jupyter && Jupyter.notebook && Jupyter.notebook.kernel && Jupyter.notebook.kernel.is_connected() && Jupyter.notebook.kernel.info_reply.status",
                timeout=90_000,
            )
        try:
            yield front
        finally:
            context.close()


def copy_lessons(folder: Path) -> None:
    """The committed lessons, to be run where nothing of the checkout is written over."""
    for lesson in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"):
        shutil.copy(lesson, folder)
