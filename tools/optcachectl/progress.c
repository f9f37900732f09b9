// SPDX-License-Identifier: GPL-2.0-only
/* Progress bar. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "human.h"
#include "progress.h"
#include "say.h"

#define REDRAW_MS	200
#define LINE_MS		10000
#define QUICK_MS	1000
#define BAR_MAX		40

unsigned long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

void progress_start(struct progress *p, const char *what)
{
	*p = (struct progress){
		.what = what,
		.on = !say_is_quiet(),
		.terminal = isatty(STDERR_FILENO),
		.last_tenth = -1,
		.start_ms = now_ms(),
		.first_done = ~0ULL,
	};
}

static unsigned int bar_width(void)
{
	struct winsize ws;
	int room;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) || !ws.ws_col)
		return BAR_MAX / 2;
	room = ws.ws_col - 50;
	return room < 0 ? 0 : room > BAR_MAX ? BAR_MAX : room;
}

/* " 12.5 MiB/s, 40 s left", or nothing while it is too early to tell. */
static void rate_text(const struct progress *p, unsigned long long done, unsigned long long total,
		      unsigned long long now, char *buf, size_t size)
{
	unsigned long long ms = now - p->start_ms, moved = done - p->first_done, rate;

	buf[0] = '\0';
	if (ms < 1000 || done <= p->first_done)
		return;
	rate = moved * 1000 / ms;
	if (rate)
		snprintf(buf, size, "  %s/s, %s left", human_bytes(rate).text,
			 human_seconds((total - done) / rate).text);
}

static void draw_bar(const struct progress *p, unsigned long long done, unsigned long long total,
		     const char *rate)
{
	unsigned int width = bar_width();
	unsigned int full = total ? (double)done / total * width : width;
	char bar[BAR_MAX + 1];

	memset(bar, ' ', width);
	memset(bar, '#', full > width ? width : full);
	bar[width] = '\0';
	fprintf(stderr, "\r%s [%s] %s%s\033[K", p->what, bar,
		human_percent(total ? done : 1, total ? total : 1).text, rate);
}

void progress_show(struct progress *p, unsigned long long done, unsigned long long total)
{
	unsigned long long now = now_ms();
	int tenth;
	char rate[96];

	if (!p->on)
		return;
	if (done > total)
		done = total;
	if (p->first_done == ~0ULL)
		p->first_done = done;
	rate_text(p, done, total, now, rate, sizeof(rate));

	if (p->terminal) {
		if (p->drawn && now - p->last_ms < REDRAW_MS && done != total)
			return;
		draw_bar(p, done, total, rate);
	} else {
		if (now - p->start_ms < QUICK_MS)
			return;		/* not worth a line */
		tenth = total ? (double)done / total * 10 : 10;
		if (tenth <= p->last_tenth && now - p->last_ms < LINE_MS)
			return;
		p->last_tenth = tenth;
		fprintf(stderr, "%s: %s of %s%s\n", p->what, human_bytes(done).text,
			human_bytes(total).text, rate);
	}
	p->drawn = true;
	p->last_ms = now;
}

void progress_end(struct progress *p)
{
	if (p->on && p->terminal && p->drawn)
		fputc('\n', stderr);
	p->on = false;
}
