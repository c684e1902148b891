// How long customers take that share stations and wait in between: what latency hiding comes down
// to.
#pragma once

#include <vector>

namespace gpuexp {

/// The time per customer of `customers` that go round and round in a closed network: each needs
/// `demands[i]` of station i per round (one customer at a time is served there) and `delay` during
/// which it occupies no station. By exact mean value analysis (Reiser and Lavenberg, "Mean-Value
/// Analysis of Closed Multichain Queuing Networks", JACM 27(2), 1980): it lies between the two
/// bounds of a roofline with latencies, the longest demand (stations saturate) and
/// (delay + sum of demands) / customers (Little's law), and touches each where the other is far
/// away. `customers` may be fractional (interpolated); below 1 counts as 1. Units are those of the
/// arguments.
double time_per_customer(double customers, const std::vector<double>& demands, double delay);

}  // namespace gpuexp
