"""Programs, screen and folders of one test."""

import glob
import json
import os
import re
import signal
import shutil
import subprocess
import tempfile

from bus import Session

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
PROFILE = os.environ.get("LOOPKEEPER_TEST_PROFILE", "debug")
DESKTOP = os.path.join(TARGET, PROFILE, "loopkeeper-desktop")
PROGRAM = os.path.join(TARGET, PROFILE, "loopkeeper")
#: Where pictures and menus are put for a person to look at; nowhere when it is not set.
PICTURES = os.environ.get("LOOPKEEPER_TEST_PICTURES")


class Screen:
    """A screen in memory, with a window manager on it."""

    def __init__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
            pass_fds=[write], stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as file:
            self.name = ":" + file.readline().strip()
        self.manager = subprocess.Popen(
            ["openbox"], env={**os.environ, "DISPLAY": self.name},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def windows(self):
        """Returns the titles of the windows that can be seen."""
        told = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", "^Loopkeeper"],
            env={**os.environ, "DISPLAY": self.name}, capture_output=True, text=True,
        )
        return told.stdout.split()

    def close_window(self):
        for window in self.windows():
            subprocess.run(["wmctrl", "-i", "-c", hex(int(window))],
                           env={**os.environ, "DISPLAY": self.name}, check=True)

    def picture(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            subprocess.run(["import", "-window", "root", os.path.join(PICTURES, name + ".png")],
                           env={**os.environ, "DISPLAY": self.name}, check=True)

    def end(self):
        for process in (self.manager, self.server):
            process.terminate()
            process.wait()


class World:
    """Home, data, settings and one project, and the processes that work on them."""

    def __init__(self, screen, host=True):
        self.screen = screen
        self.folder = tempfile.mkdtemp(prefix="loopkeeper-desktop-test-")
        for name in ("home", "data", "runtime", "alpha/.agents/loops"):
            os.makedirs(os.path.join(self.folder, name))
        os.chmod(self.path("runtime"), 0o700)
        self.session = Session(self.folder, host)
        self.processes = []
        self.run("projects", "add", self.path("alpha"))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def environment(self, session=None):
        environment = {
            key: value for key, value in os.environ.items()
            if not re.match("OPENCODE|OPENCHAMBER|LOOPKEEPER|XDG|DBUS|WAYLAND|GTK", key)
        }
        environment.update({
            "HOME": self.path("home"), "XDG_RUNTIME_DIR": self.path("runtime"),
            "XDG_CONFIG_HOME": self.path("home", ".config"), "OPENCHAMBER_DATA_DIR": self.path("data"),
            "LOOPKEEPER_CONFIG": self.path("settings.toml"), "DISPLAY": self.screen.name,
            "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_AT_BRIDGE": "1",
            "LOOPKEEPER_LOG": os.environ.get("LOOPKEEPER_TEST_LOG", "warn"),
        })
        environment.update((session or self.session).environment())
        return environment

    def loop(self, name, model="demo/echo", schedule="0 9 * * *", enabled=True, more=""):
        path = self.path("alpha", ".agents", "loops", name + ".md")
        text = (
            f"---\nname: {name}\nschedule: \"{schedule}\"  # the time\n"
            f"enabled: {str(enabled).lower()} # a note\nmodel: {model}\n{more}---\nSay hello.\n"
        )
        with open(path, "w") as file:
            file.write(text)
        return path

    def run(self, *arguments):
        told = subprocess.run([PROGRAM, *arguments], env=self.environment(), cwd=self.path("alpha"),
                              capture_output=True, text=True, timeout=60)
        if told.returncode != 0:
            raise AssertionError(f"loopkeeper {arguments}: {told.returncode}\n{told.stdout}{told.stderr}")
        return told.stdout

    def runs(self, name=None):
        """Returns the ledger's rows, the newest first."""
        told = json.loads(self.run("runs", "--json"))
        rows = told if isinstance(told, list) else told["runs"]
        return [row for row in rows if name in (None, row["taskName"])]

    def start(self, *arguments, session=None, program=DESKTOP):
        process = subprocess.Popen([program, *arguments], env=self.environment(session),
                                   cwd=self.path("home"))
        self.processes.append(process)
        return process

    def shared_files(self):
        return glob.glob(self.path("data", "projects", "*.json"))

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.session.end()
        shutil.rmtree(self.folder, ignore_errors=True)
