"""A headless Chromium that tests control through its DevTools protocol, over a pipe. Only the browser must be installed."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """Path of the browser: GPUEXP_CHROMIUM, or the first of NAMES in PATH; None if there is none."""
    return os.environ.get("GPUEXP_CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser process, which opens pages one after another. `events` holds the protocol's events of the open page."""

    def __init__(self, path):
        # Its processes may still write to their profile after the request to end.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def with_pipes():  # DevTools uses descriptors 3 and 4
            saved = os.dup(answers)
            os.dup2(commands, 3)
            os.dup2(saved, 4)
            for descriptor in (3, 4):
                os.set_inheritable(descriptor, True)  # dup2 does not change an equal descriptor

        # Chromium's sandbox does not work as root; the pages are trusted.
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                   f"--user-data-dir={self.folder.name}", "--no-first-run", "--disable-background-networking"]  # fmt: skip
        self.process = subprocess.Popen([path, *options], preexec_fn=with_pipes, close_fds=False, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(commands)
        os.close(answers)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None

    def read_message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout_s=180, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout_s
        while True:
            answer = self.read_message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer.get("result", {})
            self.events.append(answer)

    def open(self, path, width=1280, height=900, dark=False, script=True, anchor=""):
        """Loads the file in a new page and waits until it has loaded; `anchor` is "" or starts with "#"."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri() + anchor)
        deadline = time.monotonic() + 180  # the machine may be busy
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read_message(deadline))

    def evaluate(self, expression):
        """Value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression, timeout_s=20):
        """Waits until the expression is true in the page."""
        deadline = time.monotonic() + timeout_s
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not true after {timeout_s} s: {expression}")
            time.sleep(0.05)

    def screenshot(self, path, whole=False):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # ends the browser's process group
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()
