"""The page in a real browser (Debian: apt install chromium chromium-driver), with workers that pretend."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support import serving

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
exceptions = pytest.importorskip("selenium.common.exceptions", reason="selenium is not installed")
THEMES = ("light", "dark")
SIZES = {"desk": (1100, 850), "phone": (390, 844)}
HAND_OVER = """
const [files, picture, name] = [new DataTransfer(), arguments[0], arguments[1]];
const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
files.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
const options = { dataTransfer: files, clipboardData: files, bubbles: true, cancelable: true };
window.dispatchEvent(name === "drop" ? new DragEvent(name, options) : new ClipboardEvent(name, options));
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Iterator[str]:
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium and chromedriver are not installed: apt install chromium chromium-driver")
    folder = tmp_path_factory.mktemp("page")
    runs = serving.make_runs(folder / "runs")
    names = ("wave", "rain_princess")
    paintings = [
        word
        for name in names
        for word in ("model=style_transfer/fast", f"weights={shared_data / 'faststyle' / name}", f"name={name}")
    ]
    with serving.serving(folder, [*runs, *paintings]) as server:
        yield server.address


class Page:
    """The page in a browser."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        browser.get(address)
        self.until(lambda: self.all("#tabs button"))

    def all(self, selector: str) -> list[Any]:
        """Find all that can be seen; nothing where the page replaces one of them meanwhile."""
        elements = self.browser.find_elements("css selector", selector)
        try:
            return [element for element in elements if element.is_displayed()]
        except exceptions.StaleElementReferenceException:
            return []

    def one(self, selector: str) -> Any:
        """Find the first that can be seen."""
        return self.until(lambda: self.all(selector))[0]

    def text(self, selector: str) -> str:
        """Read the first that can be seen, once there is something; again where the page replaces it meanwhile."""

        def read() -> str:
            try:
                return str(self.one(selector).text)
            except exceptions.StaleElementReferenceException:
                return ""

        return str(self.until(read))

    def files(self, path: Path) -> None:
        """Choose a file in the panel that is open."""
        panel = self.one("main > section")
        panel.find_element("css selector", "input[type=file]").send_keys(str(path))

    def until(self, condition: Callable[[], Any], seconds: float = 30) -> Any:
        """Wait for something."""
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            assert time.monotonic() < deadline, self.one("body").text
            time.sleep(0.05)
        return result

    def tab(self, name: str) -> None:
        """Open the panel of a model."""
        self.browser.find_element("id", f"tab-{name}").click()


@pytest.fixture(params=[(theme, size) for theme in THEMES for size in SIZES], ids="-".join)
def page(request: pytest.FixtureRequest, address: str) -> Iterator[Page]:
    theme, (width, height) = request.param[0], SIZES[request.param[1]]
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(str(shutil.which("chromedriver")))
    browser = webdriver.Chrome(options=options, service=service)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        yield Page(browser, address)
        assert not browser.get_log("browser")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.quit()


@pytest.mark.slow
def test_a_person_can_use_every_model(page: Page, tmp_path: Path) -> None:
    """Drop and paste an image, draw a digit, restyle a photo, type a review, and let a text be written."""
    import base64

    picture = tmp_path / "picture.png"
    Image.new("RGB", (64, 48), (4, 0, 0)).save(picture)
    page.tab("photos")
    assert page.text(".card.example .name") == "Example of a prediction"
    assert page.text(".classes") == f"Classes: {', '.join(f'class {number}' for number in range(10))}"
    for count, event in enumerate(("drop", "paste"), 1):
        page.browser.execute_script(HAND_OVER, base64.b64encode(picture.read_bytes()).decode(), event)
        page.until(lambda count=count: [card.text for card in page.all(".card .best")] == ["class 4"] * count)
    _draw(page)
    _paint(page, picture)
    page.tab("reviews")
    page.one("textarea").send_keys("a good film")
    assert page.text(".answer .best") in ("bad", "good")
    page.tab("play")
    page.one(".write").click()
    page.until(lambda: page.text(".page").startswith("0"))
    page.until(lambda: page.text(".write") == "Write")
    assert page.text(".page").strip().endswith("299")


def _draw(page: Page) -> None:
    """Draw with the mouse, clear, and draw with the keyboard."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.tab("digits")
    board = page.one("canvas")
    actions = ActionChains(page.browser, duration=20).move_to_element(board).click_and_hold()
    actions.move_by_offset(40, 0).move_by_offset(-20, 50).release().perform()
    assert page.text(".answer .best").startswith("class")
    page.one(".clear").click()
    assert page.one(".answer .empty")
    board.send_keys(" ", Keys.ARROW_DOWN, Keys.ARROW_DOWN, " ")
    assert page.text(".answer .best").startswith("class")


def _paint(page: Page, picture: Path) -> None:
    """Restyle a photo, move the slider, and take the other painting."""
    page.tab("Restyle")
    assert not page.all(".paintings label > :not(input, span)"), "no image is there yet, and no place for it"
    page.files(picture)
    page.until(lambda: len(page.all(".paintings img")) == 2)
    slider = page.browser.find_element("css selector", ".compare input")
    page.browser.execute_script("arguments[0].value = 80; arguments[0].dispatchEvent(new Event('input'))", slider)
    at = "return getComputedStyle(document.querySelector('.compare')).getPropertyValue('--at')"
    assert page.browser.execute_script(at) == "80%"
    before = page.one(".after").get_attribute("src")
    page.browser.execute_script("document.querySelectorAll('.paintings input')[1].click()")
    page.until(lambda: page.one(".after").get_attribute("src") != before)
    assert page.one(".save").get_attribute("href").startswith("blob:")


@pytest.mark.slow
def test_the_requests_are_described_with_commands(page: Page, address: str) -> None:
    page.browser.get(f"{address}/docs")
    page.until(lambda: len(page.all(".api section")) > 8)
    sections = {row.find_element("css selector", "h2").text: row.text for row in page.all(".api section")}
    assert f"curl '{address}/v1/models'" in sections["GET /v1/models"]
    review = sections["POST /v1/models/reviews:predict"]
    assert """-H 'Content-Type: application/json' -d '{"instances":[""" in review
    assert f"'{address}/v1/models/reviews:predict'" in review


@pytest.mark.slow
def test_the_arrow_keys_change_the_model(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    first = page.one("#tabs button")
    first.send_keys(Keys.ARROW_RIGHT)
    chosen = page.one("#tabs button[aria-selected=true]")
    assert chosen != first
    assert chosen == page.browser.switch_to.active_element
