// Headers for the declaration of a family: launches as data, useful work, inputs from a seed, and
// references.
#pragma once

#include "kernels/common/launch.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/reference.cuh"
#include "kernels/common/sectors.cuh"
