"""The documentation does not rot: links and paths lead somewhere, commands parse, what is named is there."""

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

import gpmnet
from gpmnet.cli.app import app

PACKAGE = Path(gpmnet.__file__).parent
ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not {"_build", "_demo", "gallery"} & set(path.relative_to(ROOT).parts)
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^```\{(?:literalinclude|include)\} (\S+)", re.MULTILINE)
NAMES = {"TABLE": "table.csv", "DIR": "out", "NAME": "fig1"}  # placeholders of the pages


def identify(path):
    return str(path.relative_to(ROOT))


def exists(page, target):
    """Whether a relative link leads somewhere; the gallery's pages are made from the examples."""
    path = (page.parent / target.partition("#")[0]).resolve()
    relative = path.relative_to(ROOT)
    if relative.parts[:2] == ("docs", "gallery"):
        return path.stem == "index" or (ROOT / "examples" / f"{path.stem}.py").is_file()
    return path.exists()


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_relative_links_and_included_files_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [a or b for a, b in LINK.findall(FENCE.sub("", text))]
    targets = [link for link in links if not re.match(r"[a-z]+:|#", link)] + INCLUDE.findall(text)
    made = "_demo"  # what the program prints while the site is built
    assert [t for t in targets if made not in t and not exists(page, t)] == []


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_headings_that_are_linked_exist(page):
    for target in re.findall(r"\]\(([\w./-]*\.md)#([\w-]+)\)", page.read_text(encoding="utf-8")):
        headings = re.findall(
            r"^#+ (.*)$", (page.parent / target[0]).read_text(encoding="utf-8"), re.MULTILINE
        )
        assert target[1] in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


def named_files(page):
    """Yield the paths of Python files (with a slash) in backticks, and the name after `::`, None without one."""
    for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text(encoding="utf-8"))):
        for word in span.split():
            if found := re.fullmatch(r"([\w.*-]+(?:/[\w.*-]+)+\.py)(?:::(\w+))?", word):
                yield found.groups()


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_named_python_files_exist(page):
    for path, name in named_files(page):
        found = [file for base in (PACKAGE, ROOT / "tests", ROOT) for file in base.glob(path)]
        assert found, f"{path} is nowhere"
        assert name is None or f"def {name}(" in found[0].read_text(encoding="utf-8"), f"{path} has no {name}"


def test_the_layout_names_every_module():
    """A module stands in the paragraph of its folder, one of the package itself in one that begins with a file."""
    text = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    picture = re.search(r"^src/gpmnet/\n(.*?)^tests/", text, re.MULTILINE | re.DOTALL)[1]
    paragraphs = re.split(r"^  (?=\S)", picture, flags=re.MULTILINE)[1:]
    shown = set()
    for paragraph in paragraphs:
        first = paragraph.split()[0]
        folder = PACKAGE / (first if first.endswith("/") else "")
        shown |= {folder / name for name in re.findall(r"\w+\.py", paragraph)}
    there = {path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    assert (there - shown, shown - there - {PACKAGE / "__init__.py"}) == (set(), set())


def shown_commands():
    """Yield (page, command) for every `gpmnet ...` in a code block or in backticks that can be run as it stands."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [line for block in FENCE.findall(text) for line in block.splitlines()[1:-1]]
        spans = re.findall(r"`(gpmnet [^`]+)`", FENCE.sub("", text))
        for line in [*lines, *spans]:
            for part in re.split(r"#|; then: |, (?=gpmnet )", line):
                command = part.strip()
                if command.startswith("gpmnet ") and not re.search(r"\.\.\.|[\[|<]", command):
                    yield pytest.param(command, id=f"{identify(page)}: {command}")


@pytest.mark.parametrize("command", list(shown_commands()))
def test_shown_commands_parse(command):
    words = [NAMES.get(word, word) for word in shlex.split(command)[1:]]
    command = get_command(app)
    while words and (subcommands := getattr(command, "commands", None)):
        name = words.pop(0)
        assert name in subcommands, f"there is no command {name}"
        command = subcommands[name]
    takes_more = hasattr(command, "commands") or any(parameter.required for parameter in command.params)
    if words or not takes_more:  # else the page only names it
        command.make_context(command.name, words)


def test_there_are_commands_and_links_to_check():
    assert len(list(shown_commands())) > 15
    assert len(PAGES) > 20


@pytest.mark.parametrize("example", EXAMPLES, ids=identify)
def test_examples_compile_and_begin_with_a_title(example):
    text = example.read_text(encoding="utf-8")
    compile(text, str(example), "exec")
    title, line = text.splitlines()[1:3]
    assert set(line) == {"="}
    assert len(line) == len(title)


def test_every_page_is_reachable_from_the_start():
    """The trees of contents name every page of the site."""
    docs = ROOT / "docs"
    found, todo = set(), ["index"]
    while todo:
        name = todo.pop()
        if name in found or name.startswith("gallery/"):
            continue
        found.add(name)
        text = (docs / f"{name}.md").read_text(encoding="utf-8")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            entries = [line for line in block.split() if re.fullmatch(r"<?[\w/-]+>?", line)]
            below = Path(name).parent
            todo += [
                os.path.normpath(below / entry.strip("<>"))
                for entry in entries
                if (docs / below / f"{entry.strip('<>')}.md").exists()
            ]
    pages = {str(page.relative_to(docs).with_suffix("")) for page in PAGES if docs in page.parents}
    assert pages - found == set()


def test_the_picture_of_the_report_is_small():
    picture = ROOT / "docs" / "_static" / "report.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 400_000
