/* SPDX-License-Identifier: GPL-2.0-only */
/* SIGINT and SIGTERM ask a long operation to stop at its next safe point. */
#ifndef _OPTCACHECTL_INTERRUPT_H
#define _OPTCACHECTL_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool interrupted(void);

/* Sleeps @ms, less when a signal comes.  Return: interrupted(). */
bool interruptible_sleep(unsigned int ms);

#endif /* _OPTCACHECTL_INTERRUPT_H */
