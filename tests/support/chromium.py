"""A real browser for tests of the console: headless Debian Chromium, as unpacked by `make browser`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.services.browser import BROWSER, DRIVER, environment
from tests.support.web import PASSWORD

HOME = Path(__file__).parents[2] / ".browser"
PATIENCE_S = 300.0
Found = TypeVar("Found")

# Record each policy violation and each error from before any script of the page runs.
WATCH = """
window.seenWrong = [];
document.addEventListener("securitypolicyviolation", (each) =>
  window.seenWrong.push(`policy: ${each.violatedDirective} ${each.blockedURI}`));
window.addEventListener("error", (each) => window.seenWrong.push(`error: ${each.message}`));
window.addEventListener("unhandledrejection", (each) => window.seenWrong.push(`rejected: ${each.reason}`));
window.alert = (text) => window.seenWrong.push(`alert: ${text}`);
"""


@dataclass
class Chromium:
    """A browser window. ``url`` is the console's root URL."""

    driver: Any
    url: str = ""
    downloads: Path = Path()

    def log_in(self, url: str, user: str) -> None:
        self.url = url
        self.open("/login")
        self.find("[name=name]").send_keys(user)
        self.find("[name=password]").send_keys(PASSWORD)
        self.find(".login button").click()
        self.until(lambda: "/login" not in self.driver.current_url, "nobody is logged in")

    def open(self, path: str) -> None:
        """Open a path relative to the root URL."""
        self.driver.get(self.url + path)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        """Wait for the first element that matches ``selector``, and return it."""
        return self.until(lambda: self.driver.find_element("css selector", selector), f"no {selector}")

    def all(self, selector: str) -> list[Any]:
        """Return the elements that match ``selector`` at present, without waiting."""
        return list(self.driver.find_elements("css selector", selector))

    def count(self, selector: str) -> int:
        """Return the number of elements that match ``selector`` at present."""
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def texts(self, selector: str) -> list[str]:
        """The texts of all matching elements, including invisible ones."""
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent.trim())"
        return list(self.run(script, selector))

    def until(self, found: Callable[[], Found], otherwise: str) -> Found:
        """Wait until ``found`` returns a true value, and return that value."""
        from selenium.common.exceptions import WebDriverException

        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                if result := found():
                    return result
            except WebDriverException as error:
                if time.monotonic() > deadline_s:
                    raise AssertionError(f"{otherwise}: {error.msg}") from error
            assert time.monotonic() < deadline_s, f"{otherwise}; the log: {self.logged()}"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Send keys one after the other to the focused element."""
        from selenium.webdriver.common.action_chains import ActionChains

        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def hover(self, element: Any) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).move_to_element(element).perform()

    def size(self, width: int, height: int) -> None:
        """Set the size of the viewport in pixels, emulating a device of that width."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, **features: str) -> None:
        """Set media features that express user preferences, such as ``prefers_color_scheme="dark"``."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def scripts(self, *, run: bool) -> None:
        """Enable or disable JavaScript in pages that are opened later."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not run})

    def wrong(self) -> list[str]:
        """Policy violations, errors and alerts seen on this page."""
        return list(self.run("return window.seenWrong")) + [
            each for each in self.logged() if "Content Security Policy" in each
        ]

    def logged(self) -> list[str]:
        """Messages that the browser has logged since the previous call."""
        return [str(each["message"]) for each in self.driver.get_log("browser")]

    def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(file))


@contextmanager
def started_chromium(downloads: Path) -> Iterator[Chromium]:
    """Start a browser with an empty profile. Skips the test if no browser is installed."""
    if not (HOME / BROWSER).exists():
        pytest.skip("there is no browser: `make browser` unpacks one")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(HOME / BROWSER)
    for argument in (
        "--headless=new",
        # Containers do not provide the sandbox and the shared memory that Chromium expects. Only this test's pages are
        # opened.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-proxy-server",
        "--window-size=1400,900",
        "--lang=en",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    service = webdriver.ChromeService(str(HOME / DRIVER), env=environment(HOME))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        # axe-core needs this long if a page has several thousand elements.
        driver.set_script_timeout(3 * PATIENCE_S)
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield Chromium(driver, downloads=downloads)
    finally:
        driver.quit()
