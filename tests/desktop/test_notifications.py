"""What is told, to whom it matters, and what the buttons do. The daemon is the tests' own."""

import json
import os
import subprocess
import time
import unittest

from case import Case, replace


class Notifications(Case):
    def test_a_failure_is_told_once_a_minute_at_most_and_then_that_it_works_again(self):
        world = self.world()
        path = world.loop("digest", "demo/fail")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "digest", "Run now")
        note = bus.note("digest failed")
        self.assertIn("demo/fail always does", note["body"], "why")
        self.assertIn("Look at the run", note["body"], "what to do now")
        first = world.runs("digest")[0]["id"]
        bus.click("Tasks", "digest", "Run now")
        bus.until("the second failure", lambda: [r["status"] for r in world.runs("digest")] == ["failed"] * 2)
        replace(path, "demo/fail", "demo/echo")
        world.until_known('"echo"')
        bus.click("Tasks", "digest", "Run now")
        works = bus.note("digest works again", 180)
        self.assertEqual(works["body"], "You said: Say hello.", "what it answered")
        self.assertGreaterEqual(works["at"] - note["at"], 60, "not more than one a minute")
        self.assertEqual([n["title"] for n in bus.notifications.received],
                         ["digest failed", "digest works again"],
                         "the second failure was over when its minute came")
        self.assertGreater(world.runs("digest")[0]["id"], first)

    def test_a_permission_is_answered_from_the_notification(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "triage", "Run now")
        note = bus.note("triage waits for you")
        self.assertEqual(note["body"], "May the demo agent go on?", "what it asks")
        self.assertEqual(set(note["buttons"]), {"Open", "Allow once", "Deny"}, "what can be said")
        self.assertEqual(note["urgency"], 2, "it stays until it was seen")
        bus.until("the need", lambda: bus.find("Needs you (1)", "triage", "Allow once"))
        self.keep("menu-blocked.txt", bus.drawn())
        bus.notifications.click(note, "Allow once")
        bus.until("its end", lambda: bus.find("Tasks", "triage — in ", "✓ Succeeded"))
        self.assertEqual(world.runs("triage")[0]["status"], "succeeded", "the answer arrived")

    def test_a_permission_is_denied_from_the_notification(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "triage", "Run now")
        bus.notifications.click(bus.note("triage waits for you"), "Deny")
        bus.until("its end", lambda: world.runs("triage")[0]["status"] == "failed")
        self.assertIn("refused", world.runs("triage")[0]["error"], "the agent was told no")

    def test_an_end_that_cannot_be_written_is_a_warning(self):
        world = self.world()
        world.loop("digest", "demo/slow")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "digest", "Run now")
        bus.until("the run", lambda: bus.find("Tasks", "digest — running"))
        # The fault: somebody alive holds the project's lock when the run ends.
        shared = world.shared_files()[0]
        lock = shared + ".lock"
        holder = subprocess.Popen(["sleep", "600"])
        self.addCleanup(lambda: (holder.kill(), holder.wait()))

        def taken():
            try:
                with open(lock, "x") as file:
                    json.dump({"pid": holder.pid, "at": int(time.time() * 1000)}, file)
                return True
            except FileExistsError:
                return False
        bus.until("the lock to be ours", taken)
        note = bus.note("digest ran, but its end could not be written")
        self.assertIn("digest ran and ended as succeeded", note["body"], "what ran")
        self.assertIn(shared, note["body"], "what could not be written")
        self.assertIn("runs twice", note["body"], "what that means")
        self.assertEqual(note["urgency"], 2, "it is a warning that stays")
        self.assertEqual(len(bus.notifications.received), 1, "one notification for one end")
        bus.until("the need", lambda: bus.find("Needs you (1)", "digest ran"))
        self.keep("menu-persist-error.txt", bus.drawn())
        row = world.runs("digest")[0]
        self.assertEqual(row["status"], "succeeded", "it counts as what it was")
        os.remove(lock)

    def test_what_the_window_shows_is_not_told(self):
        world = self.world()
        world.loop("seen", "demo/fail")
        world.loop("unseen", "demo/fail")
        process = world.start("--open=needs", log="loopkeeper_desktop=debug")
        bus = world.session
        bus.until("the window in front", lambda: self.screen.windows() and self.screen.in_front() in self.screen.windows())
        bus.click("Tasks", "seen", "Run now")
        bus.until("the need", lambda: bus.find("Needs you (1)", "seen failed"))
        bus.until("it was left out", lambda: "the window shows it" in world.said(process))
        self.screen.close_window()
        bus.until("the window's end", lambda: not self.screen.windows())
        bus.click("Tasks", "unseen", "Run now")
        bus.note("unseen failed")
        self.assertEqual([n["title"] for n in bus.notifications.received], ["unseen failed"],
                         "who looks at it need not be told")

    def test_what_was_missed_is_told_once_with_counts(self):
        world = self.world()
        for name in ("morning", "evening"):
            world.loop(name, schedule="0 * * * *")
        process = world.start("--hidden")
        bus = world.session
        bus.until("both", lambda: bus.find("2 armed"))
        for name in ("morning", "evening"):
            bus.click("Tasks", name, "Run now")
            bus.until("its end", lambda name=name: bus.find("Tasks", name + " — in ", "✓ Succeeded"))
        world.ended(process)
        world.days_pass(3)
        world.start("--hidden")
        note = bus.note("Missed: ")
        self.assertRegex(note["title"], r"^Missed: 14[0-9] runs of 2 tasks$", "with counts")
        self.assertIn("morning", note["body"])
        self.assertIn("evening", note["body"])
        bus.until("both needs", lambda: bus.find("Needs you (2)"))
        self.assertEqual(len(bus.notifications.received), 1, "one for all of it")

    def test_a_task_that_was_paused_after_failures_and_one_that_wants_approval(self):
        world = self.world(settings="[approval]\nmode = \"all\"\n[runs]\npause_after_failures = 1\n")
        world.start("--hidden")
        bus = world.session
        bus.until("the menu", lambda: bus.find("No tasks yet"))
        # What needed somebody before the start is no news.
        world.loop("digest", "demo/fail")
        note = bus.note("digest wants your approval")
        self.assertEqual(note["urgency"], 2, "it stays until it was seen")
        world.run("approve", "digest", "--yes")
        bus.click("Tasks", "digest", "Run now")
        bus.until("the pause", lambda: bus.find("Tasks", "digest — paused after failures", "Resume"))
        note = bus.note("digest was paused after failures", 180)
        self.assertEqual(len(bus.notifications.received), 2, "the gravest of what a run's end means")

    def test_a_task_that_wants_no_news_is_silent(self):
        world = self.world()
        world.loop("quiet", "demo/fail", more="policy:\n  notify: never\n")
        world.loop("loud", "demo/fail")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "quiet", "Run now")
        bus.until("the need", lambda: bus.find("Needs you (1)", "quiet failed"))
        bus.click("Tasks", "loud", "Run now")
        bus.note("loud failed")
        self.assertEqual([n["title"] for n in bus.notifications.received], ["loud failed"], "as wished")


if __name__ == "__main__":
    unittest.main(verbosity=2)
