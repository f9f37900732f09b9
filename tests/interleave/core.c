// SPDX-License-Identifier: GPL-2.0-only
/* The code under test, as it is; from the tree that comes first in the include path. */
#include <drivers/md/optcache/slots.c>
#include <drivers/md/optcache/index.c>
#include <drivers/md/optcache/policy.c>
#include <drivers/md/optcache/order.c>
#include <drivers/md/optcache/stream.c>
