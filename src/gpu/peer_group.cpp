#include "gpu/peer_group.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <cuda.h>
#include <fmt/format.h>

#include "base/types.hpp"
#include "gpu/peer_barrier.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp {

namespace {

constexpr double kNanosecondsPerSecond = 1e9;

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemExportToShareableHandle) export_handle;
  decltype(&cuMemImportFromShareableHandle) import_handle;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuGetErrorName) error_name;
};

template <class Function>
void find(Function& function, const char* name) {
  function = driver_function_as<Function>(name);
  if (!function) {
    throw DeviceError(fmt::format("the driver lacks {}, which GPUs need to share memory", name),
                      DeviceFault::refused);
  }
}

const Driver& driver() {
  static const Driver kDriver = [] {
    Driver d{};
    find(d.granularity, "cuMemGetAllocationGranularity");
    find(d.create, "cuMemCreate");
    find(d.release, "cuMemRelease");
    find(d.export_handle, "cuMemExportToShareableHandle");
    find(d.import_handle, "cuMemImportFromShareableHandle");
    find(d.reserve, "cuMemAddressReserve");
    find(d.free, "cuMemAddressFree");
    find(d.map, "cuMemMap");
    find(d.unmap, "cuMemUnmap");
    find(d.set_access, "cuMemSetAccess");
    find(d.error_name, "cuGetErrorName");
    return d;
  }();
  return kDriver;
}

void check(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver().error_name(result, &name);
  throw DeviceError(fmt::format("{}: {}", what, name ? name : "unknown error"),
                    DeviceFault::refused);
}

CUmemAllocationProp memory_on(int device, PeerHandles handles) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  wanted.requestedHandleTypes = handles == PeerHandles::fabric
                                    ? CU_MEM_HANDLE_TYPE_FABRIC
                                    : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return wanted;
}

std::int64_t granularity(const CUmemAllocationProp& wanted) {
  std::size_t step = 0;
  check(driver().granularity(&step, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "memory that other GPUs can access (cuMemGetAllocationGranularity)");
  return static_cast<std::int64_t>(step);
}

/// A handle to memory. The destructor releases the handle; mappings of the memory remain.
class MemoryHandle {
 public:
  MemoryHandle(std::int64_t bytes, int device, PeerHandles handles) {
    const CUmemAllocationProp wanted = memory_on(device, handles);
    check(driver().create(&handle_, static_cast<std::size_t>(bytes), &wanted, 0),
          fmt::format("{} bytes of memory that other GPUs can access (cuMemCreate)", bytes));
  }
  /// Imports another rank's memory from the message that the rank's exported() returned.
  MemoryHandle(const RankExchange::RankMessage& exported, int rank) {
    const auto import_as = [&](void* handle, CUmemAllocationHandleType type) {
      check(driver().import_handle(&handle_, handle, type),
            fmt::format("the memory of rank {} (cuMemImportFromShareableHandle)", rank));
    };
    if (exported.descriptor) {
      import_as(reinterpret_cast<void*>(static_cast<std::uintptr_t>(exported.descriptor.get())),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      return;
    }
    CUmemFabricHandle handle{};
    if (exported.text.size() != sizeof handle)
      throw DeviceError(fmt::format("rank {} shares no memory", rank), DeviceFault::lost);
    std::memcpy(&handle, exported.text.data(), sizeof handle);
    import_as(&handle, CU_MEM_HANDLE_TYPE_FABRIC);
  }
  ~MemoryHandle() { driver().release(handle_); }
  MemoryHandle(const MemoryHandle&) = delete;
  MemoryHandle& operator=(const MemoryHandle&) = delete;

  CUmemGenericAllocationHandle get() const { return handle_; }
  /// The message with which other ranks import this memory: a descriptor, or a fabric handle's
  /// bytes.
  RankExchange::RankMessage exported(PeerHandles handles) const {
    const auto export_to = [&](void* handle, CUmemAllocationHandleType type) {
      check(driver().export_handle(handle, handle_, type, 0),
            "a handle of memory for other GPUs (cuMemExportToShareableHandle)");
    };
    if (handles == PeerHandles::descriptors) {
      int descriptor = -1;
      export_to(&descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      return {"", OwnedDescriptor(descriptor)};
    }
    CUmemFabricHandle handle{};
    export_to(&handle, CU_MEM_HANDLE_TYPE_FABRIC);
    return {std::string(reinterpret_cast<const char*>(&handle), sizeof handle), OwnedDescriptor()};
  }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
};

// CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED is not sufficient: H200s report it although
// cuMemCreate fails without an IMEX channel (NVIDIA IMEX Service for NVLink Networks, IMEX
// Channels). The channel is checked first, because memcheck reports a failed cuMemCreate.
bool grants_fabric_handles(int device) {
  std::error_code none;
  if (std::filesystem::directory_iterator("/dev/nvidia-caps-imex-channels", none) ==
      std::filesystem::directory_iterator())
    return false;
  const CUmemAllocationProp wanted = memory_on(device, PeerHandles::fabric);
  std::size_t step = 0;
  CUmemGenericAllocationHandle handle = 0;
  if (driver().granularity(&step, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      driver().create(&handle, step, &wanted, 0) != CUDA_SUCCESS)
    return false;
  driver().release(handle);
  return true;
}

PeerHandles common_handles(int device, RankExchange& ranks) {
  return ranks.is_any(!grants_fabric_handles(device)) ? PeerHandles::descriptors
                                                      : PeerHandles::fabric;
}

unsigned char* mapped(const MemoryHandle& memory, std::int64_t bytes, int device, int rank) {
  const auto size = static_cast<std::size_t>(bytes);
  CUdeviceptr at = 0;
  check(driver().reserve(&at, size, 0, 0, 0), "addresses for shared memory (cuMemAddressReserve)");
  CUresult result = driver().map(at, size, 0, memory.get(), 0);
  if (result == CUDA_SUCCESS) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = driver().set_access(at, size, &access, 1);
    if (result != CUDA_SUCCESS) driver().unmap(at, size);
  }
  if (result != CUDA_SUCCESS) driver().free(at, size);
  check(result, fmt::format("access to the memory of rank {}", rank));
  return reinterpret_cast<unsigned char*>(at);
}

}  // namespace

PeerMemory::PeerMemory(std::int64_t bytes, int device, PeerHandles handles, RankExchange& ranks) {
  const std::int64_t step = granularity(memory_on(device, handles));
  bytes_ = ceil_div(std::max<std::int64_t>(bytes, 1), step) * step;
  const std::vector<RankExchange::RankMessage> sizes = ranks.all_gather(std::to_string(bytes_));
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    if (sizes[rank].text != std::to_string(bytes_)) {
      throw DeviceError(
          fmt::format("rank {} shares {} bytes, this one {}", rank, sizes[rank].text, bytes_),
          DeviceFault::lost);
    }
  }
  const MemoryHandle own(bytes_, device, handles);
  const RankExchange::RankMessage exported = own.exported(handles);
  const std::vector<RankExchange::RankMessage> told =
      ranks.all_gather(exported.text, exported.descriptor.get());
  try {
    for (int rank = 0; rank < ranks.place().ranks; ++rank) {
      mapped_.push_back(rank == ranks.place().rank
                            ? mapped(own, bytes_, device, rank)
                            : mapped(MemoryHandle(told[static_cast<std::size_t>(rank)], rank),
                                     bytes_, device, rank));
    }
  } catch (...) {
    unmap();
    throw;
  }
}

PeerMemory::~PeerMemory() {
  unmap();
}

void PeerMemory::unmap() {
  GPUEXP_CUDA_NOEXCEPT(cudaDeviceSynchronize());
  for (unsigned char* at : mapped_) {
    driver().unmap(reinterpret_cast<CUdeviceptr>(at), static_cast<std::size_t>(bytes_));
    driver().free(reinterpret_cast<CUdeviceptr>(at), static_cast<std::size_t>(bytes_));
  }
  mapped_.clear();
}

namespace {
PeerGroup* the_group = nullptr;
}

PeerGroup* PeerGroup::current() {
  return the_group;
}

PeerGroup::PeerGroup(const RankPlace& place, int device)
    : exchange_(place),
      device_(device),
      handles_(common_handles(device, exchange_)),
      d_offset_(sizeof(ClockOffset)) {
  signals_memory_ =
      std::make_unique<PeerMemory>(sizeof(BarrierSignals), device, handles_, exchange_);
  GPUEXP_CUDA(cudaMemset(signals_memory_->of(rank()), 0, sizeof(BarrierSignals)));
  for (int r = 0; r < ranks(); ++r)
    signals_.of[r] = reinterpret_cast<BarrierSignals*>(signals_memory_->of(r));
  GPUEXP_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&report_), sizeof(BarrierReport),
                            cudaHostAllocMapped));
  *report_ = {};
  GPUEXP_CUDA(cudaDeviceSynchronize());
  exchange_.all_gather("");  // no rank may signal before all signals are zero
  calibrate();
  the_group = this;
}

PeerGroup::~PeerGroup() {
  released();
  the_group = nullptr;
  GPUEXP_CUDA_NOEXCEPT(cudaFreeHost(report_));
}

std::shared_ptr<PeerMemory> PeerGroup::memory(std::int64_t bytes) {
  std::unique_ptr<PeerMemory> memory;
  // All ranks request the same sizes in the same order, so they choose the same free memory.
  if (const auto found = free_.lower_bound(bytes);
      found != free_.end() && found->first <= 2 * bytes) {
    memory = std::move(found->second);
    free_.erase(found);
  } else {
    memory = std::make_unique<PeerMemory>(bytes, device_, handles_, exchange_);
  }
  return {memory.release(), [this](PeerMemory* used) {
            free_.emplace(used->bytes(), std::unique_ptr<PeerMemory>(used));
          }};
}

void PeerGroup::make_room(std::int64_t bytes) {
  std::int64_t kept = 0;
  for (const auto& [size, memory] : free_)
    kept += size;
  std::size_t free = 0;
  std::size_t total = 0;
  GPUEXP_CUDA(cudaMemGetInfo(&free, &total));
  if (kept + bytes > static_cast<std::int64_t>(total) / 2) free_.clear();
}

void PeerGroup::queue_barrier(const CudaStream& stream) {
  queue_peer_barrier(signals_, rank(), ranks(), ++barriers_, ahead_ns_,
                     static_cast<long long>(kPatienceS * kNanosecondsPerSecond), report_,
                     stream.get());
}

void PeerGroup::explain() const {
  const auto missed = [](const WaitReport& report, const std::string& what) {
    if (report.missing == 0) return;
    throw DeviceError(fmt::format("rank {} did not reach {}", report.missing - 1,
                                  fmt::format(fmt::runtime(what), report.step)),
                      DeviceFault::peer_lost);
  };
  missed(report_->of_barrier, fmt::format("barrier {{}} within {:g} s", kPatienceS));
  missed(report_->of_launch, "step {} of the launch");
}

WaitReport* PeerGroup::launch_report() const {
  return &report_->of_launch;
}

std::int64_t PeerGroup::released_ns() const {
  return report_->released_ns - ahead_ns_;
}

void PeerGroup::calibrate() {
  constexpr int kRounds = 30;
  constexpr auto kPatienceNs = static_cast<long long>(kPatienceS * kNanosecondsPerSecond);
  std::vector<ClockOffset> offsets(static_cast<std::size_t>(ranks()));
  for (int peer = 1; peer < ranks(); ++peer) {
    const unsigned first = clock_rounds_ + 1;
    clock_rounds_ += kRounds;
    if (rank() == 0) {
      queue_clock_questions(signals_, peer, first, kRounds, kPatienceNs, report_,
                            d_offset_.as<ClockOffset>(), stream_.get());
      GPUEXP_CUDA(cudaMemcpyAsync(&offsets[static_cast<std::size_t>(peer)], d_offset_.get(),
                                  sizeof(ClockOffset), cudaMemcpyDeviceToHost, stream_.get()));
    } else if (rank() == peer) {
      queue_clock_answers(signals_, peer, first, kRounds, kPatienceNs, report_, stream_.get());
    }
  }
  stream_.synchronize();
  // Rank 0 sends all offsets; each rank reads its own.
  std::string of_all;
  for (const ClockOffset& offset : offsets)
    of_all += fmt::format("{} ", std::llround(offset.ahead_ns));
  const std::string told = exchange_.all_gather(of_all).front().text;
  const char* at = told.c_str();
  for (int r = 0; r <= rank(); ++r) {
    char* end = nullptr;
    ahead_ns_ = std::strtoll(at, &end, 10);
    at = end;
  }
}

}  // namespace gpuexp
