"""Measures memory and start: tray only, window shown, window closed again.

    LOOPKEEPER_TEST_PROFILE=release /usr/bin/python3 tests/desktop/measure.py

PSS is the proportional set size of the program and of all processes that it started, in MB."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from test_desktop import children, web_processes
from world import Screen, World


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


def settled(pid):
    """Waits until the figure stands still for a second, and returns it."""
    last = pss(pid)
    for _ in range(40):
        time.sleep(1)
        now = pss(pid)
        if abs(sum(now.values()) - sum(last.values())) < 0.3:
            return now
        last = now
    return last


def say(what, told):
    parts = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in sorted(told.items()))
    print(f"{what:<22} {sum(told.values()):6.0f} MB   ({parts})", flush=True)


def main():
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    screen = Screen()
    world = World(screen)
    try:
        for number in range(tasks):
            world.loop(f"task-{number}")
        began = time.monotonic()
        process = world.start("--hidden")
        bus = world.session
        bus.until("the icon", lambda: bus.watcher.items)
        print(f"tray icon after        {(time.monotonic() - began) * 1000:6.0f} ms")
        bus.until("the tasks", lambda: bus.find("Tasks", "task-0"))
        print(f"tasks in menu after    {(time.monotonic() - began) * 1000:6.0f} ms (drawn at most once a second)")
        say("tray only", settled(process.pid))
        for turn in ("first", "second"):
            began = time.monotonic()
            bus.click("Open Loopkeeper")
            bus.until("the window", screen.windows)
            print(f"{turn} open             {(time.monotonic() - began) * 1000:6.0f} ms to a visible window")
            bus.until("the page", lambda: web_processes(process.pid))
            say("window shown", settled(process.pid))
            screen.picture(f"measure-{turn}")
            screen.close_window()
            bus.until("the page's end", lambda: not web_processes(process.pid))
            say("closed again", settled(process.pid))
    finally:
        world.end()
        screen.end()


if __name__ == "__main__":
    main()
