"""Sphinx: `make docs` builds the site into docs/_build/html. Nothing is downloaded, then or when it is read."""

import os
import sys
from pathlib import Path

from gpmnet import __version__

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the same pictures on every machine
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "gpmnet"
author = "The gpmnet developers"
copyright = "the gpmnet developers"
version = release = __version__

extensions = [
    "demo",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_demo", "figures"]
highlight_language = "none"
nitpicky = True
# What other projects define is not looked up, since that would need their inventories; our own names must resolve.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!gpmnet\.).*"),
    (
        r"py:.*",
        r"gpmnet\.(baselines\.(kci_iamb\._Iamb|isolate\.T|ci_tests\.kci_test|pc\.pc_moral)|parts\.P|parallel\.Answer|energies\.pairwise\.RowFunctions"
        r"|simulate\.(decomposable\.perfect_dag|gaussian\.GaussianLaw)|table\.raw\.RawTable|table\.order|jobs\.cluster\.Caller|files\.shelf\.Kind)",
    ),  # not public
]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
default_role = "py:obj"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
strip_signature_backslash = True  # names that end in _ keep it
add_module_names = False
toc_object_entries_show_parents = "hide"

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 160)]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    # The proteins are not part of the package; where the file is named, the example joins in.
    "ignore_pattern": r"__init__" if "GPMNET_SACHS" in os.environ else r"sachs",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "gpmnet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_demo/site"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "changelog": []}
