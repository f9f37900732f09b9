// SPDX-License-Identifier: GPL-2.0-only
/* Signals set a flag; a second one ends the tool at once. */
#include <signal.h>
#include <time.h>

#include "interrupt.h"

static volatile sig_atomic_t interrupt_seen;

static void on_signal(int sig)
{
	(void)sig;
	interrupt_seen = 1;
}

void interrupt_catch(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

bool interrupted(void)
{
	return interrupt_seen;
}

bool interruptible_sleep(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	if (!interrupt_seen)
		nanosleep(&ts, NULL);
	return interrupt_seen;
}
