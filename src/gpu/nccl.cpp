#include "gpu/nccl.hpp"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/peer_group.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::nccl {

namespace {

// Declarations from nccl.h of NCCL 2.19 to 2.28 (NCCL documentation, API reference), so that
// building does not require the header.
using Communicator = struct ncclComm*;
using Result = int;
struct UniqueId {
  char internal[128];
};
constexpr int kSum = 0;
constexpr int kCollectiveSymmetric = 1;

const std::vector<std::string> kFiles{"libnccl.so.2", "libnccl.so"};

struct Nccl : LoadedLibrary {
  Nccl() : LoadedLibrary("NCCL", kFiles) {}
};

// NCCL 2.27 and later.
struct WindowFunctions : Nccl {
  LibraryFunction<Result (*)(Communicator, void*, std::size_t, void**, int)> register_window{
      *this, "ncclCommWindowRegister"};
  LibraryFunction<Result (*)(Communicator, void*)> deregister{*this, "ncclCommWindowDeregister"};
};

// NCCL 2.28 and later.
struct AllToAllFunction : Nccl {
  LibraryFunction<Result (*)(const void*, void*, std::size_t, int, Communicator, cudaStream_t)>
      all_to_all{*this, "ncclAlltoAll"};
};

struct Library : Nccl {
  WindowFunctions windows;
  AllToAllFunction all_to_all;
  LibraryFunction<Result (*)(UniqueId*)> unique_id{*this, "ncclGetUniqueId"};
  LibraryFunction<Result (*)(Communicator*, int, UniqueId, int)> init_rank{*this,
                                                                           "ncclCommInitRank"};
  LibraryFunction<Result (*)(Communicator)> abort{*this, "ncclCommAbort"};
  LibraryFunction<Result (*)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t)>
      all_reduce{*this, "ncclAllReduce"};
  LibraryFunction<Result (*)(const void*, void*, std::size_t, int, Communicator, cudaStream_t)>
      all_gather{*this, "ncclAllGather"};
  LibraryFunction<Result (*)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t)>
      reduce_scatter{*this, "ncclReduceScatter"};
  LibraryFunction<Result (*)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t)>
      broadcast{*this, "ncclBroadcast"};
  LibraryFunction<Result (*)(const void*, std::size_t, int, int, Communicator, cudaStream_t)> send{
      *this, "ncclSend"};
  LibraryFunction<Result (*)(void*, std::size_t, int, int, Communicator, cudaStream_t)> receive{
      *this, "ncclRecv"};
  LibraryFunction<Result (*)()> group_start{*this, "ncclGroupStart"};
  LibraryFunction<Result (*)()> group_end{*this, "ncclGroupEnd"};
  LibraryFunction<Result (*)(Communicator, void*, std::size_t, void**)> register_buffer{
      *this, "ncclCommRegister"};
  LibraryFunction<Result (*)(Communicator, void*)> deregister{*this, "ncclCommDeregister"};
  LibraryFunction<const char* (*)(Result)> error_text{*this, "ncclGetErrorString"};
};

const Library& library() {
  static const Library kLibrary = [] {
    if (const auto refused = prepare_environment())
      throw DeviceError(*refused, DeviceFault::refused);
    return Library();
  }();
  return kLibrary;
}

std::optional<std::string> missing() {
  if (const auto refused = prepare_environment()) return refused;
  return library().missing();
}

void check(Result result, const char* call) {
  if (result == 0) return;
  throw DeviceError(std::string(call) + ": " + library().error_text(result), DeviceFault::refused);
}

int type_of(DataType type) {
  constexpr int kFloat32 = 7;
  constexpr int kBfloat16 = 9;
  return type == DataType::bf16 ? kBfloat16 : kFloat32;
}

/// The communicator of a group of ranks, for buffers with one kind of registration. NCCL identifies
/// registered buffers by address, so a communicator shared between kinds would also use the
/// registration in calls with Buffers::plain.
class Group {
 public:
  Group(PeerGroup& peers, Buffers buffers)
      : meeting_(peers.exchange().place().meeting), buffers_(buffers) {
    UniqueId id{};
    if (peers.rank() == 0) check(library().unique_id(&id), "ncclGetUniqueId");
    const std::string of_first =
        peers.exchange().all_gather({id.internal, sizeof id.internal}).front().text;
    of_first.copy(id.internal, sizeof id.internal);
    check(library().init_rank(&communicator_, peers.ranks(), id, peers.rank()), "ncclCommInitRank");
  }
  ~Group() {
    if (communicator_) library().abort(communicator_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::string& meeting() const { return meeting_; }
  Communicator communicator() const { return communicator_; }

  void know(const void* buffer, std::size_t bytes) {
    if (buffers_ == Buffers::plain) return;
    const auto [known, is_new] = known_.try_emplace({buffer, bytes});
    if (!is_new) return;
    auto* const at = const_cast<void*>(buffer);
    if (buffers_ == Buffers::registered) {
      check(library().register_buffer(communicator_, at, bytes, &known->second),
            "ncclCommRegister");
    } else {
      check(library().windows.register_window(communicator_, at, bytes, &known->second,
                                              kCollectiveSymmetric),
            "ncclCommWindowRegister");
    }
  }
  void forget() {
    for (const auto& [of, handle] : known_) {
      if (buffers_ == Buffers::registered) {
        library().deregister(communicator_, handle);
      } else {
        library().windows.deregister(communicator_, handle);
      }
    }
    known_.clear();
  }

 private:
  std::string meeting_;
  Buffers buffers_;
  Communicator communicator_ = nullptr;
  std::map<std::pair<const void*, std::size_t>, void*> known_;
};

using Groups = std::map<Buffers, std::unique_ptr<Group>>;
Groups& groups() {
  static Groups all;
  return all;
}

Group& group_of(PeerGroup& peers, Buffers buffers) {
  std::unique_ptr<Group>& group = groups()[buffers];
  if (!group || group->meeting() != peers.exchange().place().meeting) {
    group.reset();
    group = std::make_unique<Group>(peers, buffers);
    peers.before_release([] {
      for (const auto& [of, known] : groups()) {
        if (known) known->forget();
      }
    });
  }
  return *group;
}

void enqueue(const Call& call, Communicator communicator, cudaStream_t stream) {
  const Library& api = library();
  const int type = type_of(call.type);
  const auto n = static_cast<std::size_t>(call.n);
  const std::size_t part = n / static_cast<std::size_t>(call.ranks);
  const std::size_t bytes = part * size_of(call.type);
  const auto* const x = static_cast<const char*>(call.x);
  auto* const y = static_cast<char*>(call.y);
  const std::size_t own = static_cast<std::size_t>(call.rank) * bytes;
  switch (call.operation) {
    case Operation::all_reduce:
      return check(api.all_reduce(x, y, n, type, kSum, communicator, stream), "ncclAllReduce");
    case Operation::all_gather:
      return check(api.all_gather(x + own, y, part, type, communicator, stream), "ncclAllGather");
    case Operation::reduce_scatter:
      return check(api.reduce_scatter(x, y + own, part, type, kSum, communicator, stream),
                   "ncclReduceScatter");
    case Operation::broadcast:
      return check(api.broadcast(x, y, n, type, 0, communicator, stream), "ncclBroadcast");
    case Operation::all_to_all:
      if (!library().all_to_all.missing()) {
        return check(library().all_to_all.all_to_all(x, y, part, type, communicator, stream),
                     "ncclAlltoAll");
      }
      check(api.group_start(), "ncclGroupStart");
      for (int rank = 0; rank < call.ranks; ++rank) {
        const std::size_t at = static_cast<std::size_t>(rank) * bytes;
        check(api.send(x + at, part, type, rank, communicator, stream), "ncclSend");
        check(api.receive(y + at, part, type, rank, communicator, stream), "ncclRecv");
      }
      return check(api.group_end(), "ncclGroupEnd");
    case Operation::shift:
      check(api.group_start(), "ncclGroupStart");
      check(api.send(x, n, type, (call.rank + call.ranks - 1) % call.ranks, communicator, stream),
            "ncclSend");
      check(api.receive(y, n, type, (call.rank + 1) % call.ranks, communicator, stream),
            "ncclRecv");
      return check(api.group_end(), "ncclGroupEnd");
  }
}

}  // namespace

std::optional<std::string> unavailable() {
  return found_without_loading(&missing);
}

Steps step_of(const Call& call) {
  return OpaqueStep{
      "NCCL", [call](Stream stream, int) {
        PeerGroup* const peers = PeerGroup::current();
        if (!peers)
          throw DeviceError("NCCL is called for a problem on one GPU", DeviceFault::refused);
        if (call.buffers == Buffers::windows) library().windows.require();
        Group& group = group_of(*peers, call.buffers);
        const std::size_t bytes = static_cast<std::size_t>(call.n) * size_of(call.type);
        group.know(call.x, bytes);
        group.know(call.y, bytes);
        enqueue(call, group.communicator(), stream);
      }};
}

std::optional<std::string> prepare_environment() {
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  const char* const algorithms = std::getenv("NCCL_ALGO");
  if (!algorithms) return std::nullopt;
  std::string upper;
  for (const char* c = algorithms; *c; ++c)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  if (upper.find("NVLS") == std::string::npos || upper.front() == '^') return std::nullopt;
  return "NCCL_ALGO requests NVLS, NVLink multicast, which gpuexp does not use; set other "
         "algorithms (Ring, Tree)";
}

}  // namespace gpuexp::nccl
