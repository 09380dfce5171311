# SPDX-License-Identifier: Apache-2.0
"""A browser driven over the WebDriver protocol (W3C) with nothing but the standard library: chromium and chromedriver."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Right": "\ue014", "Left": "\ue012", "End": "\ue010", "Shift": "\ue008"}


def found():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, width, height):
        self.port = free_port()
        self.driver = subprocess.Popen(["chromedriver", "--port=%d" % self.port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ""
        arguments = ["--headless=new", "--hide-scrollbars", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en", "--window-size=%d,%d" % (width, height)]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        options = {"binary": shutil.which("chromium"), "args": arguments}
        deadline = time.time() + 30
        while True:
            try:
                value = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                    "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
                break
            except (urllib.error.URLError, ConnectionError):
                if time.time() > deadline:
                    raise
                time.sleep(0.1)
        self.session = "/session/" + value["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        r = urllib.request.Request("http://127.0.0.1:%d%s%s" % (self.port, self.session, path), data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(r, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError("%s %s: %s" % (method, path, json.load(e)["value"]["message"].split("\n")[0])) from None

    def quit(self):
        try:
            if self.session:
                self.call("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait()

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def js(self, code, *args):
        """Runs the body of a function in the page; it may return a promise."""
        return self.call("POST", "/execute/sync", {"script": code, "args": list(args)})

    def wait(self, expression, seconds=20):
        deadline = time.time() + seconds
        while not self.js("return Boolean(%s)" % expression):
            if time.time() > deadline:
                raise AssertionError("did not become true in %d s: %s" % (seconds, expression))
            time.sleep(0.05)

    def element(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", "/element/%s/click" % self.element(selector), {})

    def type(self, selector, text):
        self.call("POST", "/element/%s/value" % self.element(selector), {"text": text})

    def key(self, name, held=None):
        """Presses a key where the focus is."""
        actions = [{"type": "keyDown", "value": KEYS[k]} for k in ([held] if held else []) + [name]]
        actions += [{"type": "keyUp", "value": KEYS[k]} for k in [name] + ([held] if held else [])]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def hover(self, selector):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "origin": {ELEMENT: self.element(selector)}, "x": 0, "y": 0}]}]})

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        """What prefers-color-scheme answers."""
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def shot(self, path):
        data = base64.b64decode(self.call("GET", "/screenshot"))
        with open(path, "wb") as f:
            f.write(data)
        return data

    def console(self):
        """Lines of the console since the last call."""
        return self.call("POST", "/se/log", {"type": "browser"})
