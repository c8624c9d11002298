"""Programs, screen and folders of one test."""

import glob
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from contextlib import closing

from bus import Session

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
PROFILE = os.environ.get("LOOPKEEPER_TEST_PROFILE", "debug")
#: Where the programs are: what was built here, or what is installed.
PROGRAMS = os.environ.get("LOOPKEEPER_TEST_PROGRAMS", os.path.join(TARGET, PROFILE))
DESKTOP = os.path.join(PROGRAMS, "loopkeeper-desktop")
PROGRAM = os.path.join(PROGRAMS, "loopkeeper")
#: Where pictures and menus are put for a person to look at; nowhere when it is not set.
PICTURES = os.environ.get("LOOPKEEPER_TEST_PICTURES")


class Screen:
    """A screen in memory, with a window manager on it."""

    def __init__(self, *arguments):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp", *arguments],
            pass_fds=[write], stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as file:
            self.name = ":" + file.readline().strip()
        self.manager = subprocess.Popen(
            ["openbox"], env=self.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def environment(self):
        return {**os.environ, "DISPLAY": self.name}

    def told(self, *command):
        told = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        return told.stdout.split()

    def windows(self, title="^Loopkeeper$"):
        """Returns the windows of that title that can be seen."""
        return self.told("xdotool", "search", "--onlyvisible", "--name", title)

    def in_front(self):
        """Returns the window that has the input focus."""
        return next(iter(self.told("xdotool", "getactivewindow")), None)

    def close_window(self):
        """Asks the window to close, as its frame's button does."""
        for window in self.windows():
            subprocess.run(["wmctrl", "-i", "-c", hex(int(window))], env=self.environment(), check=True)

    def key(self, window, key):
        subprocess.run(["xdotool", "windowactivate", "--sync", window, "key", key],
                       env=self.environment(), check=True, stdout=subprocess.DEVNULL)

    def picture(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            subprocess.run(["import", "-window", "root", os.path.join(PICTURES, name + ".png")],
                           env=self.environment(), check=True)

    def end(self):
        for process in (self.manager, self.server):
            process.terminate()
            process.wait()


class World:
    """Home, data, settings and one project, and the processes that work on them."""

    def __init__(self, screen, host=True, settings=""):
        self.screen = screen
        self.folder = tempfile.mkdtemp(prefix="loopkeeper-desktop-test-")
        for name in ("home", "data", "runtime", "alpha/.agents/loops"):
            os.makedirs(os.path.join(self.folder, name))
        os.chmod(self.path("runtime"), 0o700)
        self.session = Session(self.folder, host)
        self.processes = []
        with open(self.path("settings.toml"), "w") as file:
            file.write(settings)
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
            "LOOPKEEPER_LOG": os.environ.get("LOOPKEEPER_TEST_LOG", "warn,zbus=error"),
        })
        environment.update((session or self.session).environment())
        return environment

    def loop(self, name, model="demo/echo", schedule="0 9 * * *", enabled=True, more="", title=None,
             root=None, prompt="Say hello."):
        path = os.path.join(root or self.path("alpha"), ".agents", "loops", name + ".md")
        text = (
            f"---\nname: {title or name}\nschedule: \"{schedule}\"  # the time\n"
            f"enabled: {str(enabled).lower()} # a note\nmodel: {model}\n{more}---\n{prompt}\n"
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

    def runs(self, name=None, limit=100):
        """Returns the ledger's rows, the newest first."""
        told = json.loads(self.run("runs", "--json", "--limit", str(limit)))
        rows = told if isinstance(told, list) else told["runs"]
        return [row for row in rows if name in (None, row["taskName"])]

    def start(self, *arguments, session=None, program=DESKTOP, environment=None, log=None):
        told = {**self.environment(session), **(environment or {})}
        if log:
            told["LOOPKEEPER_LOG"] = log
        errors = None
        if log:
            errors = open(self.path(f"errors-{len(self.processes)}.txt"), "w")
        process = subprocess.Popen([program, *arguments], env=told, cwd=self.path("home"), stderr=errors)
        process.errors = errors
        self.processes.append(process)
        return process

    def said(self, process):
        """Returns what a process has logged that was started with `log`."""
        with open(process.errors.name) as file:
            return file.read()

    def ended(self, process):
        """Asks a process to end, and waits for it."""
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def until_known(self, word):
        """Waits until a program has read a change of a loop file, and told the others."""
        def known():
            with open(self.shared_files()[0]) as file:
                return word in file.read()
        self.session.until(f"{word} in the shared file", known)

    def days_pass(self, days):
        """Makes everything that was noted `days` older; no program may run."""
        older = days * 86_400_000
        for path in self.shared_files():
            with open(path) as file:
                shared = json.load(file)
            for task in shared["scheduledTasks"]:
                for key, value in task["state"].items():
                    if key.endswith("At"):
                        task["state"][key] = value - older
            with open(path, "w") as file:
                json.dump(shared, file)
        with closing(sqlite3.connect(self.ledger())) as ledger, ledger:
            ledger.execute("UPDATE account SET accounted_to = accounted_to - ?", (older,))

    def ledger(self):
        return self.path("data", "loopkeeper", "ledger.db")

    def runs_by_process(self):
        """Returns how many runs each process held."""
        with closing(sqlite3.connect(self.ledger())) as ledger:
            counts = ledger.execute("SELECT count(*) FROM run WHERE holder IS NOT NULL GROUP BY holder")
            return [count for count, in counts]

    def shared_files(self):
        return glob.glob(self.path("data", "projects", "*.json"))

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                self.ended(process)
            if process.errors:
                process.errors.close()
        self.session.end()
        shutil.rmtree(self.folder, ignore_errors=True)
