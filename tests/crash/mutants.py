# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: copies of the module with one rule broken. A file in mutants/ says which rule,
and then, a file of the module at a time, which lines (-) become which (+). The lines must
be there, and only once: a mutant that no longer applies is an error, not a skip."""

import dataclasses

from campaign import HERE, OUT, Trouble

PLACE = HERE / "mutants"
TREE = ("Kbuild", "drivers", "include")


@dataclasses.dataclass
class Edit:
    """Some lines of a file, and what takes their place."""
    file: str
    old: str = ""
    new: str = ""

    def apply(self, tree, name):
        """Do it to the copy in TREE."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not self.old or text.count(self.old) != 1:
            raise Trouble(f"mutants/{name} does not apply to {self.file} any more: its lines "
                          f"are there {text.count(self.old)} times; bring it up to date")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclasses.dataclass
class Mutant:
    """One of them."""
    name: str
    breaks: str
    options: list
    edits: list


def parse(path):
    """A file of mutants/."""
    mutant = Mutant(path.name, "", [], [])
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        key, _, value = line.partition(": ")
        if key == "breaks":
            mutant.breaks = value
        elif key == "options":
            mutant.options = value.split()
        elif key == "file":
            mutant.edits.append(Edit(value))
        elif line[:1] in "-+" and mutant.edits:
            # a new pair of blocks in the same file
            if line[0] == "-" and mutant.edits[-1].new:
                mutant.edits.append(Edit(mutant.edits[-1].file))
            if line[0] == "-":
                mutant.edits[-1].old += line[1:] + "\n"
            else:
                mutant.edits[-1].new += line[1:] + "\n"
        else:
            raise Trouble(f"mutants/{path.name}:{number}: not understood")
    return mutant


def load(names=()):
    """Those with these names, or all."""
    found = [parse(path) for path in sorted(PLACE.iterdir())]
    unknown = set(names) - {m.name for m in found}
    if unknown:
        raise Trouble(f"there is no mutant {min(unknown)}")
    return [m for m in found if not names or m.name in names]


def sources(source):
    """The files that the module is made of, relative to SOURCE."""
    for name in TREE:
        top = source / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and (path.suffix in (".c", ".h") or path.name == "Kbuild"):
                yield path.relative_to(source)


def make(mutant, source, worker):
    """The mutant's sources, in the folder of this worker. What is right already is not
    touched: make compiles what is newer."""
    tree = OUT / f"mutant.{worker}"
    changed = {edit.file for edit in mutant.edits}
    for rel in sources(source):
        text, copy = (source / rel).read_bytes(), tree / rel
        if str(rel) in changed or not copy.exists() or copy.read_bytes() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(text)
    for edit in mutant.edits:
        edit.apply(tree, mutant.name)
    return tree
