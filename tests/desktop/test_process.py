"""The program as a process: one for each folder, started at login, ended when asked, with or
without somebody who shows its icon, and with a web view that dies or hangs."""

import json
import os
import signal
import unittest

from case import Case, named, text, web_processes
from world import DESKTOP


class Process(Case):
    def environment_of(self, pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair)

    def test_closing_the_window_leaves_the_tray_and_quit_ends_all_case_l02(self):
        world = self.world()
        world.loop("hello")
        process = world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Open")
        bus.until("the window", self.screen.windows)
        bus.until("its page", lambda: web_processes(process.pid))
        self.screen.close_window()
        bus.until("the window's end", lambda: not self.screen.windows())
        bus.until("the page's end", lambda: not web_processes(process.pid))
        bus.until("the end of all that WebKit started", lambda: not named(process.pid, "WebKit"))
        self.assertIsNone(process.poll(), "the scheduler goes on")
        with open(world.path("data", "loopkeeper", "window.json")) as file:
            self.assertGreater(json.load(file)["width"], 600, "its size is remembered")

        second = world.start()
        self.assertEqual(second.wait(60), 0, "the first one has it")
        window = bus.until("the window again", self.screen.windows)
        bus.until("the input focus", lambda: self.screen.in_front() == window[0])
        bus.until("its page", lambda: web_processes(process.pid))
        self.assertIsNone(process.poll(), "the same process")
        self.assertEqual(len(bus.watcher.items), 1, "one icon")

        bus.click("Quit")
        self.assertEqual(process.wait(60), 0, "quit is no closing of a window")
        bus.until("the window's end", lambda: not self.screen.windows())

    def test_quit_says_what_stays_unarmed_and_what_runs(self):
        world = self.world()
        world.loop("hello")
        world.loop("slow", "demo/slow")
        process = world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "slow", "Run now")
        bus.until("the run", lambda: bus.find("Running (1)"))
        line = bus.click("Quit")
        self.assertEqual(line[1], "Quit (2 tasks stay unarmed)", "said before")
        self.assertEqual(process.wait(60), 0, "it ends well")
        body = bus.note("Loopkeeper has ended")["body"]
        self.assertIn("2 tasks are no longer armed here.", body)
        self.assertIn("1 run goes on", body)

    def test_the_session_s_end_is_a_clean_end(self):
        world = self.world()
        process = world.start("--hidden")
        world.session.until("the menu", lambda: world.session.find("No tasks yet"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0, "the system asked for it")
        self.assertEqual(world.session.notifications.received, [], "nobody is there to read it")

    def test_a_killed_program_starts_again(self):
        world = self.world()
        world.loop("hello", "demo/slow")
        process = world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Run now")
        bus.until("the run", lambda: bus.find("Running (1)"))
        process.kill()
        process.wait()
        world.start("--hidden")
        bus.until("the task", lambda: bus.find("Tasks", "hello"))
        bus.until("an end of the old run", lambda: world.runs("hello")[0]["status"] not in ("running", "claimed"))

    def test_start_at_login_case_l05(self):
        world = self.world()
        process = world.start("--hidden")
        bus = world.session
        bus.click("Start at login")
        entry = world.path("home", ".config", "autostart", "loopkeeper.desktop")
        bus.until("the entry", lambda: os.path.exists(entry) and bus.find("Start at login")[2])
        self.assertIn(f'Exec="{DESKTOP}" --hidden\n', text(entry), "without a window")
        bus.click("Start at login")
        bus.until("no entry", lambda: not os.path.exists(entry))
        world.ended(process)
        # The program was moved: what is started at login is gone.
        gone = '[Desktop Entry]\nType=Application\nExec="/gone/loopkeeper-desktop" --hidden\n'
        with open(entry, "w") as file:
            file.write(gone)
        process = world.start("--hidden")
        bus.until("the path put right", lambda: f'Exec="{DESKTOP}" --hidden\n' in text(entry))
        world.ended(process)
        # An AppImage is started by its file: where it is mounted changes with each start.
        with open(entry, "w") as file:
            file.write(gone.replace("/gone", "/tmp/.mount_old/usr/bin"))
        world.start("--hidden", environment={"APPIMAGE": "/opt/App.AppImage"})
        bus.until("the image's path", lambda: 'Exec="/opt/App.AppImage" --hidden\n' in text(entry))
        bus.until("the menu", lambda: bus.find("Start at login")[2])
        self.assertFalse(self.screen.windows(), "the tray only")

    def test_a_host_that_comes_late_finds_the_icon(self):
        world = self.world(host=False)
        world.loop("hello")
        world.start("--hidden")
        ledger = world.path("data", "loopkeeper", "ledger.db")
        world.session.until("the ledger", lambda: os.path.exists(ledger))
        world.session.add_host()
        world.session.until("the icon", lambda: world.session.find("Tasks", "hello — in "))

    def test_buffer_sharing_is_off_unless_it_was_chosen_case_l03(self):
        name = b"WEBKIT_DISABLE_DMABUF_RENDERER"
        for given, wanted in ({}, b"1"), ({name.decode(): "0"}, b"0"):
            world = self.world()
            process = world.start("--open", environment=given)
            pages = world.session.until("the page", lambda: web_processes(process.pid))
            self.assertEqual(self.environment_of(pages[0])[name], wanted, given)
            world.ended(process)

    def test_a_page_that_died_is_built_anew(self):
        self.page_is_built_anew(signal.SIGKILL)

    def test_a_page_that_hangs_is_built_anew(self):
        self.page_is_built_anew(signal.SIGSTOP)

    def page_is_built_anew(self, fault):
        world = self.world()
        world.loop("hello")
        process = world.start("--open=needs", log="loopkeeper_desktop=debug")
        bus = world.session
        # WebKit itself ends a program whose page dies before it has introduced itself.
        bus.until("the page's first question", lambda: "the page asks" in world.said(process))
        old = web_processes(process.pid)
        bus.until("the menu", lambda: bus.find("Tasks", "hello — in "))
        for pid in old:
            os.kill(pid, fault)
        bus.until("another page", lambda: set(web_processes(process.pid)) - set(old), 180)
        bus.until("the window", self.screen.windows)
        bus.until("the old page's end", lambda: not set(old) & set(web_processes(process.pid)))
        bus.click("Tasks", "hello", "Run now")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        self.assertIsNone(process.poll(), "the engine never noticed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
