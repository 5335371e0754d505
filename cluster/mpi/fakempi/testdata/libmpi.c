// A libmpi for tests: the calls that package mpi makes, between processes or between copies of this file in one process.
//
// Its place is in its own file name: DIR/fake-RANK-of-SIZE.so. Ranks share DIR/world, a file of rings, one for each ordered pair. DIR/config may
// change, one "name number" in each line:
//
//   ring N        bytes of a ring (65536): what does not fit is sent while the reader reads
//   late N        a request that is done is reported up to N polls later (0)
//   shuffle N     1: what is done is reported in any order, one at a time (0)
//   thread N      the level of threads that MPI_Init_thread returns (3)
//   size N        what MPI_Comm_size returns (SIZE)
//   failsend N    the Nth MPI_Isend of rank 0 is refused (0 = none)
//   failtest N    the Nth MPI_Testsome of rank 0 returns an error
//   failstatus N  from the Nth on, the first receive that rank 0 is told of has an error in its status
//   hang N        1: MPI_Finalize does not return
//
// Whoever breaks a rule of MPI ends the process with a line: calls of two threads, memory that changes while it is sent, requests that
// are left when MPI ends. Built with -DMPICH it has MPICH's handles, else Open MPI's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNDEFINED = -32766, ERR_TRUNCATE = 15, ERR_OTHER = 16, ERR_IN_STATUS = 18, REQUESTS = 1 << 14 };

#ifdef MPICH
typedef int Comm, Type, Req, Handler;
typedef struct { int count, cancelled, source, tag, error; } Status;
enum { WORLD = 0x44000000, BYTE = 0x4c00010d, RETURN = 0x54000001 };
#define NULLREQ 0x2c000000
#define HANDLE(r) ((int)(0x98000000u | (unsigned)((r) - reqs)))
#define REQ(h) (&reqs[(unsigned)(h) & 0xffffff])
#define VERSION "MPICH Version: fake"
#else
typedef void *Comm, *Type, *Req, *Handler;
typedef struct { int source, tag, error, cancelled; size_t count; } Status;
char ompi_mpi_comm_world[8], ompi_mpi_byte[8], ompi_request_null[8], ompi_mpi_errors_return[8];
#define WORLD ((Comm)ompi_mpi_comm_world)
#define BYTE ((Type)ompi_mpi_byte)
#define RETURN ((Handler)ompi_mpi_errors_return)
#define NULLREQ ((Req)ompi_request_null)
#define HANDLE(r) ((Req)(r))
#define REQ(h) ((struct request *)(h))
#define VERSION "Open MPI v0 (fake)"
#endif

struct request {
	int used, recv, peer, done, cancelled, error;
	char *at;
	size_t size, moved; // of a receive: what has room, what arrived; of a send: what is to go, what went
	long length;        // of a receive: of its message, -1: not begun
	uint64_t sum;       // of a send: of its bytes when it was posted
	uint64_t order;     // in which it was posted
	long due;           // the poll from which on it is reported
};

struct ring { _Atomic uint64_t head, tail; char data[]; };

static struct request reqs[REQUESTS];
static struct { long ring, late, shuffle, thread, size, failsend, failtest, failstatus, hang; } config;
static int rank, size, initialised, finalized;
static char *world;
static uint64_t posted, seed;
static long polls, sends;
static pthread_t owner;

static void die(const char *why) {
	fprintf(stderr, "fake libmpi, rank %d: %s\n", rank, why);
	abort();
}

static void mine(void) {
	if (!initialised || finalized) die("a call before MPI_Init_thread or after MPI_Finalize");
	if (!pthread_equal(owner, pthread_self())) die("a call of another thread");
}

static unsigned chance(void) {
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed >> 33;
}

static uint64_t sum(const char *b, size_t n) {
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < n; i += 61) h = (h ^ (unsigned char)b[i]) * 1099511628211u;
	return h;
}

static size_t stride(void) { return (sizeof(struct ring) + config.ring + 63) / 64 * 64; }
static struct ring *ring(int from, int to) { return (struct ring *)(world + 64 + (size_t)(from * size + to) * stride()); }

static size_t put(struct ring *r, const char *b, size_t n) {
	uint64_t head = atomic_load(&r->head), tail = atomic_load(&r->tail);
	size_t room = config.ring - (head - tail);
	if (n > room) n = room;
	for (size_t i = 0; i < n; i++) r->data[(head + i) % config.ring] = b[i];
	atomic_store(&r->head, head + n);
	return n;
}

static size_t get(struct ring *r, char *b, size_t n) {
	uint64_t head = atomic_load(&r->head), tail = atomic_load(&r->tail);
	if (n > head - tail) n = head - tail;
	for (size_t i = 0; i < n; i++)
		if (b) b[i] = r->data[(tail + i) % config.ring];
	atomic_store(&r->tail, tail + n);
	return n;
}

static void read_config(const char *dir) {
	char path[8192], name[64];
	long value;
	config.ring = 65536, config.thread = 3, config.size = size;
	snprintf(path, sizeof path, "%s/config", dir);
	FILE *f = fopen(path, "r");
	while (f && fscanf(f, "%63s %ld", name, &value) == 2) {
		struct { const char *name; long *at; } all[] = {{"ring", &config.ring}, {"late", &config.late}, {"shuffle", &config.shuffle}, {"thread", &config.thread},
			{"size", &config.size}, {"failsend", &config.failsend}, {"failtest", &config.failtest}, {"failstatus", &config.failstatus}, {"hang", &config.hang}};
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			if (!strcmp(all[i].name, name)) *all[i].at = value;
	}
	if (f) fclose(f);
}

int MPI_Get_library_version(char *text, int *n) { return *n = sprintf(text, "%s", VERSION), 0; }

int MPI_Error_string(int code, char *text, int *n) {
	return *n = sprintf(text, code == ERR_TRUNCATE ? "MPI_ERR_TRUNCATE: message truncated" : "MPI_ERR_OTHER: injected"), 0;
}

int MPI_Init_thread(int *argc, char ***argv, int want, int *got) {
	Dl_info info;
	char dir[4096];
	if (initialised) die("MPI_Init_thread twice");
	if (!dladdr((void *)MPI_Init_thread, &info)) die("dladdr");
	char *name = strrchr(info.dli_fname, '/');
	if (!name || sscanf(name, "/fake-%d-of-%d.so", &rank, &size) != 2) die("its file is not fake-RANK-of-SIZE.so");
	snprintf(dir, sizeof dir, "%.*s", (int)(name - info.dli_fname), info.dli_fname);
	read_config(dir);
	strcat(dir, "/world");
	int fd = open(dir, O_RDWR | O_CREAT, 0600);
	size_t bytes = 64 + (size_t)size * size * stride();
	if (fd < 0 || ftruncate(fd, bytes)) die("cannot make the world");
	world = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (world == MAP_FAILED) die("cannot map the world");
	close(fd);
	seed = 88172645463325252u + rank;
	owner = pthread_self();
	initialised = 1;
	*got = config.thread < want ? config.thread : want;
	return 0;
}

int MPI_Comm_rank(Comm c, int *r) { mine(); if (c != WORLD) die("another communicator"); return *r = rank, 0; }
int MPI_Comm_size(Comm c, int *n) { mine(); return *n = config.size, 0; }
int MPI_Comm_set_errhandler(Comm c, Handler h) { mine(); if (h != RETURN) die("another handler of errors"); return 0; }

static struct request *post(int recv, char *at, int n, Type t, int peer, Comm c) {
	mine();
	if (t != BYTE || c != WORLD || peer < 0 || peer >= size || peer == rank || n < 0) die("a message that cannot be");
	struct request *r = reqs;
	while (r < reqs + REQUESTS && r->used) r++;
	if (r == reqs + REQUESTS) die("too many requests");
	*r = (struct request){.used = 1, .recv = recv, .peer = peer, .at = at, .size = n, .length = -1, .order = ++posted};
	return r;
}

int MPI_Isend(char *at, int n, Type t, int to, int tag, Comm c, Req *out) {
	struct request *r = post(0, at, n, t, to, c);
	r->sum = sum(at, n);
	r->length = n;
	if (rank == 0 && ++sends == config.failsend) return r->used = 0, ERR_OTHER;
	return *out = HANDLE(r), 0;
}

int MPI_Irecv(char *at, int n, Type t, int from, int tag, Comm c, Req *out) {
	struct request *r = post(1, at, n, t, from, c);
	memset(at, 0xAA, n);
	return *out = HANDLE(r), 0;
}

int MPI_Cancel(Req *h) {
	mine();
	struct request *r = REQ(*h);
	if (!r->recv) die("a send is cancelled");
	if (r->length < 0 && !r->done) r->done = r->cancelled = 1, r->due = polls;
	return 0;
}

static void finish(struct request *r) {
	r->done = 1;
	r->due = polls + (config.late ? chance() % (config.late + 1) : 0);
}

// progress moves the message of a request that is the first of its pair and direction. A message is its length, 8 bytes, and its bytes.
static void progress(struct request *r) {
	struct ring *at = r->recv ? ring(r->peer, rank) : ring(rank, r->peer);
	if (r->recv) {
		uint64_t head = atomic_load(&at->head), tail = atomic_load(&at->tail);
		if (r->length < 0) {
			if (head - tail < 8) return;
			get(at, (char *)&r->length, 8);
			if ((size_t)r->length > r->size) r->error = ERR_TRUNCATE;
		}
		r->moved += get(at, r->error ? 0 : r->at + r->moved, r->length - r->moved);
		if (r->moved == (size_t)r->length) finish(r);
		return;
	}
	if (r->length >= 0) {
		if (config.ring - (atomic_load(&at->head) - atomic_load(&at->tail)) < 8) return;
		if (sum(r->at, r->size) != r->sum) die("memory has changed before it was sent");
		put(at, (char *)&r->length, 8);
		r->length = -1;
	}
	r->moved += put(at, r->at + r->moved, r->size - r->moved);
	if (r->moved < r->size) return;
	if (sum(r->at, r->size) != r->sum) die("memory has changed while it was sent");
	finish(r);
}

static void progress_all(Req *list, int n) {
	struct request *first[2][size];
	for (int p = 0; p < size; p++)
		for (int again = 1; again;) { // the next of a pair may begin when the one before is done
			again = 0;
			first[0][p] = first[1][p] = 0;
			for (int i = 0; i < n; i++) {
				struct request *r = list[i] == NULLREQ ? 0 : REQ(list[i]);
				if (r && r->peer == p && !r->done && (!first[r->recv][p] || r->order < first[r->recv][p]->order)) first[r->recv][p] = r;
			}
			for (int k = 0; k < 2; k++)
				if (first[k][p]) progress(first[k][p]), again |= first[k][p]->done;
		}
}

int MPI_Testsome(int n, Req *list, int *out, int *index, Status *status) {
	mine();
	polls++;
	if (rank == 0 && polls == config.failtest) return *out = 0, ERR_OTHER;
	progress_all(list, n);
	int active = 0, found = 0, failed = 0, first = config.shuffle ? chance() % n : 0;
	for (int k = 0; k < n; k++) {
		int i = (first + k) % n;
		if (list[i] == NULLREQ) continue;
		struct request *r = REQ(list[i]);
		active = 1;
		if (!r->used) die("a request that is not under way");
		if (!r->done || r->due > polls || (config.shuffle && found)) continue;
		if (rank == 0 && r->recv && config.failstatus && polls >= config.failstatus) r->error = ERR_OTHER, config.failstatus = 0;
		memset(&status[found], 0, sizeof *status);
		status[found].source = r->peer;
		status[found].error = r->error;
		status[found].count = r->recv ? r->moved : 0;
		status[found].cancelled = r->cancelled;
		failed |= r->error;
		index[found++] = i;
		r->used = 0;
		list[i] = NULLREQ;
	}
	*out = active ? found : UNDEFINED;
	return failed ? ERR_IN_STATUS : 0;
}

int MPI_Get_count(Status *s, Type t, int *n) { return *n = s->count, 0; }

int MPI_Finalize(void) {
	mine();
	for (struct request *r = reqs; r < reqs + REQUESTS; r++)
		if (r->used) die(r->recv ? "MPI_Finalize while a receive is under way" : "MPI_Finalize while a send is under way");
	_Atomic int *ended = (_Atomic int *)world;
	for (atomic_fetch_add(ended, 1); atomic_load(ended) < size || config.hang;) usleep(100);
	finalized = 1;
	return 0;
}
