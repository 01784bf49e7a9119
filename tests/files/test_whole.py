import errno
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpmnet.errors import InputError
from gpmnet.files import claimed, settled, whole, whole_file, whole_folder
from gpmnet.files.leftovers import _host, new_place

FILES = ("a.txt", "b.txt", "c.txt")


def write(out, text, names=FILES):
    with whole_folder(out, FILES) as beside:
        for name in names:
            (beside / name).write_text(text)


def contents(out):
    return {path.name: path.read_text() for path in out.iterdir() if path.is_file()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# A stop at every call that changes the disk: the process ends there as a kill would end it.
STOP = """
import os, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from gpmnet.files import whole
from test_whole import write
left = int(sys.argv[2])
def counting(function):
    def call(*given, **more):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*given, **more)
    return call
for owner, name in [(os, "rename"), (os, "replace"), (os, "link"), (os, "mkdir"), (os, "unlink"), (os, "rmdir"),
                    (whole, "_exchange"), (whole, "_flush_file")]:
    setattr(owner, name, counting(getattr(owner, name)))
os.chdir(sys.argv[3])
write(Path(sys.argv[1]), "new", ("a.txt", "b.txt"))
os._exit(7)
"""


def stopped_writes(out, where, most=40):
    """Yield after every moment at which writing to a folder can be stopped."""
    code = STOP.format(here=str(Path(__file__).parent))
    for moment in range(most):
        write(out, "old")
        (out / "mine.txt").write_text("mine")
        done = subprocess.run([sys.executable, "-c", code, str(out), str(moment), str(where)], timeout=60)
        yield moment
        if done.returncode == 7:
            return
        assert done.returncode == 9
    raise AssertionError("it never ended")


OLD = {"a.txt": "old", "b.txt": "old", "c.txt": "old", "mine.txt": "mine"}
NEW = {"a.txt": "new", "b.txt": "new", "mine.txt": "mine"}


def test_whenever_it_is_stopped_a_folder_is_the_old_one_or_the_new_one(tmp_path):
    found = [contents(tmp_path / "out") for _ in stopped_writes(tmp_path / "out", tmp_path)]
    assert all(one in (OLD, NEW) for one in found)
    assert found[0] == OLD
    assert found[-1] == NEW
    write(tmp_path / "out", "last")
    assert names(tmp_path) == ["out"], "what stopped processes left is cleared"


def test_where_it_cannot_be_exchanged_the_next_to_come_finishes_it(tmp_path):
    out = tmp_path / "out"
    found = []
    for _ in stopped_writes(out, tmp_path):
        settled(out)
        found.append(contents(out))
        (out / "folder").mkdir(exist_ok=True)
    assert all(one in (OLD, NEW) for one in found[1:])
    assert found[-1] == NEW
    write(out, "last")
    assert names(tmp_path) == ["out"]
    assert names(out) == ["a.txt", "b.txt", "c.txt", "folder", "mine.txt"]


def test_a_folder_of_folders_and_links_stays_what_it_is(tmp_path):
    out = tmp_path / "out"
    write(out, "old")
    (out / "link").symlink_to("a.txt")
    out.chmod(0o750)
    write(out, "new")
    assert os.readlink(out / "link") == "a.txt"
    assert out.stat().st_mode & 0o777 == 0o750
    (out / "folder").mkdir()
    (out / "folder" / "mine").write_text("mine")
    inode = out.stat().st_ino
    write(out, "newer", ("a.txt",))
    assert out.stat().st_ino == inode
    assert names(out) == ["a.txt", "folder", "link"]
    assert (out / "folder" / "mine").read_text() == "mine"


def test_the_working_folder_is_never_exchanged(tmp_path, monkeypatch):
    write(tmp_path / "out", "old")
    monkeypatch.chdir(tmp_path / "out")
    write(Path("."), "new")
    assert Path("a.txt").read_text() == "new"
    assert names(Path(".")) == list(FILES)


def test_an_error_leaves_everything_as_it_was(tmp_path):
    write(tmp_path / "out", "old")

    def fail(error):
        def fails(path):
            path.write_text("new")
            raise error

        with pytest.raises((InputError, KeyError)), whole_folder(tmp_path / "out", FILES) as beside:
            fails(beside / "a.txt")
        with pytest.raises((InputError, KeyError)), whole_file(tmp_path / "file") as beside:
            fails(beside)

    fail(KeyError("x"))
    fail(OSError(errno.ENOSPC, "No space left on device"))
    assert contents(tmp_path / "out") == dict.fromkeys(FILES, "old")
    assert names(tmp_path) == ["out"]


def test_a_limit_on_the_size_of_files_is_one_line(tmp_path):
    write(tmp_path / "out", "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match=r"^'.*out' cannot be written: File too large$"):
            write(tmp_path / "out", "new" * 1000)
        with (
            pytest.raises(InputError, match=r"^'.*f.bin' cannot be written: File too large$"),
            whole_file(tmp_path / "f.bin") as beside,
        ):
            beside.write_bytes(b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert contents(tmp_path / "out") == dict.fromkeys(FILES, "old")
    assert names(tmp_path) == ["out"]


def test_only_our_own_stale_leftovers_are_cleared(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "mine.part").write_text("mine")
    (tmp_path / ".out.part").mkdir()
    stale = tmp_path / f".out.{_host()}-{ended.pid}-0123abcd.part"
    reused = tmp_path / f".out.{_host()}-{os.getpid()}-0123abcd.part"  # of an earlier process with our number
    full = tmp_path / f".out.{_host()}-{ended.pid}-11111111.part"
    running = tmp_path / f".out.{_host()}-1-0123abcd.part"
    elsewhere = tmp_path / ".out.00000000-77-0123abcd.part"
    other = tmp_path / f".other.{_host()}-{ended.pid}-0123abcd.part"
    for folder in (stale, reused, full, running, elsewhere, other):
        folder.mkdir()
        (folder / "a.txt").write_text("half")
    (full / "precious").write_text("not ours")
    write(tmp_path / "out", "whole")
    assert not stale.exists()
    assert not reused.exists()
    assert names(full) == ["precious"]
    assert names(tmp_path) == sorted(
        ["mine.part", ".out.part", "out", *(p.name for p in (full, running, elsewhere, other))]
    )
    day = time.time() - 2 * 86_400
    os.utime(elsewhere, (day, day))
    write(tmp_path / "out", "again")
    assert not elsewhere.exists()


def test_a_leftover_file_is_cleared_and_never_in_the_way(tmp_path):
    leftover = tmp_path / f".net.json.{_host()}-{os.getpid()}-0123abcd.part"
    leftover.mkdir()  # nothing that a file could replace
    stale = tmp_path / f".other.json.{_host()}-{os.getpid()}-0123abcd.part"
    stale.write_text("half")
    foreign = tmp_path / ".film.123.part"
    foreign.write_text("mine")
    mine = new_place(tmp_path, "busy")
    mine.write_text("being written")
    with whole_file(tmp_path / "net.json") as beside:
        beside.write_text("{}")
    assert (tmp_path / "net.json").read_text() == "{}"
    assert not stale.exists()
    assert foreign.exists()
    assert mine.exists()


def test_of_two_that_make_a_folder_one_wins_whole_and_the_other_is_told(tmp_path):
    with (
        pytest.raises(InputError, match="another run has written to") as caught,
        whole_folder(tmp_path / "out", FILES),
    ):
        write(tmp_path / "out", "first")
    assert "\n" not in str(caught.value)
    assert contents(tmp_path / "out") == dict.fromkeys(FILES, "first")
    assert names(tmp_path) == ["out"]


HOLD = """
import sys, time
from pathlib import Path
from gpmnet.files import claimed
with claimed(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("there", [False, True])
def test_a_claim_keeps_others_out_until_its_process_ends(tmp_path, there):
    out = tmp_path / "new" / "out"
    if there:
        out.mkdir(parents=True)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(out)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "mine\n"
    with pytest.raises(InputError, match=r"another run is writing to .*out'; wait for it"), claimed(out):
        pass
    holder.kill()
    holder.wait()
    with claimed(out):
        write(out, "mine")
    assert names(tmp_path / "new") == ["out"]


def test_long_names_that_begin_alike_are_different_folders(tmp_path):
    one, other = (
        tmp_path / ("a study with a long name " * 9 + "of this and that and more " + x) for x in "12"
    )
    with claimed(one), claimed(other):
        write(one, "one")
        write(other, "other")
    assert contents(one) == dict.fromkeys(FILES, "one")
    assert names(tmp_path) == [one.name, other.name]


IN_ASCII = """
import os, sys
from pathlib import Path
from gpmnet.files import claimed, whole_folder
assert sys.getfilesystemencoding() == "ascii"
with claimed(Path(sys.argv[1])), whole_folder(Path(sys.argv[1]), ("a",)) as beside:
    (beside / "a").write_text("new")
"""


def test_a_name_that_the_locale_has_no_letters_for(tmp_path):
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", IN_ASCII, tmp_path / "été"], env=os.environ | settings, check=True)
    assert (tmp_path / "été" / "a").read_text() == "new"
    assert names(tmp_path) == ["été"]


def test_a_claim_leaves_nothing_where_nothing_came_of_it(tmp_path):
    with pytest.raises(KeyError), claimed(tmp_path / "a" / "b" / "out"):
        raise KeyError
    assert names(tmp_path) == []


def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; a folder is needed"), claimed(tmp_path / "file"):
        pass
    for out in (Path("/proc/out"), tmp_path / "file" / "out", tmp_path / ("long" * 200)):
        with pytest.raises(InputError, match="cannot be written: "), claimed(out):
            pass


def made_ready(out, listed):
    (out / whole.READY).mkdir(parents=True)
    (out / whole.READY / "moves.json").write_text(listed)


@pytest.mark.parametrize(
    "listed",
    [
        '{"new": [], "gone": {"../victim": [1, 2, 3]}}',
        '{"new": ["../victim"]}',
        '{"new": ["moves.json"]}',
        '{"new": ["a\\u0000b"]}',
        '{"new": [5]}',
        '{"new": 5}',
        '{"gone": ["mine"]}',
        '{"gone": null}',
        "[]",
        "null",
        "{",
        "[" * 100_000,
    ],
    ids=lambda listed: listed[:40],
)
def test_a_list_of_moves_that_is_none_of_ours_is_refused_in_one_line(tmp_path, listed):
    made_ready(tmp_path / "out", listed)
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(InputError, match="is not what a stopped run leaves") as caught:
        settled(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "victim").read_text() == (tmp_path / "out" / "mine").read_text() == "mine"


def test_a_link_to_another_folder_is_not_taken_for_what_is_ready(tmp_path):
    (tmp_path / "out").mkdir()
    made_ready(tmp_path / "home", '{"new": ["secret"]}')
    (tmp_path / "home" / whole.READY / "secret").write_text("mine")
    (tmp_path / "out" / whole.READY).symlink_to(tmp_path / "home" / whole.READY)
    with pytest.raises(InputError, match="it is a link"):
        settled(tmp_path / "out")
    assert names(tmp_path / "home" / whole.READY) == ["moves.json", "secret"]


def test_a_file_that_somebody_else_listed_is_not_removed(tmp_path):
    made_ready(tmp_path / "out", '{"new": [], "gone": {"thesis.txt": [1, 2, 3]}}')
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    settled(tmp_path / "out")
    assert names(tmp_path / "out") == ["thesis.txt"]
