// Streams and the order in which they run.
//
// Without a seed streams run at the same time. With a seed the schedule is adversarial, in the manner of PCT (Burckhardt et
// al., ASPLOS 2010): nothing runs until a thread of the host waits in the driver; then one operation at a time, always of
// the stream with the highest priority among those that can run; the seed gives priorities anew every few operations.
#include <signal.h>
#include <unistd.h>

#include "driver.h"

// fail makes everything in c answer code from now on. G.lock is held.
void fail(Context* c, int code, const std::string& text) {
  if (c->sticky) return;
  c->sticky = code;
  G.trouble = text;
}

static unsigned mix(unsigned a, unsigned b, unsigned c) {
  unsigned h = a * 2654435761u ^ b * 40503u ^ c * 2246822519u;
  h ^= h >> 15;
  h *= 2246822519u;
  return h ^ h >> 13;
}

static bool runnable(const Stream* s) {
  return !s->busy && !s->queue.empty() && (!s->queue.front().wait || s->queue.front().wait->done);
}

static bool allowed(const Stream* s) {
  if (!runnable(s)) return false;
  if (!G.config.seed) return true;
  if (!G.waiting) return false;
  unsigned turn = G.operations / G.config.stretch, mine = mix(G.config.seed, s->id, turn);
  for (const Stream* o : G.streams) {
    if (o == s) continue;
    if (o->busy) return false;
    if (!runnable(o)) continue;
    unsigned theirs = mix(G.config.seed, o->id, turn);
    if (theirs > mine || (theirs == mine && o->id > s->id)) return false;
  }
  return true;
}

// one runs the first operation of s.
static void one(Lock& l, Stream* s, unsigned& dice) {
  Operation op = std::move(s->queue.front());
  s->queue.pop_front();
  s->busy = true;
  G.operations++;
  Device& d = G.devices[s->context->device];
  if (op.run && s->context->device == G.config.lost_device && ++d.operations > G.config.lost_after)
    fail(s->context, CUDA_ERROR_LAUNCH_FAILED, "the fake GPU fell off the bus");
  if (op.wait) s->time = std::max(s->time, op.wait->time);
  if (op.run && !s->context->sticky) {
    l.unlock();
    if (G.config.jitter) {
      dice = dice * 1664525u + 1013904223u;
      usleep((dice >> 8) % G.config.jitter);
    }
    double cost = op.run();
    op.run = nullptr;  // what it holds may take the lock when it goes
    l.lock();
    s->time += cost;
  }
  s->busy = false;
  op.signal->time = s->time;
  op.signal->done = true;
  G.changed.notify_all();
}

static void work(Stream* s) {
  sigset_t all;  // the host's signals are the host's
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  unsigned dice = s->id;
  Lock l(G.lock);
  for (;;) {
    while (!allowed(s) && !(s->queue.empty() && s->stop)) G.changed.wait(l);
    if (s->queue.empty()) return;
    one(l, s, dice);
  }
}

// make_stream starts a stream. G.lock is held.
Stream* make_stream(Context* c) {
  auto* s = new Stream;
  s->context = c;
  s->id = ++G.streams_made;
  c->streams.insert(s);
  G.streams.push_back(s);
  s->thread = std::thread(work, s);
  return s;
}

// end_streams waits for the streams and ends them.
void end_streams(Lock& l, const std::vector<Stream*>& streams) {
  for (Stream* s : streams) {
    drain(l, s);
    s->stop = true;
    s->context->streams.erase(s);
    G.streams.erase(std::find(G.streams.begin(), G.streams.end(), s));
  }
  G.changed.notify_all();
  l.unlock();
  for (Stream* s : streams) {
    s->thread.join();
    delete s;
  }
  l.lock();
}

// push enqueues an operation. G.lock is held.
TicketPtr push(Stream* s, std::function<double()> run, TicketPtr wait) {
  auto t = std::make_shared<Ticket>();
  s->queue.push_back(Operation{std::move(run), std::move(wait), t});
  s->last = t;
  G.changed.notify_all();
  return t;
}

// await blocks the calling thread of the host.
void await(Lock& l, const TicketPtr& t) {
  if (!t) return;
  if (G.waiting++ == 0) G.changed.notify_all();
  while (!t->done) G.changed.wait(l);
  G.waiting--;
}

void drain(Lock& l, Stream* s) { await(l, s->last); }
