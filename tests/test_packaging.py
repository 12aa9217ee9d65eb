"""What users install: the wheel needs no compiler, the sources are complete, and a missing compiler is named."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from setuptools import Distribution, Extension

ROOT = Path(__file__).parents[1]
WHERE = "import tablecloak; print(tablecloak.__file__)"


def run(*command: object, **options: object) -> str:
    """The output of a program that must end well."""
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_runs_the_readme_where_there_is_no_compiler(tmp_path: Path) -> None:
    """Built from the source distribution; installed alone, with the dependencies of this environment."""
    run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT)
    (wheel,), (sources,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    packed = zipfile.ZipFile(wheel).namelist()
    kernels = "tablecloak/solvers/kernels/"
    assert f"{kernels}compiled{sysconfig.get_config_var('EXT_SUFFIX')}" in packed
    assert {f"{kernels}compiled.pyi", "tablecloak/py.typed"} <= set(packed)
    assert not [name for name in packed if name.endswith((".pyx", ".pxi", ".c"))]
    with tarfile.open(sources) as archive:
        assert not [name for name in archive.getnames() if name.endswith((".c", ".so", ".pyd"))]

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    (site,) = environment.glob("lib/*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    path = str(environment / "bin")
    assert not any(shutil.which(name, path=path) for name in ("cc", "gcc", "clang", "make"))
    plain = {"PATH": path, "HOME": str(tmp_path)}
    assert Path(run(python, "-c", WHERE, env=plain, cwd=tmp_path).strip()).is_relative_to(environment)
    (example, *_) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert "SAFE" in run(python, "-c", example, env=plain, cwd=tmp_path)
    assert (tmp_path / "turnover.html").is_file()


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.c").write_text("int one;\n", encoding="utf-8")
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    build = runpy.run_path(str(ROOT / "setup.py"))["Build"]
    command = build(Distribution({"ext_modules": [Extension("one", ["one.c"])]}))
    command.ensure_finalized()
    with pytest.raises(SystemExit, match=r"(?s)apt install gcc python3-dev.*wheel"):
        command.run()
