# SPDX-License-Identifier: GPL-2.0-only
"""A job as the guest finds it: one directory with the script, its variables
and its files. UML mounts it, QEMU gets it as part of its initramfs."""

import pathlib
import re
import shlex
import shutil

from . import LabError
from .initramfs import GUEST


class Job:
    """What to run in the guest, and what it needs there."""

    def __init__(self, script, variables, files):
        self.script = existing(script)
        self.variables = [split_variable(v) for v in variables]
        self.files = [existing(f) for f in files]
        names = [f.name for f in self.files]
        for name in names:
            if names.count(name) > 1:
                raise LabError(f"two files called {name}: the guest keeps them in one directory")

    def stage(self, path, lab_variables):
        """Lay the job out under PATH, with the variables of user and lab."""
        for script in GUEST.iterdir():
            shutil.copy(script, path)
        shutil.copy(self.script, path / "job.sh")
        env = "".join(f"export {name}={shlex.quote(value)}\n"
                      for name, value in (*lab_variables, *self.variables))
        (path / "env.sh").write_text(env, encoding="utf-8")
        (path / "files").mkdir()
        for file in self.files:
            shutil.copy(file, path / "files")


def existing(name):
    """NAME as a path, if there is such a file."""
    path = pathlib.Path(name)
    if not path.is_file():
        raise LabError(f"there is no file '{name}'; build it first, or correct the command line")
    return path.resolve()


def split_variable(text):
    """'NAME=value' as a pair."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise LabError(f"'{text}' is not of the form NAME=value")
    return name, value
