// Switching between the stacks of fibers: emu_switch saves the callee's registers on the current stack, stores that stack
// in *from, and goes on where `to` was left. Private to emu.cc.
#pragma once
#include <cstdint>
#include <cstring>

extern "C" void emu_switch(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");

// emu_new_fiber returns a stack on which emu_switch starts entry.
static void* emu_new_fiber(char* stack, size_t size, void (*entry)()) {
  void** sp = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(stack) + size) & ~uintptr_t(15));
  *--sp = nullptr;  // entry never returns; this keeps the alignment that a call would have
  *--sp = reinterpret_cast<void*>(entry);
  sp -= 6;
  std::memset(sp, 0, 6 * sizeof(void*));
  return sp;
}
#else
#error "the kernel emulator has fibers for x86-64 only"
#endif
