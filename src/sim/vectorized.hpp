// Marks of functions and loops that the compiler is to turn into vector code.
#pragma once

/// Before a function that executes an instruction: it is compiled once for any processor and once
/// for those with AVX2 and FMA, and the one that suits the processor is taken as the program
/// starts, before sanitizers are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPUEXP_VECTORIZED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define GPUEXP_VECTORIZED
#endif

/// Before what such functions call, so that it is compiled as they are.
#if defined(__GNUC__)
#define GPUEXP_INLINED [[gnu::always_inline]] inline
#else
#define GPUEXP_INLINED inline
#endif

/// Before a loop over lanes whose result may lie where a source does: no lane reads what another
/// writes, so that it is vector code anyway.
#if defined(__GNUC__) && !defined(__clang__)
#define GPUEXP_LANE_BY_LANE _Pragma("GCC ivdep")
#else
#define GPUEXP_LANE_BY_LANE
#endif
