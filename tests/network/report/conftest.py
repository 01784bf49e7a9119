"""A real browser with a report open, from file://; tests with it are skipped where Chromium or its driver is missing."""

import json
import shutil
import subprocess
import sys
import time

import pytest

from gpmnet.network import MarkovNetwork

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


class Page:
    """A browser with one report open, and what it logged since the report was opened."""

    def __init__(self, downloads):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for switch in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--window-size=1300,1000",
        ):
            options.add_argument(switch)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.downloads = downloads
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_page_load_timeout(60)

    def open(self, path):
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.wait(lambda: self.js("return document.documentElement.dataset.ready") == "yes")
        self.js("document.documentElement.style.scrollBehavior = 'auto'")

    def wait(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < end, "the page did not get there in time"
            time.sleep(0.05)
        return found

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def at(self, identifier):
        return self.driver.find_element("id", identifier)

    def text(self, identifier):
        return self.at(identifier).get_property("textContent")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Return the addresses asked for, other than files, data and what the page itself made."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert any(url.startswith("file:") for url in asked)
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def download(self, button):
        before = set(self.downloads.iterdir())
        self.js("arguments[0].scrollIntoView({block: 'center'})", self.at(button))
        self.at(button).click()
        done = lambda: [  # noqa: E731
            path
            for path in set(self.downloads.iterdir()) - before
            if path.suffix in (".csv", ".graphml", ".pdf", ".png", ".svg")
        ]
        return self.wait(done)[0].read_bytes()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("selenium", reason="selenium is not installed")
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium with chromedriver here")
    page = Page(tmp_path_factory.mktemp("downloads"))
    yield page
    page.driver.quit()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `gpmnet demo` writes."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, "-m", "gpmnet", "demo", "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"report: {folder / 'report.html'}" in done.stdout
    return folder


@pytest.fixture
def page(browser, demo):
    """The demo's report, opened afresh; it must not complain nor ask for anything."""
    browser.open(demo / "report.html")
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == []


@pytest.fixture(scope="module")
def network(demo):
    return MarkovNetwork.load(demo)
