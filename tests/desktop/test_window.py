"""The page in the real window: what it shows, and that what is done there is done."""

import unittest

from case import Case, text
from driver import CONTROL, END


class Window(Case):
    def test_a_loop_is_edited_run_and_toggled(self):
        world = self.world()
        path = world.loop("hello")
        until = world.session.until
        page = self.window(world, "--open=tasks")
        until("the task's row", lambda: page.find('[aria-label="Run hello now"]'))
        self.screen.picture("window-tasks")

        page.click('[aria-label="Run hello now"]')
        until("a toast", lambda: page.find("[data-sonner-toast]"))
        until("the run", lambda: world.runs("hello")[0]["status"] == "succeeded")
        self.screen.picture("window-toast")

        page.click('[aria-label="Disable hello"]')
        until("the file's token", lambda: "enabled: false # a note" in text(path))
        until("the switch", lambda: page.find('[aria-label="Enable hello"]'))

        world.session.click("Tasks", "hello", "Edit loop…")
        until("the editor", lambda: page.find(".cm-content"))
        page.click(".cm-content")
        page.type(".cm-content", CONTROL + END)
        page.type(".cm-content", "And say goodbye.")
        until("the typed text", lambda: "goodbye" in page.script(
            "return document.querySelector('.cm-content').textContent"))
        self.screen.picture("window-editor")
        page.type(".cm-content", CONTROL + "s")
        until("the saved file", lambda: "And say goodbye." in text(path))
        self.assertIn("# the time", text(path), "the rest of the file is as it was")

    def test_the_page_may_call_nothing_else(self):
        world = self.world()
        page = self.window(world, "--open=settings")
        world.session.until("the page", lambda: page.find("#app > *"))
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
