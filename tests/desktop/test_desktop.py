"""The real program on a screen in memory: its tray, its notifications, its window, its process.

Run by `scripts/desktop-tests.sh`. No test depends on speed: each waits for what has to happen, and
fails when it never does."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from bus import Session
from world import DESKTOP, PICTURES, PROGRAM, Screen, World


class Desktop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.screen = Screen()
        cls.addClassCleanup(cls.screen.end)

    def world(self, **more):
        world = World(self.screen, **more)
        self.addCleanup(world.end)
        return world

    def keep(self, name, text):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            with open(os.path.join(PICTURES, name), "w") as file:
                file.write(text + "\n")

    def test_run_now_from_the_tray_is_a_run_in_the_ledger(self):
        world = self.world()
        world.loop("hello", "demo/slow")
        world.start("--hidden")
        bus = world.session
        before = bus.until("the task in the menu", lambda: bus.find("Tasks", "hello — in "))
        self.keep("menu-armed.txt", bus.drawn())
        self.assertFalse(self.screen.windows(), "a start at login shows no window")
        bus.click("Tasks", "hello", "Run now")
        bus.until("the label of the running task", lambda: bus.find("Tasks", "hello — running"))
        bus.until("the list of runs", lambda: bus.find("Running (1)", "hello — running", "Stop"))
        self.keep("menu-running.txt", bus.drawn())
        self.assertEqual(world.runs("hello")[0]["trigger"], "manual", "the ledger has it")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        row = world.runs("hello")[0]
        self.assertEqual(row["status"], "succeeded", row)
        self.assertNotEqual(before[1], "", "there was a label before")

    def test_a_run_is_stopped_from_the_tray(self):
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

    def test_a_task_opens_the_window_and_closing_it_leaves_the_tray(self):
        world = self.world()
        world.loop("hello")
        process = world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Open")
        bus.until("the window", self.screen.windows)
        self.assertTrue(web_processes(process.pid), "a page is shown")
        time_for_the_page = bus.until("the page", lambda: len(web_processes(process.pid)) > 0)
        self.assertTrue(time_for_the_page)
        self.screen.close_window()
        bus.until("the window's end", lambda: not self.screen.windows())
        bus.until("the page's end", lambda: not web_processes(process.pid))
        self.assertIsNone(process.poll(), "the scheduler goes on")
        with open(world.path("data", "loopkeeper", "window.json")) as file:
            self.assertGreater(json.load(file)["width"], 600, "its size is remembered")
        bus.click("Open Loopkeeper")
        bus.until("the window again", self.screen.windows)

    def test_a_page_that_died_is_built_anew(self):
        world = self.world()
        world.loop("hello")
        process = world.start("--open=needs")
        bus = world.session
        old = bus.until("the page", lambda: web_processes(process.pid))
        bus.until("the menu", lambda: bus.find("Tasks", "hello — in "))
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        bus.until("another page", lambda: set(web_processes(process.pid)) - set(old), 90)
        bus.until("the window", self.screen.windows)
        self.assertIsNone(process.poll(), "the engine never noticed")

    def test_a_failure_is_told_and_recovery_once(self):
        world = self.world()
        path = world.loop("digest", "demo/fail")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "digest", "Run now")
        note = bus.note("digest failed")
        self.assertIn("Look at the run", note["body"], "what to do now")
        bus.until("the need", lambda: bus.find("Needs you (1)", "digest failed", "Run now"))
        self.keep("menu-failed.txt", bus.drawn())
        bus.notifications.click(note, "Open")
        bus.until("the window at the run", self.screen.windows)
        self.assertEqual(len(bus.notifications.received), 1, "a failure is told once")
        self.assertTrue(os.path.exists(path), "the loop stays as it is")

    def test_a_permission_is_answered_from_the_notification(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "triage", "Run now")
        note = bus.note("triage waits for you")
        self.assertEqual(set(note["buttons"]), {"Open", "Allow once", "Deny"}, "what can be said")
        self.assertEqual(note["urgency"], 2, "it stays until it was seen")
        bus.until("the need", lambda: bus.find("Needs you (1)", "triage", "Allow once"))
        self.keep("menu-blocked.txt", bus.drawn())
        bus.notifications.click(note, "Allow once")
        bus.until("its end", lambda: bus.find("Tasks", "triage — in ", "✓ Succeeded"))
        self.assertEqual(world.runs("triage")[0]["status"], "succeeded", "the answer arrived")

    def test_a_permission_is_denied_from_the_tray(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "triage", "Run now")
        bus.click("Needs you (1)", "triage", "Deny")
        bus.until("the run's end", lambda: world.runs("triage")[0]["status"] != "blocked")
        self.assertNotIn(world.runs("triage")[0]["status"], ("running", "queued"), "it was told")

    def test_an_end_that_cannot_be_written_is_a_warning(self):
        world = self.world()
        world.loop("digest", "demo/slow")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "digest", "Run now")
        bus.until("the run", lambda: bus.find("Tasks", "digest — running"))
        # The fault: somebody alive holds the project's lock when the run ends.
        lock = world.shared_files()[0] + ".lock"
        holder = subprocess.Popen(["sleep", "600"])
        self.addCleanup(lambda: (holder.kill(), holder.wait()))
        bus.until("the lock to be free", lambda: not os.path.exists(lock))
        with open(lock, "x") as file:
            json.dump({"pid": holder.pid, "at": int(time.time() * 1000)}, file)
        note = bus.note("digest ran, but its end could not be written", 90)
        self.assertIn("digest ran and ended as succeeded", note["body"], "what ran")
        self.assertIn(".json", note["body"], "what could not be written")
        self.assertIn("runs twice", note["body"], "what that means")
        self.assertEqual(note["urgency"], 2, "it is a warning that stays")
        self.assertEqual(len(bus.notifications.received), 1, "one notification for one end")
        bus.until("the need", lambda: bus.find("Needs you (1)", "digest ran"))
        self.keep("menu-persist-error.txt", bus.drawn())
        row = world.runs("digest")[0]
        self.assertEqual(row["status"], "succeeded", "it counts as what it was")
        os.remove(lock)

    def test_quit_says_what_stays_unarmed_and_ends(self):
        world = self.world()
        world.loop("hello")
        process = world.start("--hidden")
        bus = world.session
        bus.until("the task", lambda: bus.find("Tasks", "hello — in "))
        line = bus.click("Quit")
        self.assertEqual(line[1], "Quit (1 task stays unarmed)", "said before")
        self.assertEqual(process.wait(30), 0, "it ends well")
        self.assertIn("1 task is no longer armed here", bus.note("Loopkeeper has ended")["body"])

    def test_the_session_s_end_is_a_clean_end(self):
        world = self.world()
        process = world.start("--hidden")
        world.session.until("the menu", lambda: world.session.find("No tasks yet"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0, "the system asked for it")

    def test_pause_and_resume(self):
        world = self.world()
        world.loop("hello")
        world.start("--hidden")
        bus = world.session
        bus.click("Pause", "Until resumed")
        bus.until("the pause", lambda: bus.find("Paused until resumed"))
        self.assertIn("tray-icon", bus.item()[0]["IconName"], "an icon of its own")
        bus.click("Resume all")
        bus.until("its end", lambda: bus.find("1 armed"))

    def test_start_at_login(self):
        world = self.world()
        process = world.start("--hidden")
        bus = world.session
        bus.click("Start at login")
        entry = world.path("home", ".config", "autostart", "loopkeeper.desktop")
        bus.until("the entry", lambda: os.path.exists(entry) and bus.find("Start at login")[2])
        with open(entry) as file:
            self.assertIn(f'Exec="{DESKTOP}" --hidden\n', file.read(), "without a window")
        bus.click("Start at login")
        bus.until("no entry", lambda: not os.path.exists(entry))
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        # The program was moved: what is started at login is gone.
        with open(entry, "w") as file:
            file.write('[Desktop Entry]\nType=Application\nExec="/gone/loopkeeper-desktop" --hidden\n')
        world.start("--hidden")
        bus.until("the path put right", lambda: DESKTOP in open_text(entry))

    def test_a_second_start_opens_the_first_one_s_window(self):
        world = self.world()
        first = world.start("--hidden")
        bus = world.session
        bus.until("the menu", lambda: bus.find("No tasks yet"))
        self.assertFalse(self.screen.windows(), "hidden")
        second = world.start("--open=settings")
        self.assertEqual(second.wait(30), 0, "it hands its arguments over and ends")
        bus.until("the window", self.screen.windows)
        self.assertIsNone(first.poll(), "the first one stays")
        again = world.start("--hidden")
        self.assertEqual(again.wait(30), 0, "whatever its arguments")
        self.assertEqual(len(world.session.watcher.items), 1, "one icon")

    def test_a_host_that_comes_late_finds_the_icon(self):
        world = self.world(host=False)
        world.loop("hello")
        world.start("--hidden")
        world.session.until("the ledger", lambda: os.path.exists(world.path("data", "loopkeeper", "ledger.db")))
        world.session.add_host()
        world.session.until("the icon", lambda: world.session.find("Tasks", "hello — in "))

    def test_without_a_host_the_window_opens(self):
        world = self.world(host=False)
        world.start("--hidden")
        world.session.until("the window", self.screen.windows, 60)
        self.screen.picture("window-without-tray")

    def test_a_suspend_is_noticed_and_a_run_keeps_the_machine_awake(self):
        world = self.world()
        with open(world.path("settings.toml"), "w") as file:
            file.write("[desktop]\nkeep_awake = true\n")
        world.loop("hello", "demo/slow")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Run now")
        bus.until("the request to stay awake", lambda: bus.logind.inhibited)
        self.assertEqual(bus.logind.inhibited[0][1], "Loopkeeper", "who asks")
        late = world.loop("late")
        bus.logind.PrepareForSleep(True)
        bus.logind.PrepareForSleep(False)
        bus.until("what was new after the wake-up", lambda: bus.find("Tasks", "late — in "))
        self.assertTrue(os.path.exists(late))
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        os.set_blocking(bus.logind.held[0], False)
        bus.until("the machine's freedom", lambda: closed(bus.logind.held[0]))

    def test_a_broken_setting_is_said_and_healed(self):
        world = self.world()
        with open(world.path("settings.toml"), "w") as file:
            file.write("[runs]\nglobl = 3\n")
        world.start("--hidden")
        bus = world.session
        bus.until("the problem", lambda: bus.find("Loopkeeper cannot work"))
        self.assertIn("globl", " ".join(line[1] for line in bus.menu()), "which key")
        self.assertIn("globl", bus.note("Loopkeeper cannot work")["body"], "told")
        self.keep("menu-problem.txt", bus.drawn())
        os.remove(world.path("settings.toml"))
        bus.click("Try again")
        bus.until("the menu", lambda: bus.find("No tasks yet"))

    def test_many_processes_run_each_slot_once(self):
        world = self.world()
        world.loop("often", schedule="*/5 * * * * *")
        other_folder = tempfile.mkdtemp(prefix="loopkeeper-desktop-bus-")
        self.addCleanup(shutil.rmtree, other_folder, True)
        other = Session(other_folder)
        self.addCleanup(other.end)
        world.start("--hidden")
        world.start("--hidden", session=other)
        world.start("serve", "--port", "0", program=PROGRAM)
        scheduled = ("succeeded", "failed", "running", "claimed", "lost", "timed_out")
        def ran():
            return [r["scheduledFor"] for r in world.runs("often")
                    if r["trigger"] == "scheduled" and r["status"] in scheduled]
        world.session.until("eight slots", lambda: len(set(ran())) >= 8, 120)
        slots = ran()
        self.assertEqual(len(slots), len(set(slots)), "no slot ran twice")
        whole = range(min(slots), max(slots) + 1, 5000)
        self.assertEqual(sorted(slots), list(whole), "no slot was left out")
        for session in (world.session, other):
            session.until("both menus agree", lambda: session.find("Tasks", "often", "✓ Succeeded"))


def open_text(path):
    with open(path) as file:
        return file.read()


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
                text = file.read()
        except OSError:
            continue
        if int(text[text.rindex(")") + 2:].split()[1]) == pid:
            found.append(int(entry))
    return found


def web_processes(pid):
    """Returns the processes of the program that show a page."""
    found = []
    for child in children(pid):
        try:
            with open(f"/proc/{child}/comm") as file:
                name = file.read().strip()
        except OSError:
            continue
        if name.startswith("WebKitWebProces"):
            found.append(child)
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
