// Attributes of functions and loops that the compiler vectorizes.
#pragma once

/// For a function that executes an instruction: compiles a version for any x86-64 processor and one
/// for processors with AVX2 and FMA. The version is selected when the program starts, before
/// sanitizers are initialized.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPUEXP_VECTORIZED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GPUEXP_VECTORIZED
#endif

/// For a function that GPUEXP_VECTORIZED functions call: it is compiled for the same processors.
#if defined(__GNUC__)
#define GPUEXP_INLINED [[gnu::always_inline]] inline
#else
#define GPUEXP_INLINED inline
#endif

/// For a loop over lanes whose result may overlap a source. It may be vectorized, because no lane
/// reads what another lane writes.
#if defined(__GNUC__) && !defined(__clang__)
#define GPUEXP_LANE_BY_LANE _Pragma("GCC ivdep")
#else
#define GPUEXP_LANE_BY_LANE
#endif
