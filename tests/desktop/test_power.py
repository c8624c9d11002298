"""Suspend, resume and the wish to stay awake, told by a power manager of the tests' own."""

import os
import unittest

from case import Case, closed


class Power(Case):
    def test_a_suspend_is_noticed_and_a_run_keeps_the_machine_awake(self):
        world = self.world(settings="[desktop]\nkeep_awake = true\n")
        world.loop("hello", "demo/slow")
        process = world.start("--hidden", log="info")
        bus = world.session
        bus.until("the task", lambda: bus.find("Tasks", "hello — in "))
        self.assertEqual(bus.logind.inhibited, [], "nothing runs")
        bus.click("Tasks", "hello", "Run now")
        bus.until("the request to stay awake", lambda: bus.logind.inhibited)
        self.assertEqual(bus.logind.inhibited,
                         [("idle:sleep", "Loopkeeper", "A run is going on", "block")], "one, and why")
        os.set_blocking(bus.logind.held[0], False)
        self.assertFalse(closed(bus.logind.held[0]), "it is held while the run goes on")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        bus.until("the machine's freedom", lambda: closed(bus.logind.held[0]))

        bus.logind.PrepareForSleep(True)
        bus.logind.PrepareForSleep(False)
        bus.until("the wake-up", lambda: "the machine woke up" in world.said(process))
        self.assertEqual(world.said(process).count("the machine woke up"), 1, "told once, at its end")

    def test_without_the_wish_nothing_is_held(self):
        world = self.world()
        world.loop("hello")
        world.start("--hidden")
        bus = world.session
        bus.click("Tasks", "hello", "Run now")
        bus.until("its end", lambda: bus.find("Tasks", "hello — in ", "✓ Succeeded"))
        self.assertEqual(bus.logind.inhibited, [], "the machine sleeps when it likes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
