"""Files and folders of results: whole or not at all, and one writer at a time."""

from gpmnet.files.claim import check_writable, claimed
from gpmnet.files.plain import read_plain
from gpmnet.files.shelf import Shelf
from gpmnet.files.whole import settled, whole_file, whole_folder

__all__ = ["Shelf", "check_writable", "claimed", "read_plain", "settled", "whole_file", "whole_folder"]
