# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# optcachectl against the real module, as a job of the lab:
#
#	tests/lab/lab run uml-6.12-debug tests/tool/lab-job.sh \
#		--module .../dm-optcache.ko --file build/optcachectl

step()
{
	want=$1
	shift
	code=0
	"$@" >/tmp/out 2>/tmp/err || code=$?
	if [ "$code" != "$want" ]; then
		cat /tmp/out /tmp/err
		fail "exit $code, not $want: $*"
	fi
	say "exit $code: $*"
	sed 's/^/#   /' /tmp/out /tmp/err | head -n 24
}

hash_of()
{
	sha256sum "$1" | cut -d' ' -f1
}

null_disk fast 32 blocksize=512
null_disk slow 128 blocksize=512
fast=/dev/fast
slow=/dev/slow

step 69 optcachectl create --name t $fast $slow
load_module dm-optcache
dd if=/dev/urandom of=$slow bs=1M count=16 conv=fsync 2>/dev/null
before=$(hash_of $slow)

step 0 optcachectl list
step 73 optcachectl create $slow $slow
step 0 optcachectl create --name t --set writeback_delay=3600 --set seq_cutoff=0 $fast $slow
[ "$(hash_of /dev/mapper/t)" = "$before" ] || fail "the device shows other data than the disk"
[ "$(hash_of $slow)" = "$before" ] || fail "create changed the disk"
step 0 optcachectl list
step 0 optcachectl set --show t
grep -q 'writeback_delay *3600' /tmp/out || fail "the option did not arrive"
step 0 optcachectl attach $fast $slow
grep -q 'already active' /tmp/out || fail "attach does not see the active pair"
step 75 optcachectl check $fast
step 75 optcachectl format --force --yes $fast $slow

step 0 optcachectl mode t writethrough
step 0 optcachectl mode t writeback
dd if=/dev/urandom of=/dev/mapper/t bs=4k count=1000 seek=100 oflag=direct 2>/dev/null
now=$(hash_of /dev/mapper/t)
step 0 optcachectl status t
step 0 optcachectl status --json t
grep -q '"dirty":1000' /tmp/out || fail "not all of 1000 blocks are dirty"
step 0 optcachectl stats t
step 0 optcachectl set t dirty_low=70 dirty_high=80
step 64 optcachectl set t dirty_low 90

# what a crash would leave: sound, but the journal has to be replayed
dd if=$fast of=/tmp/image bs=1M iflag=direct 2>/dev/null
step 1 optcachectl check /tmp/image
step 0 optcachectl dump --no-mappings /tmp/image
grep -q '1000 dirty' /tmp/out || fail "replay does not give 1000 dirty blocks"

# a stop without write-back, and what check and dump say about it
dmsetup remove t
step 0 optcachectl check $fast
step 0 optcachectl dump $fast
grep -q '1000 dirty' /tmp/out || fail "dump does not see 1000 dirty blocks"
step 73 optcachectl format $fast $slow
step 65 optcachectl attach $slow $fast
step 0 optcachectl attach --name t $fast $slow
[ "$(hash_of /dev/mapper/t)" = "$now" ] || fail "other data after attach"
step 0 optcachectl set --show t
grep -q 'dirty_high *80' /tmp/out || fail "the options were not saved"

step 0 optcachectl flush t
[ "$(hash_of $slow)" = "$now" ] || fail "flush did not bring everything to the disk"
dd if=/dev/urandom of=/dev/mapper/t bs=4k count=500 seek=5000 oflag=direct 2>/dev/null
now=$(hash_of /dev/mapper/t)
exec 9</dev/mapper/t
step 75 optcachectl detach t
exec 9<&-
step 0 optcachectl detach t
[ "$(hash_of $slow)" = "$now" ] || fail "detach left the disk incomplete"
step 0 optcachectl check $fast
step 0 optcachectl attach --name t $fast $slow
step 0 optcachectl status t
grep -q 'mode *writeback' /tmp/out || fail "attach after detach has another mode"
step 0 optcachectl detach --wipe t
step 65 optcachectl check $fast
[ "$(hash_of $slow)" = "$now" ] || fail "the disk changed"
say "optcachectl and the module agree"
