"""Where the window is opened: at what was clicked. Its page is looked at from within."""

import json
import os
import unittest
from urllib.parse import quote

from case import Case


class Places(Case):
    def opened(self, *arguments, **more):
        """Returns a world whose program shows its window, and the page of it."""
        world = self.world(**more)
        world.loop("hello", "demo/slow")
        world.loop("triage", "demo/ask")
        page = self.window(world, *arguments)
        world.session.until("the page", lambda: page.find("#app h1"))
        return world, page

    def until_at(self, world, page, place, shows):
        """Waits until the page is at a place and shows a text in its heading."""
        def is_there():
            found = page.script(
                "return [location.hash, [...document.querySelectorAll('h1, h2')].map((e) => e.textContent)]")
            return found if found[0] == place and any(shows in heading for heading in found[1]) else None
        world.session.until(f"{shows!r} at {place}", is_there)

    def task(self, world, name):
        """Returns the place of a task."""
        row = next(row for row in json.loads(world.run("list", "--json"))["tasks"] if row["name"] == name)
        project = os.path.splitext(os.path.basename(world.shared_files()[0]))[0]
        return f"#/tasks/{quote(project, safe='')}/{quote(row['id'], safe='')}"

    def test_a_click_opens_what_was_clicked(self):
        world, page = self.opened("--open=settings")
        bus = world.session
        self.until_at(world, page, "#/settings", "Settings")

        bus.click("Tasks", "hello", "Open")
        self.until_at(world, page, self.task(world, "hello"), "hello")
        self.screen.picture("window-task")

        bus.click("Tasks", "hello", "Run now")
        bus.click("Running (1)", "hello", "Open")
        run = world.runs("hello")[0]["id"]
        self.until_at(world, page, f"#/runs/{run}", "hello")

        bus.click("Tasks", "triage", "Run now")
        bus.click("Needs you (1)", "triage", "Open")
        asking = world.runs("triage")[0]["id"]
        self.until_at(world, page, f"#/runs/{asking}", "triage")

        bus.click("Tasks", "hello", "Edit loop…")
        path = world.path("alpha", ".agents", "loops", "hello.md")
        self.until_at(world, page, "#/editor?path=" + quote(path, safe="") + "&project="
                      + self.task(world, "hello").split("/")[2], "hello")

    def test_a_second_start_brings_the_first_one_s_window_where_it_asks(self):
        world, page = self.opened("--open=tasks")
        bus = world.session
        for place, hash, heading in (("settings", "#/settings", "Settings"), ("needs", "#/needs", "Needs you")):
            second = world.start(f"--open={place}")
            self.assertEqual(second.wait(60), 0, "it hands its arguments over and ends")
            self.until_at(world, page, hash, heading)
        again = world.start("--hidden")
        self.assertEqual(again.wait(60), 0, "whatever its arguments")
        self.until_at(world, page, "#/needs", "Needs you")
        self.assertEqual(len(bus.watcher.items), 1, "one icon")
        self.assertEqual(len(self.screen.windows()), 1, "one window")

    def test_a_window_that_is_built_is_built_at_the_place(self):
        world = self.world()
        world.loop("triage", "demo/ask")
        bus = world.session

        def answer_later():
            bus.click("Tasks", "triage", "Run now")
            self.assertEqual(self.screen.windows(), [], "nobody has asked for it")
            bus.notifications.click(bus.note("triage waits for you"), "Open")
        page = self.window(world, "--hidden", opens=answer_later)
        self.until_at(world, page, "#/needs", "Needs you")
        bus.until("the question", lambda: "May the demo agent go on?" in page.script("return document.body.innerText"))
        self.screen.picture("window-needs")

    def test_a_failure_s_notification_leads_to_its_run(self):
        world = self.world()
        world.loop("digest", "demo/fail")
        bus = world.session

        def look():
            bus.click("Tasks", "digest", "Run now")
            bus.notifications.click(bus.note("digest failed"), "Open")
        page = self.window(world, "--hidden", opens=look)
        self.until_at(world, page, f"#/runs/{world.runs('digest')[0]['id']}", "digest")
        self.screen.picture("window-run")

    def test_a_task_s_window_is_built_at_the_task(self):
        world = self.world()
        world.loop("hello")
        page = self.window(world, "--hidden", opens=lambda: world.session.click("Tasks", "hello", "Open"))
        self.until_at(world, page, self.task(world, "hello"), "hello")

    def test_without_a_host_the_window_opens_and_says_why(self):
        world = self.world(host=False)
        page = self.window(world, "--hidden")
        world.session.until("the reason", lambda: "Nobody shows tray icons in this session" in page.script(
            "return document.body.innerText"))
        self.screen.picture("window-without-tray")

    def test_unsaved_text_is_asked_about_before_the_window_closes(self):
        world, page = self.opened("--open=tasks")
        bus = world.session
        path = world.path("alpha", ".agents", "loops", "hello.md")
        bus.click("Tasks", "hello", "Edit loop…")
        bus.until("the editor", lambda: page.find(".cm-content"))
        page.click(".cm-content")
        page.type(".cm-content", "unsaved ")
        bus.until("the mark", lambda: "Unsaved" in page.script("return document.body.innerText"))
        self.screen.close_window()
        bus.until("the question", lambda: self.screen.windows("not saved"))
        self.screen.picture("window-unsaved")
        self.screen.key(self.screen.windows("not saved")[0], "Escape")
        bus.until("the question's end", lambda: not self.screen.windows("not saved"))
        self.assertIn("unsaved ", page.script("return document.querySelector('.cm-content').textContent"),
                      "the text is there still")
        self.screen.close_window()
        bus.until("the question", lambda: self.screen.windows("not saved"))
        self.screen.key(self.screen.windows("not saved")[0], "Return")
        bus.until("the window's end", lambda: not self.screen.windows())
        with open(path) as file:
            self.assertNotIn("unsaved", file.read(), "it was given up")


if __name__ == "__main__":
    unittest.main(verbosity=2)
