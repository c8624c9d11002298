"""The tray as its host sees it: its menu, what a click on it does, its icon."""

import os
import struct
import unittest
import zlib

from case import Case, replace
from world import ROOT


def pixels(path):
    """Returns a picture's width and its pixels, however its PNG file has packed them."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, colour, interlaced) == (8, 6, 0), f"{path} is another kind of PNG"
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    raw, stride = zlib.decompress(packed), width * 4
    line, lines = bytes(stride), []
    for start in range(0, len(raw), stride + 1):
        kind, coded, above, line = raw[start], raw[start + 1:start + 1 + stride], line, bytearray()
        for x, value in enumerate(coded):
            left = line[x - 4] if x >= 4 else 0
            corner = above[x - 4] if x >= 4 else 0
            guess = (0, left, above[x], (left + above[x]) // 2, nearest(left, above[x], corner))[kind]
            line.append((value + guess) % 256)
        lines.append(bytes(line))
    return width, b"".join(lines)


def nearest(left, above, corner):
    """PNG's fourth filter guesses so."""
    return min((left, above, corner), key=lambda value: abs(left + above - corner - value))


class Tray(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.icons = {
            name: pixels(os.path.join(ROOT, "icons", "tray", f"{name}.png"))
            for name in ("armed", "running", "attention", "paused")
        }

    def icon(self, bus):
        """Returns the name of the icon that the host was given."""
        item, _ = bus.item()
        shown = pixels(os.path.join(item["IconThemePath"], item["IconName"]))
        return next(name for name, icon in self.icons.items() if icon == shown)

    def until_icon(self, bus, name):
        bus.until(f"the icon {name!r}", lambda: self.icon(bus) == name)

    def test_run_now_is_a_run_in_the_ledger(self):
        world = self.world()
        world.loop("hello", "demo/slow")
        world.start("--hidden")
        bus = world.session
        bus.until("the task in the menu", lambda: bus.find("Tasks", "hello — in "))
        self.until_icon(bus, "armed")
        self.keep("menu-armed.txt", bus.drawn())
        self.assertFalse(self.screen.windows(), "a start at login shows no window")
        self.assertEqual(world.runs("hello"), [], "nothing ran before")
        bus.click("Tasks", "hello", "Run now")
        bus.until("the label of the running task", lambda: bus.find("Tasks", "hello — running"))
        bus.until("the list of runs", lambda: bus.find("Running (1)", "hello — running", "Stop"))
        self.until_icon(bus, "running")
        self.keep("menu-running.txt", bus.drawn())
        self.assertEqual(world.runs("hello")[0]["trigger"], "manual", "the ledger has it")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        self.until_icon(bus, "armed")
        row = world.runs("hello")[0]
        self.assertEqual(row["status"], "succeeded", row)

    def test_a_run_is_stopped(self):
        world = self.world()
        world.loop("hello", "demo/slow")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Run now")
        bus.click("Running (1)", "hello", "Stop")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "Cancelled"))
        self.assertEqual(world.runs("hello")[0]["status"], "cancelled", "the ledger says so")

    def test_enabled_changes_one_token_of_the_loop_file(self):
        world = self.world()
        path = world.loop("R&D_daily")
        with open(path, "rb") as file:
            before = file.read()
        world.start("--hidden")
        bus = world.session
        line = bus.until("the task", lambda: bus.find("Tasks", "R&D_daily — in ", "Enabled"))
        self.assertTrue(line[2], "it is enabled")
        bus.click("Tasks", "R&D_daily", "Enabled")
        bus.until("the label", lambda: bus.find("Tasks", "R&D_daily — off"))
        with open(path, "rb") as file:
            after = file.read()
        self.assertEqual(after, before.replace(b"enabled: true", b"enabled: false"), "one token")
        self.assertFalse(bus.find("Tasks", "R&D_daily", "Enabled")[2], "the mark went too")
        bus.click("Tasks", "R&D_daily", "Enabled")
        bus.until("the label", lambda: bus.find("Tasks", "R&D_daily — in "))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before, "there and back is nothing")

    def test_a_permission_is_denied(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "triage", "Run now")
        bus.until("the question", lambda: bus.find("Needs you (1)", "triage", "May the demo agent go on?"))
        self.until_icon(bus, "attention")
        bus.click("Needs you (1)", "triage", "Deny")
        bus.until("the run's end", lambda: world.runs("triage")[0]["status"] == "failed")
        self.assertIn("refused", world.runs("triage")[0]["error"], "the agent was told no")

    def test_a_failure_can_be_run_again_and_dismissed(self):
        world = self.world()
        path = world.loop("digest", "demo/fail")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "digest", "Run now")
        bus.until("the need", lambda: bus.find("Needs you (1)", "digest failed", "Run now"))
        self.until_icon(bus, "attention")
        self.keep("menu-failed.txt", bus.drawn())
        bus.click("Needs you (1)", "digest failed", "Dismiss")
        bus.until("nothing to do", lambda: not any(l[1].startswith("Needs you") for l in bus.menu()))
        self.until_icon(bus, "armed")
        bus.click("Tasks", "digest", "Run now")
        bus.until("the need", lambda: bus.find("Needs you (1)", "digest failed"))
        replace(path, "demo/fail", "demo/echo")
        world.until_known('"echo"')
        bus.click("Needs you (1)", "digest failed", "Run now")
        bus.until("its end", lambda: bus.find("Tasks", "digest — in ", "✓ Succeeded"))

    def test_pause_and_resume(self):
        world = self.world()
        world.loop("hello")
        world.start("--hidden")
        bus = world.session
        bus.click("Pause", "Until resumed")
        bus.until("the pause", lambda: bus.find("Paused until resumed"))
        self.until_icon(bus, "paused")
        self.assertIn("paused", world.run("status").lower(), "every program on the folder knows")
        self.keep("menu-paused.txt", bus.drawn())
        bus.click("Resume all")
        bus.until("its end", lambda: bus.find("1 armed"))
        self.until_icon(bus, "armed")
        bus.click("Pause", "For 1 hour")
        bus.until("a pause with an end", lambda: bus.find("Paused until "))
        self.assertNotIn("resumed", bus.menu()[0][1], "it ends by itself")

    def test_many_tasks_and_long_names(self):
        world = self.world()
        for number in range(30):
            world.loop(f"task-{number:02}")
        long = "00_" + "a&b_" * 19
        world.loop("00-long", title=long)
        world.start("--hidden")
        bus = world.session
        bus.until("the way to all of them", lambda: bus.find("Tasks", "All 31 tasks…"))
        lines = bus.find("Tasks")[4]
        self.assertEqual(len(lines), 27, "25, a line between, and the rest")
        label = next(line[1] for line in lines if line[1].startswith("00_"))
        self.assertTrue(label.startswith("00_a&b_a&b_"), f"nothing in it is a key: {label}")
        self.assertLess(len(label), 60, f"it is cut: {label}")
        self.keep("menu-many.txt", bus.drawn())

    def test_a_broken_setting_is_said_and_healed(self):
        world = self.world()
        with open(world.path("settings.toml"), "w") as file:
            file.write("[runs]\nglobl = 3\n")
        world.start("--hidden")
        bus = world.session
        bus.until("the problem", lambda: bus.find("Loopkeeper cannot work"))
        self.until_icon(bus, "attention")
        self.assertIn("globl", " ".join(line[1] for line in bus.menu()), "which key")
        self.assertIn("globl", bus.note("Loopkeeper cannot work")["body"], "told")
        self.keep("menu-problem.txt", bus.drawn())
        os.remove(world.path("settings.toml"))
        bus.click("Try again")
        bus.until("the menu", lambda: bus.find("No tasks yet"))
        self.until_icon(bus, "armed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
