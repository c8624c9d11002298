"""Two desktops' worth of processes and a server without a window on one folder.

One minute long; with LOOPKEEPER_TEST_MINUTES as long as that says, and then processes are killed."""

import os
import shutil
import tempfile
import unittest

from bus import Session
from case import Case
from world import PROGRAM

MINUTES = int(os.environ.get("LOOPKEEPER_TEST_MINUTES", "1"))
#: A slot of a run that is to be killed is given up by nobody, so it may be in any of these states.
TAKEN = ("succeeded", "failed", "running", "claimed", "lost", "timed_out", "cancelled", "blocked")


class Sharing(Case):
    def test_each_slot_runs_once(self):
        world = self.world()
        world.loop("often", schedule="*/5 * * * * *")
        world.loop("minutely", schedule="* * * * *")
        folder = tempfile.mkdtemp(prefix="loopkeeper-desktop-bus-")
        self.addCleanup(shutil.rmtree, folder, True)
        other = Session(folder)
        self.addCleanup(other.end)
        start = {
            "a desktop": lambda: world.start("--hidden"),
            "another desktop": lambda: world.start("--hidden", session=other),
            "a server": lambda: world.start("serve", "--port", "0", program=PROGRAM),
        }
        processes = {name: begin() for name, begin in start.items()}

        def slots(name):
            rows = [row for row in world.runs(name, 1000) if row["trigger"] == "scheduled"]
            return sorted(row["scheduledFor"] for row in rows if row["status"] in TAKEN)

        kills = list(start) * MINUTES if MINUTES > 1 else []
        for minute in range(1, MINUTES + 1):
            world.session.until(f"minute {minute}", lambda: len(slots("minutely")) >= minute, 180)
            if kills:
                # Whichever it is, the others and its successor take its slots over.
                name = kills.pop(0)
                processes[name].kill()
                processes[name].wait()
                processes[name] = start[name]()
        world.session.until("the short one's slots", lambda: len(slots("often")) >= MINUTES * 10, 180)
        for name, step in ("often", 5_000), ("minutely", 60_000):
            ran = slots(name)
            self.assertEqual(len(ran), len(set(ran)), f"{name}: no slot ran twice")
            whole = list(range(ran[0], ran[-1] + 1, step))
            self.assertEqual(ran, whole, f"{name}: no slot was left out")
            print(f"{name}: {len(ran)} slots, each once", flush=True)
        for session in (world.session, other):
            session.until("both menus agree", lambda: session.find("Tasks", "often", "✓ Succeeded"))
        print(f"the runs of both, by process: {world.runs_by_process()}", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
