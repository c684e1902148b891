// Attributes of functions and loops that the compiler vectorizes.
#pragma once

/// Before a function that executes an instruction. It is compiled for any x86-64 processor, and for
/// processors with AVX2 and FMA. The matching version is selected when the program starts, before
/// sanitizers are initialized.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPUEXP_VECTORIZED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GPUEXP_VECTORIZED
#endif

/// Before a function that such functions call, so that it is compiled for the same processors.
#if defined(__GNUC__)
#define GPUEXP_INLINED [[gnu::always_inline]] inline
#else
#define GPUEXP_INLINED inline
#endif

/// Before a loop over lanes whose result may overlap a source. No lane reads what another lane
/// writes, so the loop can be vectorized.
#if defined(__GNUC__) && !defined(__clang__)
#define GPUEXP_LANE_BY_LANE _Pragma("GCC ivdep")
#else
#define GPUEXP_LANE_BY_LANE
#endif
