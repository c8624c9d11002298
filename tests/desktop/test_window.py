"""The page in the real window: what it shows, and that what is done there is done."""

import os
import unittest

from driver import CONTROL, END, Driver
from world import DESKTOP, Screen, World


class Window(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.screen = Screen()
        cls.addClassCleanup(cls.screen.end)

    def setUp(self):
        self.world = World(self.screen)
        self.addCleanup(self.world.end)

    def window(self, *arguments):
        driver = Driver(DESKTOP, list(arguments), self.world.environment())
        self.addCleanup(driver.end)
        return driver

    def until(self, what, found, seconds=30):
        return self.world.session.until(what, found, seconds)

    def test_a_loop_is_edited_run_and_toggled(self):
        path = self.world.loop("hello")
        page = self.window("--open=tasks")
        self.until("the task's row", lambda: page.find('[aria-label="Run hello now"]'))
        self.screen.picture("window-tasks")

        page.click('[aria-label="Run hello now"]')
        self.until("a toast", lambda: page.find("[data-sonner-toast]"))
        self.until("the run", lambda: self.world.runs("hello")[0]["status"] == "succeeded")
        self.screen.picture("window-toast")

        page.click('[aria-label="Disable hello"]')
        self.until("the file's token", lambda: "enabled: false # a note" in text(path))
        self.until("the switch", lambda: page.find('[aria-label="Enable hello"]'))

        page.script("location.hash = '#/editor?path=' + encodeURIComponent(arguments[0])", path)
        self.until("the editor", lambda: page.find(".cm-content"))
        page.click(".cm-content")
        page.type(".cm-content", CONTROL + END)
        page.type(".cm-content", "And say goodbye.")
        self.until("the typed text", lambda: "goodbye" in page.script(
            "return document.querySelector('.cm-content').textContent"))
        self.screen.picture("window-editor")
        page.type(".cm-content", CONTROL + "s")
        self.until("the saved file", lambda: "And say goodbye." in text(path))
        self.assertIn("# the time", text(path), "the rest of the file is as it was")

    def test_the_page_may_call_nothing_else(self):
        self.world.loop("hello")
        page = self.window("--open=settings")
        self.until("the page", lambda: page.find("#app > *"))
        told = page.script(
            "return window.__TAURI_INTERNALS__.invoke('plugin:opener|open_path', {path: '/'})"
            ".then(() => 'allowed', (error) => String(error))")
        self.assertIn("not allowed", told, "plugins are called from the program alone")
        told = page.script(
            "return window.__TAURI_INTERNALS__.invoke('open_file', {path: '/etc/passwd'})"
            ".then(() => 'allowed', (error) => String(error))")
        self.assertNotEqual(told, "allowed", "only loop files are opened")
        told = page.script(
            "return fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => 'refused')")
        self.assertEqual(told, "refused", "the page reaches no address")
        told = page.script(
            "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
            "document.body.append(s); return window.ran === undefined")
        self.assertTrue(told, "no script of a text ever runs")


def text(path):
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    unittest.main(verbosity=2)
