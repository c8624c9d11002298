"""What the tests of the desktop have in common: a screen for each class, a world for each test, and
looks at the program's processes."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from driver import Driver
from world import DESKTOP, PICTURES, Screen, World


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.screen = Screen()
        cls.addClassCleanup(cls.screen.end)

    def world(self, **more):
        world = World(self.screen, **more)
        self.addCleanup(world.end)
        return world

    def window(self, world, *arguments, opens=None):
        """Starts the program under a WebDriver, which sees its window from within. The driver waits
        for the first window; `opens` is what opens it."""
        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(Driver, DESKTOP, list(arguments), world.environment())
            if opens:
                opens()
            driver = begun.result()
        self.addCleanup(driver.end)
        return driver

    def keep(self, name, text):
        """Leaves a text for a person to look at."""
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            with open(os.path.join(PICTURES, name), "w") as file:
                file.write(text + "\n")


def text(path):
    with open(path) as file:
        return file.read()


def replace(path, old, new):
    """Changes a file as an editor does: the new one takes the old one's place."""
    before = text(path)
    assert old in before, f"{old!r} is not in {path}"
    with open(path + ".new", "w") as file:
        file.write(before.replace(old, new))
    os.replace(path + ".new", path)


def closed(pipe):
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                stat = file.read()
        except OSError:
            continue
        if int(stat[stat.rindex(")") + 2:].split()[1]) == pid:
            found.append(int(entry))
    return found


def named(pid, name):
    """Returns the children whose name begins so."""
    found = []
    for child in children(pid):
        try:
            with open(f"/proc/{child}/comm") as file:
                told = file.read().strip()
        except OSError:
            continue
        if told.startswith(name):
            found.append(child)
    return found


def web_processes(pid):
    """Returns the processes of the program that show a page."""
    return named(pid, "WebKitWebProces")
