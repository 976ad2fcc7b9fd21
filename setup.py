"""The one step of the build that pyproject.toml cannot say: the stored tables, which
stand in ``tables/``, go into the package as ``okbook/_tables``."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithTables(build_py):
    def _tables(self):
        "Each file, and where it goes. An editable package reads the folder itself."
        into = Path(self.build_lib, "okbook", "_tables")
        if self.editable_mode:
            return []
        sums = Path("tables", "SHA256SUMS")
        listed = [line.split(maxsplit=1)[1] for line in sums.read_text().splitlines()]
        files = [sums, *(sums.parent / name for name in listed)]
        return [(file, into / file.relative_to("tables")) for file in files]

    def run(self):
        super().run()
        for file, target in self._tables():
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))

    def get_outputs(self, include_bytecode=True):
        own = super().get_outputs(include_bytecode)
        return own + [str(target) for _, target in self._tables()]


setup(cmdclass={"build_py": BuildWithTables})
