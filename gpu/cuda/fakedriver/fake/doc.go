// Package fake builds the fake CUDA driver of gpu/cuda/fakedriver for tests, and says what it is to be.
//
// Its one noun is Libraries: the driver, cuBLAS and NVML as paths to load.
//
// # Contract
//
// Build compiles with g++ into a folder of the system's temporary one, named after a hash of the sources, and finds it there the
// next time. Configure needs the driver to be loaded and no device to be open. A process has one fake driver.
//
// With CAPGNN_CUDA_DRIVER=real the same tests run on the driver and the GPUs of the machine: Build names those libraries,
// Configure lets them be and answers ErrReal where a test wants what no hardware does, and such a test is skipped.
//
// Kernels are the shipped PTX, which the driver interprets (ptx.h says what it finds), or with FAKECUDA_KERNELS=sources the .cu
// files, compiled by g++ (emu.h); with FAKECUDA_KERNELS=contracted g++ joins products and sums, as compilers for GPUs do. With
// FAKECUDA_PROFILE=FOLDER a process writes there what its kernels did.
//
// # Source
//
// Ours. A green run on it is no proof for hardware: it knows neither time nor memory order.
//
// # Usage
//
//	libs, err := fake.Build()
//	if errors.Is(err, fake.ErrNoCompiler) {
//		t.Skip(err)
//	}
//	driver, err := cuda.Load(cuda.Options{Library: libs.Driver})
//	err = fake.Configure("n=4;p2p=0100/1000/0001/0010;seed=7")
package fake
