"""Take docs/_static/report.png, the picture of the demo's report; needs selenium, Chromium and its driver.

python docs/screenshot.py REPORT.html
"""

import shutil
import sys
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

OUT = Path(__file__).parent / "_static" / "report.png"


def main(report: Path) -> None:
    """Open the report, choose a variable, and save what the window shows in few colours."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for switch in (
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        "--window-size=1240,1000",
        "--force-device-scale-factor=1.5",
    ):
        options.add_argument(switch)
    with webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    ) as browser:
        browser.get(report.resolve().as_uri())
        browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
        browser.find_element(By.ID, "search").send_keys("cultivar", Keys.ENTER)
        browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
        time.sleep(2)  # the picture moves to its place
        browser.save_screenshot(str(OUT))
    Image.open(OUT).convert("RGB").quantize(192, dither=Image.Dither.NONE).save(OUT, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
