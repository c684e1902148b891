// A family's variant that calls cuDNN's softmax or its gradient.
#pragma once

#include "gpu/cudnn_softmax.hpp"
#include "kernels/common/row_family.cuh"

namespace gpuexp {

/// operation(problem, data) returns a cudnn::Softmax or SoftmaxBackward. The variant is
/// unsupported for the type `inexact`, for which cuDNN's errors exceed one rounding.
template <class Variant, class WorkOf, class OperationOf>
Variant cudnn_softmax_variant(std::string writes, WorkOf work, OperationOf operation,
                              std::optional<DataType> inexact = std::nullopt) {
  Variant v("cudnn");
  v.writes = {std::move(writes)};
  v.is_vendor = true;
  v.unavailable = cudnn::softmax_unavailable;
  v.unsupported = [inexact](const RowProblem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.dtype == inexact) return "cuDNN's results in this type are off by several roundings";
    return cudnn::softmax_refuses(p.rows, p.columns);
  };
  v.work = work;
  v.launch = [operation](const auto& p, const auto& d, const LaunchContext&) {
    return cudnn::step_of(operation(p, d));
  };
  return v;
}

}  // namespace gpuexp
