"""As much of WebDriver as the tests of the window need: the real window, driven from outside."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CONTROL, END, ENTER = "\ue009", "\ue010", "\ue007"


class Driver:
    def __init__(self, program, arguments, environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.server = subprocess.Popen(
            ["WebKitWebDriver", f"--port={port}"],
            # The page's engine is driven only where the program was started for it.
            env={**environment, "TAURI_WEBVIEW_AUTOMATION": "true", "TAURI_AUTOMATION": "true"},
        )
        self.base = f"http://127.0.0.1:{port}"
        self.session = ""
        options = {"binary": program, "args": arguments}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        try:
            told = self.retried(lambda: self.call("POST", "/session", wanted))
            self.session = "/session/" + told["sessionId"]
        except BaseException:
            self.server.kill()
            self.server.wait()
            raise

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + self.session + path, data, method=method,
                                         headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise LookupError(json.load(error)["value"]["message"]) from None

    def retried(self, what):
        """Until the driver listens."""
        for _ in range(100):
            try:
                return what()
            except urllib.error.URLError:
                time.sleep(0.1)
        return what()

    def script(self, text, *arguments):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def end(self):
        try:
            self.call("DELETE", "")
        except (OSError, LookupError):
            pass
        self.server.terminate()
        self.server.wait()
