// Runs grids: which lanes go next, and how they wait for each other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "ptx_machine.h"

namespace ptx {

namespace {

struct Random {
  u64 state;
  u32 below(u32 n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return u32(state >> 33) % n;
  }
};

// Turn is a run of lanes that stand at one instruction. It ends where lanes part or wait, at `join`, where the next others
// stand, or after so many steps.
struct Turn {
  u32 lanes = 0, pc = 0, join = ALL;
  s64 steps = -1;
};

struct Runner {
  Machine& m;
  u64 order;
  Random dice;

  bool random() const { return order >= 2; }
  void grid(emu_dim3 size, unsigned threads);
  void block(unsigned threads);
  void begin_warp(unsigned number, unsigned threads);
  void special(Warp& w, unsigned number, unsigned threads);
  void select(unsigned number);
  void warp();
  Turn next(u32 ready);
  bool step(Turn& t);
  u32 guarded(const Instruction& i, u32 lanes);
  void sound(const Instruction& i, u32 lanes);
  void arrive(const Instruction& i, u32 lanes, u32 pc);
  u32 mask_of(u32 pc, unsigned lane);
  bool met(u32 mask, u32 pc, unsigned lane);
  void exchange(const Instruction& i, u32 mask);
  void shuffle(const Instruction& i, u32 mask);
  void release(unsigned threads);
  void leave(u32 lanes, u32 pc) {
    for (; lanes; lanes &= lanes - 1) m.warp->pc[first(lanes)] = pc;
  }
};

// next chooses lanes of those that are ready.
Turn Runner::next(u32 ready) {
  Warp& w = *m.warp;
  Turn t;
  if (random()) {
    u32 rest = ready;
    for (u32 skip = dice.below(__builtin_popcount(ready)); skip; skip--) rest &= rest - 1;
    t.pc = w.pc[first(rest)];
    t.steps = 1 + dice.below(64);
  } else {
    t.pc = ALL;
    for (u32 r = ready; r; r &= r - 1) t.pc = std::min(t.pc, w.pc[first(r)]);
  }
  for (u32 r = ready; r; r &= r - 1)
    if (w.pc[first(r)] == t.pc) t.lanes |= r & -r;
    else if (!random()) t.join = std::min(t.join, w.pc[first(r)]);
  if (random() && dice.below(8) == 0) {
    u32 part = t.lanes & (dice.below(1u << 16) << 16 | dice.below(1u << 16));
    if (part) t.lanes = part;
  }
  return t;
}

// guarded returns the lanes whose guard lets them take part.
u32 Runner::guarded(const Instruction& i, u32 lanes) {
  if (!i.guarded) return lanes;
  const Warp& w = *m.warp;
  if (u32 bad = lanes & ~w.defined[i.guard.reg]) m.find(first(bad), "a guard that was never written");
  if (u32 bad = lanes & w.unsound[i.guard.reg]) m.find(first(bad), "a guard made of memory that nobody has written");
  u32 g = *m.at<u32>(i.guard);
  return lanes & (i.negated ? ~g : g);
}

// sound looks after registers that were never written, and what was made of memory never written.
void Runner::sound(const Instruction& i, u32 lanes) {
  Warp& w = *m.warp;
  u32 undefined = 0;
  for (unsigned n = 0; n < i.sources; n++) undefined |= lanes & ~w.defined[i.from[n].reg];
  if (undefined) m.find(first(undefined), "read of a register that was never written");
  if (!w.any_unsound || i.kind == Kind::SHUFFLE) return;
  u32 bad = 0;
  for (unsigned n = 0; n < i.sources; n++) bad |= lanes & w.unsound[i.from[n].reg];
  if (i.kind == Kind::SELECT) {
    u32 which = *m.at<u32>(i.from[2]);
    bad = lanes & (w.unsound[i.from[2].reg] | (which & w.unsound[i.from[0].reg]) | (~which & w.unsound[i.from[1].reg]));
  }
  if (i.kind != Kind::PLAIN && i.kind != Kind::SELECT) {
    if (bad) m.find(first(bad), "an address, a mask or a result made of memory that nobody has written");
    return;  // what a load brings it judges itself
  }
  for (unsigned n = 0; n < i.results; n++) w.unsound[i.to[n].reg] = (w.unsound[i.to[n].reg] & ~lanes) | bad;
}

// step does one instruction; false: the turn has ended, and its lanes have been left where they are.
bool Runner::step(Turn& t) {
  if (t.pc >= t.join || t.steps-- == 0) return leave(t.lanes, t.pc), false;
  const Instruction& i = m.kernel->code[t.pc];
  m.now = &i;
  m.runs[t.pc]++;
  m.counts.warp_instructions++;
  const u32 on = guarded(i, t.lanes);
  m.counts.thread_instructions += __builtin_popcount(on);
  if (i.sources) sound(i, on);
  if (i.run) {
    if (on) i.run(m, i, on);
    for (unsigned n = 0; n < i.results; n++) m.warp->defined[i.to[n].reg] |= on;
    return t.pc++, true;
  }
  if (!on) return t.pc++, true;
  if (i.kind == Kind::BRANCH && on == t.lanes) return t.pc = i.target, true;
  leave(t.lanes & ~on, t.pc + 1);
  leave(on, i.kind == Kind::BRANCH ? i.target : t.pc);
  if (i.kind == Kind::RETURN) m.warp->exited |= on;
  else if (i.kind != Kind::BRANCH) arrive(i, on, t.pc);
  return false;
}

// arrive lets lanes wait at a barrier or a collective, which happens when all of its mask are there.
void Runner::arrive(const Instruction& i, u32 lanes, u32 pc) {
  Warp& w = *m.warp;
  if (i.kind == Kind::BLOCK_BARRIER) {
    if (!random() && lanes != w.exist)
      m.find(first(lanes), "bar.sync that only lanes %08x of a warp's %08x reach together", lanes, w.exist);
    w.at_barrier |= lanes;
    return;
  }
  w.at_collective |= lanes;
  for (; lanes; lanes &= lanes - 1) {
    unsigned l = first(lanes);
    if (!(w.at_collective >> l & 1)) continue;
    u32 mask = mask_of(pc, l);
    if (!met(mask, pc, l)) continue;
    exchange(i, mask);
    w.at_collective &= ~mask;
    leave(mask, pc + 1);
  }
}

// mask_of returns the mask that a lane gives to the collective at which it waits.
u32 Runner::mask_of(u32 pc, unsigned lane) {
  const Instruction& i = m.kernel->code[pc];
  return m.at<u32>(i.from[i.sources - 1])[lane] & m.warp->exist;
}

// met reports whether all lanes of a mask wait at pc; they must agree on mask and collective.
bool Runner::met(u32 mask, u32 pc, unsigned lane) {
  const Warp& w = *m.warp;
  if (!(mask >> lane & 1)) m.find(lane, "a warp collective's mask %08x leaves out the calling lane", mask);
  if (mask & w.exited) m.find(lane, "a warp collective's mask %08x names lanes that have exited (%08x)", mask, mask & w.exited);
  u32 here = 0;
  for (u32 r = w.at_collective & mask; r; r &= r - 1) {
    const unsigned other = first(r);
    const u32 at = w.pc[other], theirs = mask_of(at, other);
    if (at != pc && theirs >> lane & 1)
      m.find(lane, "lane %u of the mask %08x waits in a different collective, at line %u", other, mask, m.kernel->code[at].line);
    if (at == pc && theirs != mask) m.find(lane, "lanes of one collective give different masks: %08x, and lane %u %08x", mask, other, theirs);
    if (at == pc) here |= 1u << other;
  }
  return here == mask;
}

void Runner::exchange(const Instruction& i, u32 mask) {
  Warp& w = *m.warp;
  if (i.kind == Kind::WARP_BARRIER) {
    if (mask == w.exist) w.epoch = ++m.warp_epochs;
    return;
  }
  if (i.kind == Kind::SHUFFLE) {
    shuffle(i, mask);
  } else {
    u32 votes = *m.at<u32>(i.from[0]) & mask;
    for (u32 r = mask; r; r &= r - 1) m.at<u32>(i.to[0])[first(r)] = votes;
    w.unsound[i.to[0].reg] &= ~mask;
  }
  for (unsigned n = 0; n < i.results; n++) w.defined[i.to[n].reg] |= mask;
}

// shuffle does what the PTX ISA writes as a program, section shfl.sync.
void Runner::shuffle(const Instruction& i, u32 mask) {
  Warp& w = *m.warp;
  u32 given[LANES], valid = 0, bad = 0;
  memcpy(given, m.at<u32>(i.from[0]), sizeof given);
  const u32 unsound = w.unsound[i.from[0].reg];
  for (u32 r = mask; r; r &= r - 1) {
    const int lane = first(r), b = m.at<u32>(i.from[1])[lane] & 31, c = m.at<u32>(i.from[2])[lane];
    const int segment = c >> 8 & 31, clamp = c & 31, high = (lane & segment) | (clamp & ~segment), low = lane & segment;
    int from = i.mode == 'u' ? lane - b : i.mode == 'd' ? lane + b : i.mode == 'b' ? lane ^ b : low | (b & ~segment);
    bool inside = i.mode == 'u' ? from >= high : from <= high;
    if (!inside) from = lane;
    if (!(mask >> from & 1)) m.find(lane, "a shuffle reads lane %d, which its mask %08x leaves out", from, mask);
    m.at<u32>(i.to[0])[lane] = given[from];
    valid |= u32(inside) << lane;
    bad |= (unsound >> from & 1) << lane;
  }
  w.unsound[i.to[0].reg] = (w.unsound[i.to[0].reg] & ~mask) | bad;
  if (i.results == 1) return;
  u32* p = m.at<u32>(i.to[1]);
  *p = (*p & ~mask) | valid;
  w.unsound[i.to[1].reg] &= ~mask;
}

// warp runs lanes of the chosen warp until all wait or have ended.
void Runner::warp() {
  Warp& w = *m.warp;
  while (u32 ready = w.exist & ~w.exited & ~w.at_barrier & ~w.at_collective) {
    Turn t = next(ready);
    while (step(t)) {
    }
  }
}

void Runner::select(unsigned number) {
  m.warp = &m.warps[number];
  m.warp_number = number;
}

void Runner::special(Warp& w, unsigned number, unsigned threads) {
  const emu_dim3 &b = m.block_index, &g = m.grid;
  const u32 values[] = {0, threads, b.x, b.y, b.z, g.x, g.y, g.z, 0};
  for (unsigned n = 0; n < std::size(values); n++) {
    u32* to = reinterpret_cast<u32*>(w.registers + m.kernel->registers[n + 1].at);
    for (u32 l = 0; l < LANES; l++) to[l] = n == 0 ? number * LANES + l : n == std::size(values) - 1 ? l : values[n];
    w.defined[n + 1] = ALL;
  }
}

void Runner::begin_warp(unsigned number, unsigned threads) {
  const PtxKernel& k = *m.kernel;
  Warp& w = m.warps[number];
  unsigned count = std::min(LANES, threads - LANES * number);
  w.exist = count == LANES ? ALL : (1u << count) - 1;
  w.exited = w.at_barrier = w.at_collective = 0;
  w.epoch = ++m.warp_epochs;
  w.any_unsound = false;
  std::fill(w.pc, w.pc + LANES, 0);
  if (w.file.empty()) {
    w.file.assign(k.register_bytes + 64, (char)0xa5);
    w.registers = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(w.file.data()) + 63) & ~uintptr_t(63));
    for (auto& [o, value] : k.constants) {
      u32 mask = value & 1 ? ALL : 0;
      if (o.bytes == 1) memcpy(w.registers + o.at, &mask, 4);
      else for (unsigned l = 0; l < LANES; l++) memcpy(w.registers + o.at + l * o.bytes, &value, o.bytes);
    }
  }
  w.defined.assign(k.registers.size(), 0);
  w.unsound.assign(k.registers.size(), 0);
  w.defined[0] = ALL;
  special(w, number, threads);
}

// release ends a barrier of the block, if all of it is there.
void Runner::release(unsigned threads) {
  unsigned live = 0, waiting = 0, meeting = 0;
  for (auto& w : m.warps) {
    live += __builtin_popcount(w.exist & ~w.exited);
    waiting += __builtin_popcount(w.at_barrier);
    meeting += __builtin_popcount(w.at_collective);
  }
  if (!live) return;
  u32 at = ALL;
  for (unsigned n = 0; n < m.warps.size(); n++) {
    select(n);
    Warp& w = m.warps[n];
    const u32 stuck = meeting ? w.at_collective : w.at_barrier;
    for (u32 r = stuck; r; r &= r - 1) {
      m.now = &m.kernel->code[w.pc[first(r)]];
      if (meeting)
        m.find(first(r), "threads wait for each other at different barriers: %u in bar.sync, %u in warp collectives, %u have ended", waiting, meeting, threads - live);
      if (live != threads) m.find(first(r), "%u threads wait in bar.sync, %u have ended", waiting, threads - live);
      if (at == ALL) at = w.pc[first(r)];
      if (at != w.pc[first(r)]) m.find(first(r), "threads of a block wait in another bar.sync, at line %u", m.kernel->code[at].line);
    }
    leave(w.at_barrier, at + 1);
    w.at_barrier = 0;
  }
  m.epoch++;
}

void Runner::block(unsigned threads) {
  const unsigned count = m.warps.size();
  m.block_start = ++m.epoch;
  m.begin_shared();
  std::vector<unsigned> turns(count);
  for (unsigned n = 0; n < count; n++) {
    begin_warp(n, threads);
    turns[n] = order == 1 ? count - 1 - n : n;
  }
  auto alive = [](const Warp& w) { return (w.exist & ~w.exited) != 0; };
  while (std::any_of(m.warps.begin(), m.warps.end(), alive)) {
    for (unsigned n = count; random() && n > 1; n--) std::swap(turns[n - 1], turns[dice.below(n)]);
    for (unsigned n : turns) select(n), warp();
    release(threads);
  }
}

void Runner::grid(emu_dim3 size, unsigned threads) {
  m.grid = size;
  m.grid_start = ++m.epoch;
  std::vector<unsigned> blocks(size_t(size.x) * size.y * size.z);
  for (unsigned n = 0; n < blocks.size(); n++) blocks[n] = order == 1 ? blocks.size() - 1 - n : n;
  for (unsigned n = blocks.size(); random() && n > 1; n--) std::swap(blocks[n - 1], blocks[dice.below(n)]);
  for (unsigned n : blocks) {
    m.block_index = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
    block(threads);
  }
}

}  // namespace

void run_grid(Machine& m, emu_dim3 size, unsigned threads, u64 order) {
  m.warp_epochs = 0;
  Runner{m, order, Random{order * 0x9E3779B97F4A7C15u + 1}}.grid(size, threads);
}

}  // namespace ptx

const char* ptx_run_grid(const PtxKernel* k, emu_dim3 grid, emu_dim3 block, size_t dynamic, void** params) {
  static thread_local ptx::Machine m;
  static thread_local std::string wrong;
  const unsigned threads = block.x * block.y * block.z;
  const size_t warps = (threads + ptx::LANES - 1) / ptx::LANES;
  if (m.kernel != k || m.warps.size() != warps) {
    m.warps.clear();
    m.warps.resize(warps);
  }
  m.kernel = k;
  m.now = nullptr;
  m.counting = getenv("FAKECUDA_PROFILE") != nullptr;
  m.counts = {};
  m.counts.launches = 1;
  m.runs.assign(k->code.size(), 0);
  m.parameters.assign(k->offsets.empty() ? 0 : k->offsets.back() + k->sizes.back(), 0);
  for (size_t n = 0; n < k->sizes.size(); n++) memcpy(&m.parameters[k->offsets[n]], params[n], k->sizes[n]);
  m.begin_memory(dynamic);
  wrong.clear();
  try {
    m.warp = &m.warps[0];
    m.warp_number = 0;
    if (block.y != 1 || block.z != 1) m.find(0, "a block of more than one dimension");
    if (threads > k->most_threads) m.find(0, "%u threads, more than the %u of .maxntid", threads, k->most_threads);
    ptx::run_grid(m, grid, threads, emu_order());
  } catch (const ptx::Finding& f) {
    wrong = f.text;
  }
  std::lock_guard<std::mutex> guard(k->lock);
  k->counts.add(m.counts);
  for (size_t n = 0; n < m.runs.size(); n++) k->runs[n] += m.runs[n];
  return wrong.empty() ? nullptr : wrong.c_str();
}
