// Shared memory of a block: where it lies, and who has touched each word of it since which barrier.
//
// Two accesses of one word are in order if one thread made both, if a __syncthreads lies between them, or if both threads
// are of one warp and a __syncwarp of all its lanes lies between. Shuffles order no memory. Accesses that are not in order
// and of which one writes are a race, whatever order the fibers happened to run in.
#include "emu_sched.h"

#include <new>
#include <sys/mman.h>

void Scheduler::begin_shared() {
  if (!shared) {
    void* p = mmap(nullptr, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    shared = static_cast<char*>(p);
    touches.resize(SHARED / 4);
  }
  sites.clear();
  shared_used = 0;
  place_shared(dynamic);
}

void* Scheduler::place_shared(size_t bytes) {
  size_t at = (shared_used + 15) & ~size_t(15);
  if (at + bytes > SHARED) emu_fail("%zu bytes of shared memory are more than any GPU has", at + bytes);
  shared_used = at + bytes;
  std::memset(shared + at, 0xff, bytes);
  return shared + at;
}

void* emu_dynamic_shared() { return emu_scheduler.shared; }

void* emu_static_shared(const void* site, size_t bytes) {
  Scheduler& s = emu_scheduler;
  for (const Site& known : s.sites)
    if (known.key == site) return known.at;
  char* at = static_cast<char*>(s.place_shared(bytes));
  s.sites.push_back({site, at});
  return at;
}

void Scheduler::touch_shared(uintptr_t address, size_t bytes, bool write) {
  size_t from = address - reinterpret_cast<uintptr_t>(shared);
  if (from + bytes > shared_used)
    emu_fail("access to shared memory %zu bytes behind the %zu that the block has", from + bytes - shared_used, shared_used);
  const unsigned me = current->number, warp = me / 32;
  const uint32_t warp_epoch = current->warp->epoch;
  for (size_t word = from / 4; word <= (from + bytes - 1) / 4; word++) {
    Touch& t = touches[word];
    bool fresh = t.write_epoch == epoch && t.writer != me &&
                 (t.writer / 32 != warp || t.write_warp_epoch == warp_epoch);
    if (fresh)
      emu_fail("%s of shared memory at byte %zu that thread %u of the block has written, with no barrier between",
               write ? "write" : "read", from, t.writer);
    bool read_now = t.read_epoch == epoch;
    if (write) {
      bool unordered = read_now && (t.across || t.reader / 32 != warp ||
                                    (t.read_warp_epoch == warp_epoch && (t.many || t.reader != me)));
      if (unordered)
        emu_fail("write of shared memory at byte %zu that thread %u of the block has read, with no barrier between", from,
                 t.reader);
      t.write_epoch = epoch;
      t.write_warp_epoch = warp_epoch;
      t.writer = me;
      t.read_epoch = 0;
      continue;
    }
    bool same_warp = read_now && t.reader / 32 == warp;
    t.across = read_now && (t.across || !same_warp);
    t.many = same_warp && t.read_warp_epoch == warp_epoch && (t.many || t.reader != me);
    t.read_epoch = epoch;
    t.read_warp_epoch = warp_epoch;
    t.reader = me;
  }
}
