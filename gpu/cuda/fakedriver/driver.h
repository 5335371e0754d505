// The fake driver: GPUs in host memory, for tests. libcuda.so.1 with the calls that capgnn makes; see the driver_*.cc files.
//
// Every stream has a thread that runs its operations in order. An operation may wait for a ticket and signals one when it is
// done; events are names for tickets. One lock guards everything but the operations themselves.
#pragma once
#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ptx.h"  // last: it defines words of CUDA that the standard library uses
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef __noinline__

#define API extern "C" __attribute__((visibility("default")))

// Config is what FAKECUDA or fakecuda_configure say; driver_config.cc has the grammar.
struct Config {
  int devices = 1;
  std::vector<double> mebibytes{1024};      // memory of each device; the last counts for the rest
  std::vector<double> capability{70};       // compute capability × 10
  std::vector<std::string> peers;           // peers[i][j] = '1': device i reaches the memory of j
  unsigned seed = 0;                        // ≠ 0: adversarial schedule
  unsigned stretch = 48;                    // operations after which priorities change
  unsigned jitter = 0;                      // µs that an operation may be late
  long drop_wait = 0;                       // ≥ 1: the n-th cuStreamWaitEvent is forgotten
  long drop_sync = 0;                       // ≥ 1: the n-th wait of the host for an event returns at once
  int lost_device = -1;                     // falls off the bus …
  long lost_after = 0;                      // … after this many operations
  bool refuse_pinning = false;
  bool outlive = false;                     // contexts outlive their last release, as where a library of the process holds them too
};

// Ticket is the end of an operation.
struct Ticket {
  bool done = false;
  double time = 0;  // of the modelled clock, µs
};
using TicketPtr = std::shared_ptr<Ticket>;

struct Context;

// Operation of a stream. run returns the µs that the operation takes on the modelled clock.
struct Operation {
  std::function<double()> run;
  TicketPtr wait, signal;
};

struct Stream {
  Context* context;
  unsigned id;
  std::deque<Operation> queue;
  bool busy = false, stop = false;
  double time = 0;
  TicketPtr last;
  std::thread thread;
};

struct Event {
  TicketPtr ticket;
  bool timing;
};

struct Block {
  size_t size, span;
  void* base;
  unsigned number;
};

struct Device {
  size_t total = 0, used = 0;
  unsigned char* written = nullptr;      // of each byte from lo on: whether anybody wrote it; nullptr with kernels of sources
  CUdeviceptr lo = 0, hi = 0, next = 0;  // address space; never used twice, so stale addresses are found
  std::map<CUdeviceptr, Block> blocks, freed;
  long operations = 0;
};

// Primary is a device's primary context. It outlives a configuration: programs keep theirs.
struct Primary {
  Context* context = nullptr;
  int references = 0;
};

enum { MOST_DEVICES = 64 };

struct Context {
  int device;
  Stream* plain = nullptr;  // for calls without a stream
  std::set<Stream*> streams;
  std::set<int> peers;
  int sticky = 0;  // the CUresult that everything answers from now on
};

struct Module {
  Context* context;
  std::string image;
  std::shared_ptr<PtxModule> ptx;  // nullptr with kernels of sources
};

struct Function {
  Module* module;
  const EmuKernel* kernel;
  const PtxKernel* ptx;  // nullptr with kernels of sources
  unsigned shared = 48 << 10;
};

struct Pinned {
  size_t size;
  Context* context;  // with which it ends
};

struct State {
  std::mutex lock;
  std::condition_variable changed;
  Config config;
  bool initialised = false;
  bool sources = false;    // kernels are those of ../kernels/*.cu that g++ has compiled, not those of the PTX
  std::vector<Device> devices;
  Primary primaries[MOST_DEVICES];
  std::vector<Stream*> streams;
  std::map<uintptr_t, Pinned> pinned;
  std::string trouble;     // what a kernel did wrong, for cuGetErrorString
  unsigned waiting = 0;    // host threads blocked in the driver
  unsigned operations = 0;
  unsigned streams_made = 0, blocks_made = 0;
  long waits = 0, syncs = 0, launches = 0;
  long contexts = 0, modules = 0;  // retained and loaded since the process began
  std::atomic<long> events{0};     // that there are
};
extern State G;
using Lock = std::unique_lock<std::mutex>;

// driver_schedule.cc
Stream* make_stream(Context* c);
void end_streams(Lock& l, const std::vector<Stream*>& streams);
TicketPtr push(Stream* s, std::function<double()> run, TicketPtr wait = nullptr);
void await(Lock& l, const TicketPtr& t);
void drain(Lock& l, Stream* s);
void fail(Context* c, int code, const std::string& text);

// driver_device.cc
extern thread_local Context* current;
int stream_of(CUstream h, Stream** out);  // a CUresult
void open_devices();
void end_context(Lock& l, Primary& p);
bool reaches(int from, int to);

// driver_memory.cc
enum : int { HOST = -1, NOWHERE = -2 };
int device_of(CUdeviceptr p, size_t n);  // of the live block that holds p to p+n, HOST, or NOWHERE
bool is_pinned(uintptr_t p, size_t n);
EmuMemory look_up(uintptr_t address);
unsigned char* written(uintptr_t p);  // whether the bytes from p on were written; nullptr where nobody keeps account
extern thread_local int running_device;  // whose kernel this thread runs

// driver_config.cc
bool parse(const char* text, Config* out);
