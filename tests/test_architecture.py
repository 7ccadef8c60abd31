"""What must hold for the code as a whole and is kept by no other tool."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "hookviewer"
MODULES = sorted(PACKAGE.rglob("*.py"))
GUI = sorted((PACKAGE / "gui").rglob("*.py"))
TEXTS = {
    *ROOT.glob("*.md"),
    *ROOT.glob("*.toml"),
    *ROOT.glob(".ci/*"),
    *ROOT.glob("resources/*.md"),
}
FILES = sorted({*TEXTS, *ROOT.glob("hookviewer/**/*.py"), *ROOT.glob("tests/**/*.py")})

SAYS = {  # functions and keywords whose text a user reads
    "setText", "setToolTip", "setStatusTip", "setWhatsThis", "setWindowTitle", "setTitle",
    "setAccessibleName", "setAccessibleDescription", "setPlaceholderText", "setDetailedText",
    "setInformativeText", "setNameFilter", "setNameFilters", "setHorizontalHeaderLabels",
    "setPrefix", "setSuffix", "addItem", "addItems", "addAction", "addMenu", "addTab", "addRow",
    "addButton", "showMessage", "show_message", "say", "emit",
    "QLabel", "QPushButton", "QToolButton", "QCheckBox", "QRadioButton", "QGroupBox", "QAction",
    "QDockWidget", "QMessageBox", "QLineEdit", "QListWidgetItem", "QFileDialog", "QMenu",
    "ElidedLabel", "getOpenFileName", "getSaveFileName",
}  # fmt: skip
SAYING_KEYWORDS = {"text", "placeholderText", "toolTip", "windowTitle", "title"}


def names_of(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def called(call):
    """Return the name of what is called: ``tr`` for ``self.tr(...)``."""
    function = call.func
    return getattr(function, "attr", getattr(function, "id", ""))


def spoken(node):
    """Yield the literals with letters in an expression that reach the user untranslated."""
    if isinstance(node, ast.Constant):
        text = str(node.value).replace("hookviewer", "")  # a name, the same in all languages
        if isinstance(node.value, str) and re.search("[^\\W\\d_]{2}", text):
            yield node.value
    elif isinstance(node, ast.Call):
        if called(node) not in ("tr", "_tr", "translate", "property"):
            for part in (node.func, *node.args):
                yield from spoken(part)
    elif isinstance(node, ast.Attribute | ast.Subscript):
        yield from spoken(node.value)
    else:
        for part in ast.iter_child_nodes(node):
            yield from spoken(part)


def untranslated(source):
    """Return (line, literal) of what a user would read in English whatever the language."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        said = [*node.args] if called(node) in SAYS else []
        said += [keyword.value for keyword in node.keywords if keyword.arg in SAYING_KEYWORDS]
        for part in said:
            found += [(node.lineno, text) for text in spoken(part)]
    return found


def test_what_needs_no_window_imports_no_qt():
    headless = [path for path in MODULES if path not in GUI and path.name != "__main__.py"]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in headless]
    code = (
        f"import sys, {', '.join(name.removesuffix('.__init__') for name in names)};"
        "print(sorted({'PySide6', 'pyqtgraph', 'shiboken6'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert len(headless) > 30
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("module", MODULES, ids=names_of(MODULES))
def test_a_module_is_short_and_says_what_it_is_for(module):
    source = module.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(source)) is not None


def lines_of_code(function):
    """Return how long a function is from its name to its end, without its docstring."""
    first = function.body[0]
    said = first.end_lineno - first.lineno + 1 if ast.get_docstring(function) else 0
    return function.end_lineno - function.lineno + 1 - said


def test_functions_are_short():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and lines_of_code(node) > 45
    ]
    assert long == []


def test_hooks_are_registered_in_one_place():
    users = [
        path
        for path in MODULES
        if re.search(r"register_\w*(hook|prehook)\(", path.read_text(encoding="utf-8"))
    ]
    assert names_of(users) == ["hookviewer/engine/recorder.py"]


def test_nobody_prints_or_asserts():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and called(node) in ("print", "breakpoint"))
    ]
    assert found == []


def test_nobody_asks_torch_to_run_code_from_a_file():
    users = [path for path in MODULES if re.search(r"weights_only\s*=\s*False", path.read_text())]
    assert users == []


@pytest.mark.parametrize("module", GUI, ids=names_of(GUI))
def test_whatever_the_user_reads_can_be_translated(module):
    assert untranslated(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("label.setText('a cat')", ["a cat"]),
        ("QLabel(text=f'{count} cats')", [" cats"]),
        ("bar.show_message('a ' + cat)", []),
        ("chooser.addItem('a cat' if cat else self.tr('a dog'))", ["a cat"]),
        ("label.setText(self.tr('{n} cats').format(n=n))", []),
        ("label.setText('{n} cats'.format(n=n))", ["{n} cats"]),
        ("label.setText(' × '.join(shape))", []),
        ("QMessageBox(icon, 'hookviewer', text)", []),
        ("QLineEdit(placeholderText='search')", ["search"]),
        ("dock.setObjectName('maps')", []),
    ],
)
def test_this_very_search_finds_what_is_not_translated(source, found):
    assert [text for _, text in untranslated(source)] == found


def test_texts_to_translate_are_literals():
    """The translator's tools read the source: they find no text that is put together first."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in GUI
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and called(node) in ("tr", "_tr", "translate")
        and not isinstance(node.args[-1], ast.Constant | ast.Name)
    ]
    assert found == []


def test_no_file_knows_a_machine_a_home_or_a_mirror():
    private = re.compile(
        r"/home/\w|/root\b|/Users/\w|[A-Z]:\\\\Users|https?://[\w.]*(artifactory|nexus|mirror|proxy)"
        r"|index-url|\b10\.\d+\.\d+\.\d+\b|\b192\.168\.\d+\.\d+\b"
    )
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in FILES
        if path != Path(__file__)
        for match in private.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
