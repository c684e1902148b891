// What every family file includes: the declaration of families and launches as data.
#pragma once

#include <cuda_runtime.h>

#include "family/family_of.hpp"
#include "gpu/cuda_check.hpp"
