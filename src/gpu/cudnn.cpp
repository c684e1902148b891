#include "gpu/cudnn.hpp"

#if __has_include(<cudnn_frontend.h>) && __has_include(<cudnn.h>)
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include "gpu/cuda_check.hpp"
#include "gpu/current_device.hpp"
#include "gpu/shared_library.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // required by the headers
}  // namespace cudnn_frontend

namespace gpuexp::cudnn {
namespace {

namespace fe = cudnn_frontend;

std::optional<std::string> missing() {
  static const std::optional<std::string> kMissing = []() -> std::optional<std::string> {
    std::string reason;
    fe::cudnn_dlhandle = open_library({"libcudnn.so.9"}, reason);
    if (fe::cudnn_dlhandle) return std::nullopt;
    return "cuDNN cannot be loaded: " + reason;
  }();
  return kMissing;
}

[[noreturn]] void refuse(const std::string& what) {
  throw DeviceError(what, DeviceFault::refused);
}
void check(fe::error_t status, const char* call) {
  if (status.is_bad()) refuse(std::string("cuDNN: ") + call + ": " + status.get_message());
}
void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    refuse(std::string("cuDNN: ") + call + ": " + fe::detail::get_error_string(status));
}

enum Uid : std::int64_t { kQ = 1, kK, kV, kO, kLogSum, kDO, kDQ, kDK, kDV };

struct Plan {
  std::shared_ptr<fe::graph::Graph> graph;
  void* workspace = nullptr;
};

fe::DataType_t type_of(const Attention& a) {
  return a.type == DataType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
}

std::shared_ptr<fe::graph::Tensor_attributes> rows_of(fe::graph::Graph& graph, Uid uid,
                                                      const char* name, std::int64_t batch,
                                                      std::int64_t heads, std::int64_t rows,
                                                      std::int64_t columns) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_name(name)
                          .set_uid(uid)
                          .set_dim({batch, heads, rows, columns})
                          .set_stride({heads * rows * columns, rows * columns, columns, 1}));
}

struct Inputs {
  std::shared_ptr<fe::graph::Graph> graph;
  std::shared_ptr<fe::graph::Tensor_attributes> q, k, v;
};

Inputs inputs_of(const Attention& a) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(type_of(a))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return {graph, rows_of(*graph, kQ, "q", a.batch, a.heads, a.queries, a.head_dim),
          rows_of(*graph, kK, "k", a.batch, a.key_heads, a.keys, a.head_dim),
          rows_of(*graph, kV, "v", a.batch, a.key_heads, a.keys, a.head_dim)};
}

/// Sets the causal mask of the forward or backward pass. If the numbers of queries and keys are
/// equal, both alignments mean the same, but a backward pass with BOTTOM_RIGHT also processes fully
/// masked tiles and takes twice as long as with TOP_LEFT.
template <class Options>
void set_mask(Options& options, const Attention& a) {
  if (!a.is_causal) return;
  options
      .set_diagonal_alignment(a.queries == a.keys ? fe::DiagonalAlignment_t::TOP_LEFT
                                                  : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
      .set_diagonal_band_right_bound(0);
  if (a.window > 0) options.set_diagonal_band_left_bound(static_cast<int>(a.window));
}

void set_output(fe::graph::Tensor_attributes& tensor, Uid uid, std::int64_t batch,
                std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  tensor.set_output(true)
      .set_uid(uid)
      .set_dim({batch, heads, rows, columns})
      .set_stride({heads * rows * columns, rows * columns, columns, 1});
}

std::shared_ptr<fe::graph::Graph> forward_graph(const Attention& a) {
  const Inputs in = inputs_of(a);
  auto options = fe::graph::SDPA_attributes();
  options.set_name("attention").set_generate_stats(true).set_attn_scale(a.scale);
  set_mask(options, a);
  const auto [o, log_sum] = in.graph->sdpa(in.q, in.k, in.v, options);
  set_output(*o, kO, a.batch, a.heads, a.queries, a.head_dim);
  log_sum->set_output(true).set_uid(kLogSum).set_data_type(fe::DataType_t::FLOAT);
  return in.graph;
}

std::shared_ptr<fe::graph::Graph> backward_graph(const Attention& a) {
  const Inputs in = inputs_of(a);
  const auto o = rows_of(*in.graph, kO, "o", a.batch, a.heads, a.queries, a.head_dim);
  const auto d_o = rows_of(*in.graph, kDO, "d_o", a.batch, a.heads, a.queries, a.head_dim);
  const auto log_sum = rows_of(*in.graph, kLogSum, "log_sum", a.batch, a.heads, a.queries, 1);
  log_sum->set_data_type(fe::DataType_t::FLOAT);
  auto options = fe::graph::SDPA_backward_attributes();
  options.set_name("attention_backward").set_attn_scale(a.scale);
  set_mask(options, a);
  const auto [dq, dk, dv] = in.graph->sdpa_backward(in.q, in.k, in.v, o, d_o, log_sum, options);
  set_output(*dq, kDQ, a.batch, a.heads, a.queries, a.head_dim);
  set_output(*dk, kDK, a.batch, a.key_heads, a.keys, a.head_dim);
  set_output(*dv, kDV, a.batch, a.key_heads, a.keys, a.head_dim);
  return in.graph;
}

void create(cudnnHandle_t* handle) {
  check(fe::detail::create_handle(handle), "cudnnCreate");
}

/// Returns the stored plan, or builds it. The plans' workspaces are never freed.
const Plan& plan_of(const Attention& a, bool is_backward, int device, cudnnHandle_t handle) {
  using Key = std::tuple<int, DataType, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, bool, std::int64_t, float, bool>;
  static std::map<Key, Plan> plans;
  const Key key{device, a.type,     a.batch,     a.heads,  a.key_heads, a.queries,
                a.keys, a.head_dim, a.is_causal, a.window, a.scale,     is_backward};
  const auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  Plan plan{is_backward ? backward_graph(a) : forward_graph(a)};
  check(plan.graph->build(handle, {fe::HeurMode_t::A}), "no engine for this problem");
  std::int64_t bytes = 0;
  check(plan.graph->get_workspace_size(bytes), "get_workspace_size");
  if (bytes > 0) GPUEXP_CUDA(cudaMalloc(&plan.workspace, static_cast<std::size_t>(bytes)));
  return plans.emplace(key, std::move(plan)).first->second;
}

using Tensors = std::unordered_map<std::int64_t, void*>;

Tensors tensors_of(const Attention& a) {
  return {{kQ, const_cast<void*>(a.q)},
          {kK, const_cast<void*>(a.k)},
          {kV, const_cast<void*>(a.v)},
          {kO, a.o},
          {kLogSum, a.log_sum}};
}

void enqueue(const Attention& a, bool is_backward, Tensors tensors, Stream stream, int device) {
  static DeviceHandles<cudnnHandle_t> handles;
  if (missing()) refuse(*missing());
  handles.use(device, create, [&](cudnnHandle_t handle) {
    check(fe::detail::set_stream(handle, stream), "cudnnSetStream");
    const Plan& plan = plan_of(a, is_backward, device, handle);
    check(plan.graph->execute(handle, tensors, plan.workspace), "execute");
  });
}

}  // namespace

std::optional<std::string> unavailable() {
  static const std::optional<std::string> kReason = found_without_loading(missing);
  return kReason;
}

Steps step_of(const Attention& attention) {
  return Steps(OpaqueStep{"cuDNN attention", [attention](Stream stream, int device) {
                            enqueue(attention, false, tensors_of(attention), stream, device);
                          }});
}

Steps step_of(const AttentionBackward& backward) {
  return Steps(OpaqueStep{"cuDNN attention backward", [backward](Stream stream, int device) {
                            Tensors tensors = tensors_of(backward.forward);
                            tensors.insert({{kDO, const_cast<void*>(backward.d_o)},
                                            {kDQ, backward.dq},
                                            {kDK, backward.dk},
                                            {kDV, backward.dv}});
                            enqueue(backward.forward, true, std::move(tensors), stream, device);
                          }});
}

}  // namespace gpuexp::cudnn

#else

namespace gpuexp::cudnn {

std::optional<std::string> unavailable() {
  return "built without cuDNN's headers: pip install nvidia-cudnn-frontend nvidia-cudnn-cu13, and "
         "configure the build with -DGPUEXP_CUDNN_INCLUDE_DIRS=FOLDER;FOLDER, the folders of "
         "cudnn_frontend.h and cudnn.h";
}

Steps step_of(const Attention&) {
  return {};
}
Steps step_of(const AttentionBackward&) {
  return {};
}

}  // namespace gpuexp::cudnn

#endif
