# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# One boot of a round. Disk 0 is the cache device and disk 1 the origin; for PHASE=bare
# the origin is alone.
#
#   PHASE    make: new cache, new file system, then work until the power goes
#            recover: what was acknowledged must be there; then more work
#            end: the same, then the cache is taken away
#            bare: the same, on the origin alone
#   WORK     files or sqlite, on the file system FS; JOURNAL is SQLite's mode
#   SEED     of the work on files
#   ACKED    the last acknowledged step of each worker
#
# For the host: LAB_RESULTS/load when the work begins, ack.* with the last step that is
# durable, findings with what is wrong, stats with the counters of the cache.

M=/mnt/fs
C=/dev/mapper/c
DB=$M/work.db

found()
{
	cat "$@" >>"$LAB_RESULTS/findings"
	fail "$(head -n 1 "$LAB_RESULTS/findings")"
}

# must WORD COMMAND...: or it is a finding, with what it said.
must()
{
	must_word=$1
	shift
	"$@" >/tmp/said 2>&1 || {
		echo "$must_word: $* ended with $?" | found - /tmp/said
	}
}

make_fs()
{
	case $FS in
	ext4) mkfs.ext4 -q -N 2048 -J size=8 -E lazy_itable_init=0 $C ;;
	xfs) mkfs.xfs -q $C ;;
	esac
	mount -t "$FS" $C $M
	for worker in $WORKERS; do
		mkdir "$M/d$worker"
	done
	[ "$WORK" != sqlite ] || sqlite3 $DB <"$LAB_FILES/schema.sql"
	sync
}

check_fs()
{
	case $FS in
	ext4) must "FSCK" e2fsck -fn "$1" ;;
	xfs) must "FSCK" xfs_repair -n "$1" ;;
	esac
}

verify_files()
{
	for worker in $WORKERS; do
		# shellcheck disable=SC2046 # a number a worker
		steps verify "$M/d$worker" "$SEED" "$worker" $(acked "$worker")
	done
}

verify_sqlite()
{
	{
		echo ".parameter set :acked $ACKED"
		cat "$LAB_FILES/verify.sql"
	} | sqlite3 $DB
}

# acked WORKER
acked()
{
	echo "$ACKED" | cut -d ' ' -f $(($1 + 1))
}

# verify: everything acknowledged is there.
verify()
{
	must "MOUNT" mount -t "$FS" "$1" $M
	"verify_$WORK" >/tmp/wrong 2>&1 || echo "VERIFY: ended with $?" >>/tmp/wrong
	[ ! -s /tmp/wrong ] || found /tmp/wrong
	umount $M
}

work_files()
{
	steps run "$M/d$1" "$SEED" "$1" "$(acked "$1")" "$LAB_RESULTS/ack.$1"
}

work_sqlite()
{
	cd "$LAB_RESULTS" || return
	{
		echo "PRAGMA journal_mode=$JOURNAL; PRAGMA synchronous=EXTRA;"
		yes "$(cat "$LAB_FILES/step.sql")"
	} | sqlite3 -bail $DB >/dev/null
}

# Writes that nobody flushes for their own sake: so there is something to fall back.
noise()
{
	fio --name=noise --filename=$M/noise --size=2m --bs=4k --rw=randwrite --direct=1 \
		--rate_iops=50 --time_based --runtime=3600 >"$LAB_RESULTS/noise.log" 2>&1
}

# load: all workers, until the power goes.
load()
{
	noise &
	for worker in $WORKERS; do
		{
			"work_$WORK" "$worker" || :
			: >/tmp/over
		} &
	done
	: >"$LAB_RESULTS/load"
	until [ -e /tmp/over ]; do
		dmsetup status c >"$LAB_RESULTS/stats.new"
		mv "$LAB_RESULTS/stats.new" "$LAB_RESULTS/stats"
		sleep 1
	done
	echo "WORK: it ended before the power went" | found -
}

need_module "$FS"
mkdir $M
case $WORK in
files) WORKERS="0 1 2" ;;
sqlite) WORKERS=0 ;;
esac

if [ "$PHASE" = bare ]; then
	check_fs "$(disk 0)"
	verify "$(disk 0)"
	exit
fi

load_module dm-optcache
if [ "$PHASE" = make ]; then
	optcachectl create --yes --name c --set writeback_delay=0 --set dirty_high=30 \
		"$(disk 0)" "$(disk 1)"
	make_fs
	load
fi

must "ATTACH" optcachectl attach --name c "$(disk 0)" "$(disk 1)"
verify $C
check_fs $C
if [ "$PHASE" = recover ]; then
	mount -t "$FS" $C $M
	load
fi
must "FLUSH" optcachectl flush c
must "DETACH" optcachectl detach c
