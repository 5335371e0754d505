// Memory of kernels: fiber stacks, and a check of every access.
//
// The kernels are compiled with -fsanitize=kernel-address, which calls the functions at the end of this file before each
// load and store. Stack, shared memory and blocks of device memory that were asked about before are told apart by ranges.
#include "emu_sched.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace {

std::atomic<EmuMemory (*)(uintptr_t)> memory_lookup{nullptr};
struct sigaction previous_segv, previous_bus;

constexpr size_t PAGE = 4096;

bool on_stack(const Scheduler& s, uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(s.current->stack) < Scheduler::STACK;
}

// on_signal ends the grid of a kernel that touched what the operating system refuses; others get the signal as before.
void on_signal(int number, siginfo_t* info, void* context) {
  Scheduler& s = emu_scheduler;
  uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (s.running && s.current) {
    EmuMemory m = emu_ask(address);
    if (on_stack(s, address)) emu_fail("stack overflow: more than %zu bytes of local variables", Scheduler::STACK - PAGE);
    emu_fail("access to address %#lx, which is %s", (unsigned long)address,
             m.kind == EmuMemory::DEAD ? m.what : "no memory of this device");
  }
  const struct sigaction& old = number == SIGSEGV ? previous_segv : previous_bus;
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(number, info, context);
  } else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    signal(number, SIG_DFL);
    raise(number);
  } else {
    old.sa_handler(number);
  }
}

// own_signal_stack gives this thread a stack for on_signal: the fiber's own may be what has overflowed.
void own_signal_stack() {
  static thread_local char* stack = nullptr;
  stack_t now{};
  sigaltstack(nullptr, &now);
  if (stack || !(now.ss_flags & SS_DISABLE)) return;
  stack = new char[64 << 10];  // one per OS thread, as long as it lives
  stack_t mine{};
  mine.ss_sp = stack;
  mine.ss_size = 64 << 10;
  sigaltstack(&mine, nullptr);
}

// Every access of a kernel comes here.
inline void check(uintptr_t address, size_t bytes, bool write) {
  Scheduler& s = emu_scheduler;
  if (!s.running || on_stack(s, address)) return;
  if (address - reinterpret_cast<uintptr_t>(s.shared) < Scheduler::SHARED) {
    s.touch_shared(address, bytes, write);
    return;
  }
  for (size_t i = 0, n = s.ranges.size(); i < n; i++) {
    size_t at = s.last_range + i < n ? s.last_range + i : s.last_range + i - n;
    const EmuMemory& r = s.ranges[at];
    if (address >= r.lo && address + bytes <= r.hi) {
      s.last_range = at;
      return;
    }
  }
  EmuMemory m = emu_ask(address);
  const char* verb = write ? "write" : "read";
  if (m.kind == EmuMemory::DEAD) emu_fail("%s of %zu bytes at %#lx: %s", verb, bytes, (unsigned long)address, m.what);
  if (m.kind == EmuMemory::HOST) return;
  if (address + bytes > m.hi)
    emu_fail("%s of %zu bytes at %#lx, which reach %zu bytes behind their block", verb, bytes, (unsigned long)address,
             size_t(address + bytes - m.hi));
  s.last_range = s.ranges.size();
  s.ranges.push_back(m);
}

}  // namespace

EmuMemory emu_ask(uintptr_t address) {
  auto lookup = memory_lookup.load();
  return lookup ? lookup(address) : EmuMemory{EmuMemory::HOST, 0, 0, ""};
}

void emu_set_memory(EmuMemory (*lookup)(uintptr_t)) { memory_lookup = lookup; }

void emu_catch_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
  });
  own_signal_stack();
}

Scheduler::~Scheduler() {
  for (char* p : stacks) munmap(p, STACK);
  if (shared) munmap(shared, SHARED);
}

char* Scheduler::take_stack() {
  if (!stacks.empty()) {
    char* p = stacks.back();
    stacks.pop_back();
    return p;
  }
  void* p = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  mprotect(p, PAGE, PROT_NONE);
  return static_cast<char*>(p);
}

#define EMU_CHECK(size) \
  extern "C" void __asan_load##size##_noabort(uintptr_t a) { check(a, size, false); } \
  extern "C" void __asan_store##size##_noabort(uintptr_t a) { check(a, size, true); }
EMU_CHECK(1)
EMU_CHECK(2)
EMU_CHECK(4)
EMU_CHECK(8)
EMU_CHECK(16)
extern "C" void __asan_loadN_noabort(uintptr_t a, size_t n) { check(a, n, false); }
extern "C" void __asan_storeN_noabort(uintptr_t a, size_t n) { check(a, n, true); }
extern "C" void __asan_handle_no_return() {}
extern "C" void __asan_before_dynamic_init(const char*) {}
extern "C" void __asan_after_dynamic_init() {}
