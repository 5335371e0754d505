// The fake management library: what capgnn asks NVML about the fake GPUs. It has as many as the fake driver, or as FAKECUDA
// says before that is loaded; UUIDs are equal.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

static int (*device_count)(int *);

static unsigned devices(void) {
	int n = 0;
	if (!device_count) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		if (driver) device_count = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
	}
	if (device_count && !device_count(&n)) return (unsigned)n;
	const char *said = getenv("FAKECUDA"), *at = said ? strstr(said, "n=") : 0;
	return at ? (unsigned)atoi(at + 2) : 1;
}

static unsigned index_of(void *device) { return (unsigned)(size_t)device - 1; }

int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned flags) { return (void)flags, 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code ? "an error of the fake NVML" : "success"; }
int nvmlSystemGetDriverVersion(char *text, unsigned n) { return snprintf(text, n, "580.00"), 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { return *n = devices(), 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) {
	if (i >= devices()) return INVALID_ARGUMENT;
	*device = (void *)(size_t)(i + 1);
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned n) {
	snprintf(text, n, "GPU-66616b65-0000-0000-0000-0000000000%02x", index_of(device));
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
	char text[96];
	for (unsigned i = 0; i < devices(); i++) {
		*device = (void *)(size_t)(i + 1);
		nvmlDeviceGetUUID(*device, text, sizeof text);
		for (unsigned k = 0; text[k] == uuid[k]; k++)
			if (!text[k]) return 0;
	}
	return NOT_FOUND;
}

int nvmlDeviceGetName(void *device, char *text, unsigned n) { return snprintf(text, n, "Fake GPU %u", index_of(device)), 0; }

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *m) {
	(void)device;
	m[0] = 1024ull << 20;
	m[1] = 1000ull << 20;
	m[2] = 24ull << 20;
	return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *v) { return (void)device, *v = 1, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *v) { return (void)device, *v = 4, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *v) { return (void)device, *v = 16, 0; }
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *v) { return (void)device, (void)sensor, *v = 40, 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) { return (void)device, *mw = 60000, 0; }

// A card takes 2.5 J from one question to the next, computes for 3/4 of the time and moves memory for a quarter. Device 1 has no meter.
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
	static unsigned long long taken = 1000000;
	if (index_of(device) == 1) return NOT_SUPPORTED;
	return *mj = taken += 2500, 0;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
	if (index_of(device) == 1) return NOT_SUPPORTED;
	return rates[0] = 75, rates[1] = 25, 0;
}

// Device 1 sits in a slot of few lanes.
int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *v) { return *v = index_of(device) == 1 ? 4 : 16, 0; }
