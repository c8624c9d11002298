"""Measures memory and start: tray only, window shown, window closed again.

    LOOPKEEPER_TEST_PROFILE=release /usr/bin/python3 tests/desktop/measure.py [TASKS]

What other programs do at the time shows in the times: as root, `chrt -r 5` before it puts them aside.
PSS is the proportional set size of the program and of all processes that it started, in MB. "To
content" is the time from the click to the last change of the screen: the tasks are drawn, and
nothing more comes."""

import mmap
import os
import shutil
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from case import children, web_processes
from world import Screen, World

#: How long the screen stays as it is before what it shows counts as all.
STILL = 2.5
#: A change of fewer pixels is a pointer or a relative time, not content.
FEW = 1000


class Watched:
    """The screen's own memory: looking at it costs the program nothing."""

    def __init__(self, folder):
        with open(os.path.join(folder, "Xvfb_screen0"), "rb") as file:
            self.memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        header = struct.unpack(">25I", self.memory[:100])
        self.width, self.height, self.line, colours = header[4], header[5], header[12], header[19]
        self.start = header[0] + colours * 12

    def look(self):
        """Returns every second line of the screen."""
        begin, line = self.start, self.line
        return [self.memory[begin + y * line:begin + (y + 1) * line] for y in range(0, self.height, 2)]

    def settled(self, began):
        """Returns the seconds from `began` to the first and to the last change of the screen."""
        last, first, changed = self.look(), None, began
        while time.monotonic() - changed < STILL:
            time.sleep(0.004)
            now = self.look()
            if now == last:
                continue
            different = sum(
                sum(a[x:x + 4] != b[x:x + 4] for x in range(0, len(a), 16))
                for a, b in zip(last, now) if a != b
            ) * 8
            at, last = time.monotonic(), now
            if different >= FEW:
                changed, first = at, first or at
        return (first or changed) - began, changed - began


def family(pid):
    yield pid
    for child in children(pid):
        yield from family(child)


def pss(pid):
    """Returns {process name: MB}."""
    told = {}
    for member in family(pid):
        try:
            with open(f"/proc/{member}/smaps_rollup") as file:
                kilobytes = next(int(l.split()[1]) for l in file if l.startswith("Pss:"))
            with open(f"/proc/{member}/comm") as file:
                name = file.read().strip()
        except (OSError, StopIteration):
            continue
        told[name] = told.get(name, 0) + kilobytes / 1024
    return told


def mappings(pid, count=12):
    """Returns the largest of what the program itself holds: (name, MB of PSS)."""
    told, name = {}, ""
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                name = os.path.basename(words[5]) if len(words) > 5 else "[anonymous]"
            elif words[0] == "Pss:":
                told[name] = told.get(name, 0) + int(words[1]) / 1024
    return sorted(told.items(), key=lambda item: -item[1])[:count]


def settled(pid):
    """Waits until the figure stands still for three seconds, and returns it."""
    time.sleep(15)  # memory is given back a while after the start, and after a window
    last, same = pss(pid), 0
    for _ in range(60):
        time.sleep(1)
        now = pss(pid)
        same = same + 1 if abs(sum(now.values()) - sum(last.values())) < 0.3 else 0
        if same == 3:
            return now
        last = now
    return last


def say(what, pid):
    told = settled(pid)
    parts = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in sorted(told.items()))
    print(f"{what:<22} {sum(told.values()):6.0f} MB   ({parts})", flush=True)
    if os.environ.get("LOOPKEEPER_TEST_MAPPINGS"):
        print("    " + ", ".join(f"{name} {megabytes:.1f}" for name, megabytes in mappings(pid)), flush=True)


def milliseconds(began):
    return f"{(time.monotonic() - began) * 1000:6.0f} ms"


def main():
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    folder = tempfile.mkdtemp(prefix="loopkeeper-screen-")
    screen = Screen("-fbdir", folder)
    watched = Watched(folder)
    world = World(screen)
    try:
        if tasks > 100:
            world.run("projects", "remove", world.path("alpha"))
            for project in range(tasks // 100):
                root = world.path(f"project-{project}")
                os.makedirs(os.path.join(root, ".agents/loops"))
                for number in range(100):
                    world.loop(f"task-{number}", root=root, prompt="Say hello. " * 45)
                world.run("projects", "add", root)
        else:
            for number in range(tasks):
                world.loop(f"task-{number}")
        load = os.getloadavg()[0]
        print(f"{tasks} tasks; load {load:.1f} on {os.cpu_count()} cores")
        began = time.monotonic()
        process = world.start("--hidden")
        bus = world.session
        bus.until("the icon", lambda: bus.watcher.items, every=0.005)
        print(f"tray icon after        {milliseconds(began)}")
        bus.until("the tasks", lambda: bus.find("Tasks", "task-0"), 120)
        print(f"tasks in menu after    {milliseconds(began)} (drawn at most once a second)")
        say("tray only", process.pid)
        for turn in ("first", "second", "third"):
            bus.find("Open Loopkeeper")
            began = time.monotonic()
            bus.click("Open Loopkeeper")
            first, last = watched.settled(began)
            print(f"{turn} open             {first * 1000:6.0f} ms to a window, {last * 1000:.0f} ms to content")
            say("window shown", process.pid)
            screen.picture(f"measure-{turn}")
            screen.close_window()
            bus.until("the page's end", lambda: not web_processes(process.pid))
            say("closed again", process.pid)
        with open(f"/proc/{process.pid}/status") as file:
            threads = next(line.split()[1] for line in file if line.startswith("Threads:"))
        print(f"threads {threads}")
    finally:
        world.end()
        screen.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
