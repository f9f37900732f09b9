# SPDX-License-Identifier: GPL-2.0-only
"""TAP output, a sandbox of files that must not change, and ways to run the tool."""
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
REAL = os.path.join(TOP, "build", "optcachectl")
FAKE = os.path.join(TOP, "build", "optcachectl-fake-san")
RESCUE = os.path.join(TOP, "build", "optcachectl-rescue")
SHIM = os.path.join(TOP, "build", "tests", "shim.so")

ONE_LINE = re.compile(r"^optcachectl: (?:[a-z]+: )?(?P<what>.+?)\. (?P<next>[A-Z].+)\n$")


class Tap:
    def __init__(self):
        self.nr = self.passed = self.failed = self.skipped = 0

    def ok(self, good, name, diag=""):
        self.nr += 1
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print(f"{'ok' if good else 'not ok'} {self.nr} - {name}", flush=True)
        if not good:
            for line in str(diag).splitlines():
                print(f"#   {line}")
        return good

    def skip(self, name, why):
        self.nr += 1
        self.skipped += 1
        print(f"ok {self.nr} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.nr}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\nstdout: {self.out}\nstderr: {self.err}"

    def json(self):
        return json.loads(self.out)


class Sandbox:
    """A folder of files; state() tells whether any of them changed."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="optcachectl-")
        os.chmod(self.dir, 0o755)
        self.dm = os.path.join(self.dir, "dm")
        os.mkdir(self.dm)

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def file(self, name, size, fill=None):
        path = self.path(name)
        with open(path, "wb") as f:
            f.truncate(size)
        if fill:
            fill(path)
        return path

    def copy(self, name, new):
        shutil.copyfile(self.path(name), self.path(new))
        return self.path(new)

    def state(self, argv=()):
        """Of every file when it was last changed; of those that argv names also what is in it."""
        sums = {}
        for folder, _, names in os.walk(self.dir):
            for name in names:
                path = os.path.join(folder, name)
                st = os.lstat(path)
                digest = None
                if name in argv and stat.S_ISREG(st.st_mode) and st.st_size < 1 << 28:
                    with open(path, "rb") as f:
                        digest = hashlib.blake2b(f.read()).digest()
                # not the blocks it takes: the file system decides later where they are
                sums[path] = (st.st_size, st.st_mtime_ns, st.st_ctime_ns, digest)
        return sums

    # ---- devices of the simulation -------------------------------------

    def device(self, name, **fields):
        fields.setdefault("uuid", "OPTCACHE-0")
        fields.setdefault("sectors", 8192)
        fields.setdefault("table", "7:100 7:101 0")
        fields.setdefault("status", STATUS)
        with open(os.path.join(self.dm, name), "w") as f:
            for key, value in fields.items():
                f.write(f"{key}={value}\n")

    def control(self, **fields):
        with open(os.path.join(self.dm, ".control"), "w") as f:
            for key, value in fields.items():
                f.write(f"{key}={value}\n")

    def clear(self):
        for name in os.listdir(self.dm):
            os.unlink(os.path.join(self.dm, name))

    def messages(self, name):
        try:
            with open(os.path.join(self.dm, name + ".log")) as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    # ---- running -------------------------------------------------------

    def env(self):
        return dict(os.environ, FAKE_DM_DIR=self.dm, LC_ALL="C", PATH="/nonexistent",
                    ASAN_OPTIONS="detect_leaks=1", UBSAN_OPTIONS="print_stacktrace=1")

    def run(self, *argv, tool=FAKE, uid=None, stdin=subprocess.DEVNULL, shim=None):
        """shim: variables of shim.c, for the plain build"""
        def become():
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        env = self.env()
        if shim:
            env.update(shim, LD_PRELOAD=SHIM)
        p = subprocess.run([tool, *argv], cwd=self.dir, env=env, stdin=stdin,
                           capture_output=True, text=True, timeout=60,
                           preexec_fn=become if uid is not None else None)
        return Result(p.returncode, p.stdout, p.stderr)

    def run_interrupted(self, *argv, after=0.5, tool=FAKE):
        p = subprocess.Popen([tool, *argv], cwd=self.dir, env=self.env(), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        time.sleep(after)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
        return Result(p.returncode, out, err)

    def run_on_terminal(self, *argv, answer="", tool=FAKE):
        pid, fd = pty.fork()
        if not pid:
            os.chdir(self.dir)
            os.execve(tool, [tool, *argv], self.env())
        if answer:
            time.sleep(0.3)
            os.write(fd, answer.encode())
        out = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        return Result(os.waitstatus_to_exitcode(status), out.decode(), "")


STATUS = ("1 mode=writeback state=running health=ok slots=2022 slot_size=4096 free=1000 mapped=1022 dirty=0 "
          "fresh=0 memory=1080928 slot_memory=32352 reads=1000 read_hits=900 read_misses=80 read_bypass=20 "
          "writes=500 write_hits=300 write_new=150 write_bypass=50 flushes=40 origin_flushes=3 "
          "discards=0 fills=70 fills_skipped=1 evictions=5 writeback_blocks=200 "
          "writeback_ios=20 journal_commits=60 journal_records=700 journal_used=4096 "
          "journal_size=65536 checkpoints=2 cache_errors=0 origin_errors=0 lost=0 flush=idle "
          "flush_left=0 seq_cutoff=1024 writeback_delay=5 dirty_low=0 dirty_high=60")


def status(**changes):
    words = STATUS.split()
    for key, value in changes.items():
        words = [w for w in words if not w.startswith(key + "=")]
        if value is not None:
            words.append(f"{key}={value}")
    return " ".join(words)


def expect_error(tap, box, name, argv, code, what, then, tool=FAKE, **kw):
    """Exactly this exit code, one line that says what and the next step, nothing written."""
    before = box.state(argv)
    r = box.run(*argv, tool=tool, **kw)
    after = box.state(argv)
    line = ONE_LINE.match(r.err)
    good = (r.code == code and line and r.err.count("\n") == 1 and r.out == ""
            and re.search(what, line["what"]) and re.search(then, line["next"])
            and after == before)
    tap.ok(good, name, f"argv {argv}\nwant exit {code}, /{what}/, /{then}/\n{r}\n"
           f"files {'same' if after == before else 'CHANGED'}")
