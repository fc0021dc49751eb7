"""The stubs say what the extension has, type checkers accept them, and what the documentation shows works."""

import ast
import doctest
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sumout
from sumout import _fit, _sumout

HERE = Path(__file__).resolve().parent
CRATE, PROJECT = HERE.parent, HERE.parents[2]
EXAMPLES = sorted((CRATE / "examples").glob("*.py"))


def test_the_stubs_are_those_of_the_code(tmp_path):
    """`crates/sumout-py/stubs` writes them anew."""
    maturin = Path(sys.executable).with_name("maturin")
    if not maturin.exists():
        pytest.skip("maturin is not in this environment")
    command = [maturin, "generate-stubs", "--quiet", "--profile", "dev", "--manifest-path", CRATE / "Cargo.toml", "--out", tmp_path]
    subprocess.run(command, check=True)
    assert (tmp_path / "sumout/_sumout.pyi").read_text() == (CRATE / "python/sumout/_sumout.pyi").read_text()


def test_the_stubs_name_what_is_there():
    text = (CRATE / "python/sumout/_sumout.pyi").read_text()
    for name, thing in inspect.getmembers(_sumout):
        if inspect.isclass(thing):
            part = text[text.index(f"class {name}:") :]
            for member in vars(thing):
                if not member.startswith("_"):
                    assert re.search(rf"def {member}\(", part), f"{name}.{member}"
        elif not name.startswith("_"):
            assert name in text


def test_everything_public_is_documented():
    for name in sumout.__all__:
        thing = getattr(sumout, name)
        assert name.startswith("__") or inspect.getdoc(thing), name
        for member, value in vars(thing).items() if inspect.isclass(thing) else []:
            if inspect.isfunction(value) and not member.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize("module", ["sumout", "sumout._build"])
def test_what_docstrings_show(module):
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0 and found.failed == 0


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", [PROJECT / "README.md", PROJECT / "docs/python.md", PROJECT / "docs/causal.md", PROJECT / "docs/integrations.md"], ids=lambda path: path.name)
def test_what_the_documentation_shows(path, tmp_path, monkeypatch):
    """Blocks are run one after the other, as a reader would; what a comment two blanks behind an
    expression claims is compared."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").symlink_to(PROJECT / "models")
    names: dict[str, object] = {}
    found, missing = blocks(path), set()
    assert found
    for block in found:
        needed = re.findall(r"^(?:import|from) (pandas|polars|pyarrow|torch|sklearn|pgmpy|pyagrum)", block, flags=re.MULTILINE)
        lacking = {name for name in needed if importlib.util.find_spec(name) is None}
        missing |= lacking
        for statement in statements(block) if not lacking else []:
            check(statement, names)
    if missing:
        pytest.skip(f"all but the blocks that need {', '.join(sorted(missing))}")


def statements(block):
    lines = block.splitlines()
    for node in ast.parse(block).body:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        yield text, isinstance(node, ast.Expr), node


def check(statement, names):
    text, is_expression, _ = statement
    claim = re.search(r"(?<! )  # (.*)$", text.splitlines()[-1])
    if not is_expression:
        exec(text, names)
        return
    value = eval(text.strip(), names)
    if claim and value is not None:
        assert doctest.OutputChecker().check_output(claim[1] + "\n", repr(value) + "\n", doctest.ELLIPSIS), f"{text}\nis {value!r}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path):
    needed = re.findall(r"^# Needs: (.*)$", path.read_text(), flags=re.MULTILINE)
    for name in [name for names in needed for name in names.split(", ")]:
        pytest.importorskip(name)
    done = subprocess.run([sys.executable, path, "--quick"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def optional_modules():
    """The modules of optional packages that the package and its examples import."""
    known = {*sys.stdlib_module_names, "numpy", "sumout", "_typeshed", "typing_extensions"}
    for path in [*(CRATE / "python").rglob("*.py"), *EXAMPLES]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            yield from (name for name in names if name.partition(".")[0] not in known)


def write_stub(folder, module):
    """A stub in which everything has the type `Any`, for a module and for the packages it is in."""
    for part in module.split("."):
        folder = folder / part
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.pyi").write_text("from typing import Any\ndef __getattr__(name: str) -> Any: ...\n")


@pytest.mark.parametrize("replaced", ["missing", "all"])
def test_type_checkers_accept_package_and_examples(replaced, tmp_path):
    """With the types of the optional packages that are installed, and with those of none: a package
    that is missing, or whose types are ignored, has the type `Any`."""
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not in this environment")
    for name in ["python", "examples"]:
        shutil.copytree(CRATE / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    shutil.copy(CRATE / "pyproject.toml", tmp_path)
    for module in optional_modules():
        if replaced == "all" or importlib.util.find_spec(module.partition(".")[0]) is None:
            write_stub(tmp_path / "typings", module)
    done = subprocess.run([pyright, "--project", tmp_path, "--pythonpath", sys.executable], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_options_of_learning_are_those_that_it_takes():
    taken = [name for name, p in inspect.signature(_fit.fit).parameters.items() if p.kind is p.KEYWORD_ONLY and name[0] != "_"]
    assert {**_fit.CircuitOptions.__annotations__, **_fit.Options.__annotations__}.keys() == set(taken)
    listed = inspect.getdoc(sumout.Network.fit)
    assert [name for name in taken if f"``{name}``" not in listed] == []
