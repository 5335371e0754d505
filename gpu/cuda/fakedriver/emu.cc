// The scheduler: runs the threads of a block as fibers, and lets them meet.
#include "emu_sched.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#include "emu_fiber.h"

thread_local Scheduler emu_scheduler;
EmuKernel* emu_kernels;

namespace {

// How threads and blocks are ordered: 0 forward, 1 reverse, else 2 + seed.
std::atomic<uint64_t> order_setting{0};

void leave() {
  Scheduler& s = emu_scheduler;
  emu_switch(&s.current->sp, s.main_sp);
}

void fiber_main() {
  Scheduler& s = emu_scheduler;
  s.kernel->call(s.params);
  s.current->state = State::DONE;
  leave();
  std::abort();  // a fiber that has ended is never resumed
}

void release_block(Scheduler& s) {
  s.waiting = 0;
  s.epoch++;
  for (Thread& t : s.threads)
    if (t.state == State::AT_BLOCK) t.state = State::READY;
}

// exchange gives the lanes that have met what they came for. t is one of them.
void exchange(Thread* t, unsigned mask, Collective kind) {
  Thread* lanes = t - t->lane;
  uint64_t votes = 0;
  for (unsigned i = 0; i < 32; i++)
    if (mask >> i & 1 && lanes[i].give) votes |= uint64_t(1) << i;
  for (unsigned i = 0; i < 32; i++)
    if (mask >> i & 1) lanes[i].take = kind == Collective::SHUFFLE ? lanes[lanes[i].from].give : votes;
}

// arrive makes the current lane part of the meeting of this mask and kind, and waits until all its lanes are there.
void arrive(unsigned mask, Collective kind) {
  Scheduler& s = emu_scheduler;
  Thread* t = s.current;
  Warp* w = t->warp;
  mask &= w->exist;
  if (!(mask >> t->lane & 1)) emu_fail("a warp collective's mask %08x leaves out the calling lane", mask);
  if (mask & w->exited) emu_fail("a warp collective's mask %08x names lanes that have exited (%08x)", mask, mask & w->exited);
  int at = 0;
  while (w->meeting[at].mask != mask && w->meeting[at].mask != 0) at++;
  Meeting& m = w->meeting[at];
  if (m.mask == 0) m = {mask, 0, kind};
  if (m.kind != kind) emu_fail("lanes of one warp meet in different collectives under the mask %08x", mask);
  m.arrived |= 1u << t->lane;
  if (m.arrived != mask) {
    t->state = State::AT_WARP;
    t->mask = mask;
    leave();
    return;
  }
  int last = at;
  while (last + 1 < 32 && w->meeting[last + 1].mask) last++;
  w->meeting[at] = w->meeting[last];
  w->meeting[last] = {0, 0, Collective::NONE};
  if (kind == Collective::SYNC && mask == (w->exist & ~w->exited)) w->epoch++;
  if (kind != Collective::SYNC) exchange(t, mask, kind);
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(mask >> lane & 1)) continue;
    Thread& other = *(t - t->lane + lane);
    if (other.state == State::AT_WARP && other.mask == mask) other.state = State::READY;
  }
}

void start_block(Scheduler& s) {
  unsigned n = s.threads.size();
  for (unsigned i = 0; i < s.warps.size(); i++) {
    unsigned count = std::min(32u, n - 32 * i);
    s.warps[i] = Warp{};
    s.warps[i].exist = count == 32 ? ~0u : (1u << count) - 1;
  }
  for (Thread& t : s.threads) t.state = State::NEW;
  s.live = n;
  s.waiting = 0;
  s.epoch++;
  s.begin_shared();
}

// describe_wait says where the threads of a block are stuck.
[[noreturn]] void describe_wait(Scheduler& s) {
  unsigned block = 0, warp = 0;
  Thread* first = nullptr;
  for (Thread& t : s.threads) {
    block += t.state == State::AT_BLOCK;
    warp += t.state == State::AT_WARP;
    if (!first && t.state == State::AT_WARP) first = &t;
  }
  s.current = first ? first : &s.threads[0];
  emu_fail("threads wait for each other at different barriers: %u in __syncthreads, %u in warp collectives, %u ended", block,
           warp, unsigned(s.threads.size()) - s.live);
}

// finish books a thread that has ended. Those that wait in __syncthreads wait no longer for it: on a GPU a block whose other
// threads have exited goes on too, but a barrier that only some threads reach is an error that compilers may turn into
// anything, so it is reported.
void finish(Scheduler& s, Thread* t) {
  s.stacks.push_back(t->stack);
  t->stack = nullptr;
  t->warp->exited |= 1u << t->lane;
  s.live--;
  for (const Meeting& m : t->warp->meeting)
    if (m.mask >> t->lane & 1) emu_fail("this lane has exited while others wait for it in a warp collective (mask %08x)", m.mask);
  if (s.waiting > 0) emu_fail("this thread ends while %u others wait in __syncthreads", s.waiting);
}

void run_block(Scheduler& s) {
  start_block(s);
  unsigned n = s.threads.size();
  while (s.live > 0) {
    bool progress = false;
    for (unsigned i = 0; i < n; i++) {
      Thread* t = &s.threads[s.order[i]];
      if (t->state == State::NEW) {
        t->stack = s.take_stack();
        t->sp = emu_new_fiber(t->stack, Scheduler::STACK, fiber_main);
        t->state = State::READY;
      }
      if (t->state != State::READY) continue;
      progress = true;
      s.current = t;
      emu_switch(&s.main_sp, t->sp);
      if (t->state == State::DONE) finish(s, t);
    }
    if (!progress) describe_wait(s);
  }
}

void shuffle_order(std::vector<unsigned>& v, unsigned n, uint64_t setting) {
  v.resize(n);
  for (unsigned i = 0; i < n; i++) v[i] = setting == 1 ? n - 1 - i : i;
  if (setting < 2) return;
  uint64_t state = setting * 0x9E3779B97F4A7C15u;
  for (unsigned i = n; i > 1; i--) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(v[i - 1], v[(state >> 33) % i]);
  }
}

void prepare(Scheduler& s, emu_dim3 grid, emu_dim3 block, size_t dynamic) {
  unsigned n = block.x * block.y * block.z;
  uint64_t setting = emu_order();
  s.grid = grid;
  s.block = block;
  s.dynamic = dynamic;
  s.threads.assign(n, Thread{});
  s.warps.assign((n + 31) / 32, Warp{});
  shuffle_order(s.order, n, setting);
  shuffle_order(s.blocks, grid.x * grid.y * grid.z, setting);
  for (unsigned i = 0; i < n; i++) {
    Thread& t = s.threads[i];
    t.index = {i % block.x, i / block.x % block.y, i / (block.x * block.y)};
    t.number = i;
    t.lane = i & 31;
    t.warp = &s.warps[i >> 5];
  }
  s.message.clear();
  s.ranges.clear();
  s.last_range = 0;
}

}  // namespace

void emu_fail(const char* format, ...) {
  Scheduler& s = emu_scheduler;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  char where[256];
  const Thread* t = s.current;
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", s.kernel->name, s.block_index.x,
           s.block_index.y, s.block_index.z, t->index.x, t->index.y, t->index.z);
  s.message = std::string(where) + text;
  siglongjmp(s.escape, 1);  // fibers are left as they are: nothing on their stacks needs to be undone
}

emu_dim3 emu_thread_index() { return emu_scheduler.current->index; }
emu_dim3 emu_block_index() { return emu_scheduler.block_index; }
emu_dim3 emu_block_dim() { return emu_scheduler.block; }
emu_dim3 emu_grid_dim() { return emu_scheduler.grid; }
unsigned emu_lane() { return emu_scheduler.current->lane; }

void emu_sync_block() {
  Scheduler& s = emu_scheduler;
  if (s.live < s.threads.size())
    emu_fail("__syncthreads after %u threads of the block have ended", unsigned(s.threads.size()) - s.live);
  if (++s.waiting == s.live) {
    release_block(s);
    return;
  }
  s.current->state = State::AT_BLOCK;
  leave();
}

void emu_sync_warp(unsigned mask) { arrive(mask, Collective::SYNC); }

uint64_t emu_shuffle(unsigned mask, uint64_t value, unsigned lane) {
  Thread* t = emu_scheduler.current;
  if (lane > 31 || !(mask & t->warp->exist & 1u << lane))
    emu_fail("a shuffle reads lane %u, which its mask %08x leaves out", lane, mask);
  t->give = value;
  t->from = lane;
  arrive(mask, Collective::SHUFFLE);
  return t->take;
}

unsigned emu_ballot(unsigned mask, bool vote) {
  Thread* t = emu_scheduler.current;
  t->give = vote;
  arrive(mask, Collective::BALLOT);
  return unsigned(t->take);
}

EmuRegister::EmuRegister(EmuKernel* k) {
  k->next = emu_kernels;
  emu_kernels = k;
}

const EmuKernel* emu_find(const char* name) {
  for (const EmuKernel* k = emu_kernels; k; k = k->next)
    if (!std::strcmp(k->name, name)) return k;
  return nullptr;
}

uint64_t emu_order() { return order_setting; }

bool emu_set_order(const char* order) {
  if (!std::strcmp(order, "forward")) order_setting = 0;
  else if (!std::strcmp(order, "reverse")) order_setting = 1;
  else if (!std::strncmp(order, "random:", 7)) order_setting = 2 + std::strtoull(order + 7, nullptr, 10);
  else return false;
  return true;
}

const char* emu_run_grid(const EmuKernel* kernel, emu_dim3 grid, emu_dim3 block, size_t dynamic, void** params) {
  Scheduler& s = emu_scheduler;
  emu_catch_signals();
  prepare(s, grid, block, dynamic);
  s.kernel = kernel;
  s.params = params;
  s.running = true;
  volatile bool failed = true;
  if (sigsetjmp(s.escape, 1) == 0) {  // emu_fail comes back here
    for (unsigned i : s.blocks) {
      s.block_index = {i % grid.x, i / grid.x % grid.y, i / (grid.x * grid.y)};
      run_block(s);
    }
    failed = false;
  }
  s.running = false;
  if (!failed) return nullptr;
  for (Thread& t : s.threads) {
    if (t.stack) s.stacks.push_back(t.stack);
  }
  return s.message.c_str();
}
