//go:build cuda

// The driver calls of symbols.h as hidden symbols of the program: each jumps through its slot.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "symbols.h"

#define HIDDEN __attribute__((visibility("hidden")))

enum { NO_FILE = -1, NO_DEVICE = 100, NOT_FOUND = 500 }; // ours, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_FOUND

static int no_device(void) { return NO_DEVICE; }
static int not_found(void) { return NOT_FOUND; }

#define SLOT(i, name) (void *)no_device,
HIDDEN void *capgnn_cudalink_slots[CUDALINK_COUNT] = {CUDALINK_SYMBOLS(SLOT)};

#define NAME(i, name) #name,
static const char *const names[CUDALINK_COUNT] = {CUDALINK_SYMBOLS(NAME)};

#if defined(__x86_64__)
#define JUMP(i) "\tjmp *capgnn_cudalink_slots+8*" #i "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(i)                                              \
	"\tadrp x16, capgnn_cudalink_slots+8*" #i "\n"              \
	"\tldr x16, [x16, :lo12:capgnn_cudalink_slots+8*" #i "]\n" \
	"\tbr x16\n"
#else
#error "cudalink: this processor has no trampolines yet"
#endif

#define TRAMPOLINE(i, name)                                                 \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " \
	        #name ",%function\n" #name ":\n" JUMP(i) ".size " #name ",.-" #name "\n");
CUDALINK_SYMBOLS(TRAMPOLINE)

// cuInit is what gorgonia.org/cu calls when the program starts.
HIDDEN int cuInit(unsigned flags) { return (void)flags, 0; }

static char path[4096]; // of the driver that is loaded
static char why[512];

// capgnn_cudalink_open returns 0 or the reason as a CUresult, NO_FILE where it cannot be loaded; capgnn_cudalink_why then says it.
// Calls are serialised.
int capgnn_cudalink_open(const char *library) {
	if (path[0]) return 0;
	void *driver = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!driver) {
		snprintf(why, sizeof why, "%s", dlerror());
		return NO_FILE;
	}
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
	if (!init) {
		snprintf(why, sizeof why, "not a CUDA driver: it has no cuInit");
		return NOT_FOUND;
	}
	int code = init(0);
	if (code) {
		int (*text)(int, const char **) = (int (*)(int, const char **))dlsym(driver, "cuGetErrorString");
		const char *said = "";
		if (!text || text(code, &said) || !said) said = "no explanation";
		snprintf(why, sizeof why, "cuInit answers %d: %s", code, said);
		return code;
	}
	for (int i = 0; i < CUDALINK_COUNT; i++) {
		void *call = dlsym(driver, names[i]);
		capgnn_cudalink_slots[i] = call ? call : (void *)not_found;
	}
	Dl_info file;
	snprintf(path, sizeof path, "%s", dladdr((void *)init, &file) ? file.dli_fname : library);
	return 0;
}

const char *capgnn_cudalink_path(void) { return path; }

const char *capgnn_cudalink_why(void) { return why; }
