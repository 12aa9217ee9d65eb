"""Build the compiled kernels; everything else is in pyproject.toml.

TABLECLOAK_CHECK_BOUNDS=1 builds kernels that check every index: slower, for tests.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

KERNELS = Path("src/tablecloak/solvers/kernels")
CHECK_BOUNDS = os.environ.get("TABLECLOAK_CHECK_BOUNDS", "") not in ("", "0")
NO_COMPILER = """
tablecloak was not installed: its kernels could not be compiled.

From source it needs a C compiler and the headers of Python. On Debian and Ubuntu:

    apt install gcc python3-dev

Or install the wheel, which needs neither:  pip install --only-binary tablecloak tablecloak
"""


class Build(build_ext):
    """Compile, or say in plain words what is missing."""

    def run(self) -> None:
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            sys.exit(f"{error}\n{NO_COMPILER}")


def sources() -> list[Path]:
    """The files that the kernels are compiled from."""
    return sorted([*KERNELS.glob("*.pyx"), *KERNELS.glob("*.pxi")])


def source_hash() -> str:
    """What `SOURCES` of the kernels says if it was compiled from these files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()


if __name__ == "__main__":
    from Cython.Build import cythonize

    extension = Extension(
        "tablecloak.solvers.kernels.compiled",
        [str(KERNELS / "compiled.pyx")],
        depends=[str(path) for path in sources()],
        define_macros=[("TABLECLOAK_SOURCES", f'"{source_hash()}"')],
        # the same bytes everywhere: no fused multiply-add, no reordered sums
        extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"],
    )
    setup(
        cmdclass={"build_ext": Build},
        ext_modules=cythonize(
            [extension], compiler_directives={"boundscheck": CHECK_BOUNDS}, force=CHECK_BOUNDS, quiet=True
        ),
    )
