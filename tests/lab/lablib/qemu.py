# SPDX-License-Identifier: GPL-2.0-only
"""QEMU guests: the command line, the disks, and the choice of accelerator."""

import pathlib
import re
import shutil

from . import LabError, cache, console, initramfs

PROBE_S = 20

CMDLINE = ("console=ttyS0 loglevel=5 panic=-1 oops=panic nokaslr mitigations=off log_buf_len=4M"
           " null_blk.nr_devices=0 random.trust_cpu=on")

# QEMU goes byte by byte through the string instructions that these flags call fast.
TCG_CPU = "max,-erms,-fsrm"

# One instruction is one nanosecond, and nothing outside the guest has a say.
SIM_ACCEL = ["-accel", "tcg,thread=single", "-cpu", f"{TCG_CPU},-rdrand,-rdseed",
             "-seed", "42", "-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=0,sleep=off"]
SIM_CMDLINE = (" tsc=reliable nowatchdog norandmaps randomize_kstack_offset=off"
               " kfence.sample_interval=0")

# Options a disk takes: pattern of the value.
DISK_OPTIONS = {
    "nvme": {"lbs": r"512|4096", "wc": r"on|off", "file": r".+", "nbd": r".+"},
    "scsi": {"lbs": r"512|4096", "iops": r"[1-9]\d*", "file": r".+", "nbd": r".+"},
}
DISK_FORMS = ("nvme:SIZE[,lbs=4096][,wc=off][,file=IMAGE|,nbd=SOCKET] or "
              "scsi:SIZE[,lbs=512][,iops=150][,file=IMAGE|,nbd=SOCKET]")


class Disk:
    """A --disk option, taken apart."""

    def __init__(self, spec):
        kind, _, rest = spec.partition(":")
        size, *options = rest.split(",")
        if kind not in DISK_OPTIONS or not re.fullmatch(r"[1-9]\d*[KMGT]?", size):
            raise LabError(f"--disk {spec}: expected {DISK_FORMS}")
        self.kind = kind
        self.size = parse_size(size)
        self.options = {}
        for option in options:
            key, _, value = option.partition("=")
            if not re.fullmatch(DISK_OPTIONS[kind].get(key, r"(?!)"), value):
                raise LabError(f"--disk {spec}: '{option}' is not an option of {kind}; "
                               f"expected {DISK_FORMS}")
            self.options[key] = value
        if "file" in self.options and "nbd" in self.options:
            raise LabError(f"--disk {spec}: file= and nbd= are two places; name one")

    def store(self, index, stage):
        """Where QEMU keeps the data; without file= as long as the run."""
        if "nbd" in self.options:
            return f"nbd:unix:{pathlib.Path(self.options['nbd']).resolve()}"
        image = pathlib.Path(self.options.get("file") or stage / f"disk{index}.img").resolve()
        if not image.exists():
            with open(image, "wb") as handle:
                handle.truncate(self.size)
        return str(image)

    def arguments(self, index, stage):
        """QEMU arguments."""
        name, lbs = f"lab{index}", self.options.get("lbs", "512")
        drive = (f"if=none,id=d{index},format=raw,discard=unmap,detect-zeroes=unmap,"
                 f"file={self.store(index, stage).replace(',', ',,')}")
        if self.kind == "nvme":
            cache_off = ",write-cache=off" if self.options.get("wc") == "off" else ""
            return ["-drive", drive, "-device", f"nvme,id=nvme{index},serial={name}",
                    "-device", f"nvme-ns,drive=d{index},bus=nvme{index},"
                    f"logical_block_size={lbs},physical_block_size={lbs}{cache_off}"]
        if "iops" in self.options:
            drive += f",throttling.iops-total={self.options['iops']}"
        return ["-drive", drive, "-device",
                f"scsi-hd,drive=d{index},bus=scsi.0,scsi-id={index},serial={name},"
                f"logical_block_size={lbs},physical_block_size=4096,rotation_rate=7200,dpofua=on"]


def parse_size(text):
    """'4G' as a number of bytes."""
    unit = "KMGT".find(text[-1]) + 1
    return int(text[:-1] if unit else text) << (10 * unit)


def command(vmlinux, kver, module_base, machine, stage, out):
    """The command line of a guest that runs the job staged in STAGE."""
    entry = vmlinux.parent
    base = initramfs.base(entry, module_base / "lib/modules" / kver, kver)
    image = join(stage / "initramfs.cpio", base, job_archive(stage))
    sim = machine.time == "sim"
    if sim and machine.smp > 1:
        raise LabError("--time sim counts the instructions of one processor; leave out --smp")
    accel = SIM_ACCEL if sim else accelerator(vmlinux, base)
    argv = [initramfs.find_tool("qemu-system-x86_64"), "-machine", "q35", *accel,
            "-smp", machine.smp, "-m", machine.mem, "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-serial", "stdio",
            "-device", "isa-debug-exit,iobase=0x501,iosize=1",
            "-virtfs", f"local,path={str(out).replace(',', ',,')},mount_tag=results,"
            "security_model=none", "-device", "virtio-scsi-pci,id=scsi",
            "-kernel", vmlinux, "-initrd", image,
            "-append", CMDLINE + (SIM_CMDLINE if sim else "")]
    if machine.pidfile:
        argv += ["-pidfile", pathlib.Path(machine.pidfile).resolve()]
    for index, disk in enumerate(machine.disks):
        argv += disk.arguments(index, stage)
    return [str(a) for a in argv]


def job_archive(stage):
    """The staged job as an archive, each program with its libraries."""
    archive = initramfs.Archive()
    for path in sorted(stage.rglob("*")):
        if path.is_file() and path.suffix not in (".cpio", ".img"):
            name = f"run/lab/job/{path.relative_to(stage)}"
            archive.file(name, path.read_bytes(), path.stat().st_mode & 0o777)
            for library in initramfs.libraries(path) if path.suffix != ".ko" else ():
                archive.file(str(library), library.read_bytes(), 0o755)
    archive.symlink("init", "run/lab/job/qemu-init.sh")
    return archive.write(stage / "job.cpio")


def join(image, *parts):
    """Several archives as one initramfs, which may be just that."""
    with open(image, "wb") as whole:
        for part in parts:
            with open(part, "rb") as handle:
                shutil.copyfileobj(handle, whole)
    return image


def accelerator(vmlinux, base):
    """KVM where it really boots this kernel, else emulation.

    /dev/kvm may exist and still not work (nested virtualisation), so the
    first run after the machine's own boot tries it, with a short limit.
    """
    tcg = ["-accel", "tcg,thread=multi", "-cpu", TCG_CPU]
    kvm = ["-accel", "kvm", "-cpu", "host"]
    try:
        with open("/dev/kvm", "r+b"):
            pass
    except OSError:
        return tcg
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    answer = cache.root() / f"kvm-{boot_id}"
    with cache.lock("kvm"):
        if not answer.exists():
            for old in cache.root().glob("kvm-*"):
                old.unlink()
            answer.write_text("yes" if kvm_boots(kvm, vmlinux, base) else "no", encoding="ascii")
    return kvm if answer.read_text(encoding="ascii") == "yes" else tcg


def kvm_boots(accel, vmlinux, base):
    """True if a guest with the accelerator ACCEL gets as far as its first process."""
    cache.note("trying whether /dev/kvm works here")
    with cache.scratch("kvm") as tmp:
        probe = initramfs.Archive()
        probe.file("init", f"#!/bin/sh\necho '{console.JOB_STARTS}kvm'\n"
                   "/bin/busybox poweroff -f\n".encode(), 0o755)
        image = join(tmp / "initramfs", base, probe.write(tmp / "probe.cpio"))
        argv = [initramfs.find_tool("qemu-system-x86_64"), "-machine", "q35", *accel, "-m", "1G",
                "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-serial", "stdio", "-kernel", vmlinux, "-initrd", image,
                "-append", "console=ttyS0 panic=-1"]
        verdict = console.watch([str(a) for a in argv], tmp / "console.log", PROBE_S,
                                verbose=False)
    return verdict.started
