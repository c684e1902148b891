#include "sim/memory_checks.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include <fmt/format.h>

namespace gpuexp::sim {

namespace {

constexpr unsigned kWordBytes = 4;

bool is_write(Access kind) {
  return kind == Access::store || kind == Access::async_store;
}

void add_undefined(Warp& warp, const Op& op, const MemoryAccess& access, LaneMask lanes) {
  if (!warp.undefined) warp.undefined = std::make_unique<UndefinedRegisters>();
  warp.undefined->add(op.to[0].index, std::max(1u, access.width / kWordBytes), lanes,
                      {access.space, access.address, warp.divergence.next() - 1, access.width});
}

bool is_aligned(std::uint64_t address, unsigned width) {
  return (address & (width - 1)) == 0;
}

}  // namespace

void check_registers(const Program& program, Warp& warp, const Op& op, LaneMask lanes,
                     std::size_t system_shared_bytes) {
  UndefinedRegisters& undefined = *warp.undefined;
  const bool is_local_store = program.listed[warp.divergence.next() - 1].opcode.starts_with("STL");
  for (const Source& from : op.from) {
    if (is_local_store && &from == &op.from[1]) continue;  // checked by MemoryChecks::check_local()
    const bool is_register = from.kind == Operand::Kind::reg || from.kind == Operand::Kind::memory;
    const LaneMask used = is_register ? undefined.lanes_of(from.index) & lanes : 0;
    if (used == 0) continue;
    const UndefinedRegisters::Origin& origin = undefined.origin_of(from.index);
    const std::uint32_t place = warp.divergence.next() - 1;
    const auto lane = first_lane(used);
    const std::uint64_t address = origin.address[lane];
    const std::string where =
        origin.space == Space::local
            ? fmt::format("local memory at {:#x}", address)
            : "shared memory at " + shared_offset(address, system_shared_bytes);
    Fault fault(FaultKind::unwritten,
                fmt::format("{} bytes of {} are read {}, and used{}", origin.width, where,
                            kBeforeAnyWrite, source_line(program, place, " at ")),
                address, lane);
    if (origin.space == Space::shared) fault.unwritten_shared_bytes = origin.width;
    fault.place = source_line(program, origin.place);
    throw fault;
  }
  const unsigned registers =
      max_registers_written(program.listed[warp.divergence.next() - 1].opcode);
  for (const Source& to : op.to) {
    if (to.kind == Operand::Kind::reg) undefined.remove(to.index, registers, lanes);
  }
  if (undefined.empty()) warp.undefined.reset();
}

MemoryChecks::MemoryChecks(GlobalMemory& global, const Program& program, const Extent& block,
                           std::span<const std::byte> shared, std::size_t system_shared_bytes,
                           std::size_t warps)
    : global_(global),
      program_(program),
      block_(block),
      shared_bytes_(shared.size()),
      system_shared_bytes_(system_shared_bytes),
      shadow_(shared.size(), warps, program.orders_warps) {
  shadow_.set_contents(shared.data());
  if (!program.reaches_shared) return;
  orders_.reserve(warps);
  for (std::size_t i = 0; i < warps; ++i)
    orders_.emplace_back(shadow_.clock());
}

void MemoryChecks::set_group_memory(const AddressRange& range) {
  group_memory_ = range;
  shadow_.set_written(range.begin, range.end - range.begin);
}

void MemoryChecks::follow(Warp& warp) {
  if (!orders_.empty()) warp.divergence.tell(orders_[warp.index]);
}

void MemoryChecks::check(Warp& warp, const MemoryAccess& access) {
  if (access.lanes == 0 || access.kind == Access::matrix_load) return;
  if (access.kind == Access::bulk_load || access.kind == Access::bulk_store) {
    check_range(access);
  } else if (access.space == Space::local) {
    check_local(warp, access);
  } else if (access.space == Space::global) {
    check_global(access);
  } else {
    check_shared(warp, access);
  }
}

void check_bounds(GlobalMemory& global, const MemoryAccess& access) {
  const unsigned width = access.width;
  if (access.lanes == 0 || access.kind == Access::matrix_load) return;
  if (global.find(access.shape.first, access.shape.last - access.shape.first + width)) return;
  for_each_lane(access.lanes, [&](unsigned lane) {
    const std::uint64_t address = access.address[lane];
    if (!global.find(address, width))
      throw Fault(FaultKind::out_of_bounds, global.describe_outside(address, width), address, lane);
  });
}

void MemoryChecks::check_global(const MemoryAccess& access) {
  const unsigned width = access.width;
  const AccessShape& shape = access.shape;
  GlobalBuffer* const all = global_.find(shape.first, shape.last - shape.first + width);
  const bool stores = is_write(access.kind) || is_atomic(access.kind);
  if (all && stores) all->note_store();
  const bool is_marked = stores && all && all->follows_stores();
  if (all && all->is_written() && !is_marked && shape.is_aligned) return;
  for_each_lane(access.lanes, [&](unsigned lane) {
    const std::uint64_t address = access.address[lane];
    if (!is_aligned(address, width))
      throw Fault(FaultKind::misaligned, global_.describe_misaligned(address, width), address,
                  lane);
    GlobalBuffer* const buffer = all ? all : global_.find(address, width);
    if (!buffer)
      throw Fault(FaultKind::out_of_bounds, global_.describe_outside(address, width), address,
                  lane);
    if (stores) buffer->note_store();
    if (is_write(access.kind)) {
      buffer->mark(address, width);
    } else if (!buffer->is_written(address, width)) {
      throw Fault(FaultKind::unwritten,
                  fmt::format("{} bytes at {:#x} are read {}: byte {} of {}", width, address,
                              kBeforeAnyWrite, address - buffer->begin(), buffer->description()),
                  address, lane);
    }
  });
}

// The access has one lane, whose address is the start of the range. Bytes are marked in steps of
// the largest power of two, at most 16, that divides address and size.
void MemoryChecks::check_range(const MemoryAccess& access) {
  constexpr std::size_t kMaxStep = 16;
  const std::uint64_t address = access.address[0];
  const std::size_t bytes = access.width;
  const std::size_t step = std::size_t{1} << std::countr_zero(address | bytes | kMaxStep);
  const auto unwritten = [&](std::uint64_t first, const std::string& what) {
    throw Fault(FaultKind::unwritten,
                fmt::format("a bulk copy reads {} before anything wrote it", what), first);
  };
  if (access.space == Space::shared) {
    if (address + bytes > shared_bytes_)
      throw Fault(FaultKind::out_of_bounds,
                  describe_outside_shared(address, bytes, shared_bytes_, system_shared_bytes_),
                  address);
    if (access.kind == Access::bulk_store) return shadow_.set_written(address, bytes);
    if (const auto first = shadow_.first_unwritten(address, bytes))
      unwritten(*first, shared_offset(*first, system_shared_bytes_) + " of shared memory");
    return;
  }
  GlobalBuffer* const buffer = global_.find(address, bytes);
  if (!buffer)
    throw Fault(FaultKind::out_of_bounds, global_.describe_outside(address, bytes), address);
  if (access.kind == Access::bulk_store) buffer->note_store();
  if (buffer->is_written() && !buffer->follows_stores()) return;
  for (std::uint64_t at = address; at < address + bytes; at += step) {
    if (access.kind == Access::bulk_store) {
      buffer->mark(at, step);
    } else if (!buffer->is_written(at, step)) {
      unwritten(at, fmt::format("{:#x} of {}", at, buffer->description()));
    }
  }
}

Accessor MemoryChecks::accessor(const Warp& warp) const {
  const Divergence& divergence = warp.divergence;
  return {warp.index, divergence.lanes(), divergence.lanes() == ~divergence.exited(),
          orders_.empty() ? nullptr : &orders_[warp.index], divergence.next() - 1};
}

void MemoryChecks::check_shared(Warp& warp, const MemoryAccess& access) {
  const unsigned width = access.width;
  if (!access.shape.is_aligned || access.shape.last + width > shared_bytes_) {
    for_each_lane(access.lanes, [&](unsigned lane) {
      const std::uint64_t address = access.address[lane];
      if (address + width > shared_bytes_)
        throw Fault(FaultKind::out_of_bounds,
                    describe_outside_shared(address, width, shared_bytes_, system_shared_bytes_),
                    address, lane);
      if (!is_aligned(address, width))
        throw Fault(FaultKind::misaligned,
                    describe_misaligned_shared(address, width, system_shared_bytes_), address,
                    lane);
    });
  }
  if (group_memory_.has({access.shape.first, access.shape.last + width})) {
    if (is_atomic(access.kind)) shadow_.release_barrier();
    return;
  }
  const Accessor who = accessor(warp);
  const auto conflict = shadow_.note(who, access);
  if (!conflict) return;
  const Op& op = program_.ops[who.place];
  // In ldmatrix and similar loads, lanes receive values from other lanes' addresses.
  const bool is_load_of_lanes = access.kind == Access::load && op.width == width;
  if (conflict->kind != Conflict::Kind::unwritten || !is_load_of_lanes) report(access, *conflict);
  add_undefined(warp, op, access, conflict->lanes);
}

bool MemoryChecks::note_remote(Access kind, std::uint64_t address, unsigned width) {
  if (is_write(kind) || kind == Access::bulk_store) {
    shadow_.set_written(address, width);
    return true;
  }
  return !shadow_.first_unwritten(address, width);
}

void MemoryChecks::report_unwritten(Warp& warp, const MemoryAccess& access, LaneMask lanes) const {
  if (access.kind == Access::load)
    return add_undefined(warp, program_.ops[warp.divergence.next() - 1], access, lanes);
  const auto lane = first_lane(lanes);
  Conflict conflict;
  conflict.lane = lane;
  conflict.address = access.address[lane];
  report(access, conflict);
}

// Local memory is private to a thread, so only bounds and reads of unwritten bytes are checked.
// Compilers also copy parts of arrays that were never written; the destination then stays
// unwritten.
void MemoryChecks::check_local(Warp& warp, const MemoryAccess& access) const {
  LocalMemory& local = warp.local_memory();
  const Op& op = program_.ops[warp.divergence.next() - 1];
  const unsigned words = std::max(1u, access.width / kWordBytes);
  LaneMask unwritten = 0;
  for_each_lane(access.lanes, [&](unsigned lane) {
    const std::uint64_t address = access.address[lane];
    local.at(lane, address, access.width);
    if (access.kind != Access::store) {
      unwritten |= LaneMask{!local.is_written(lane, address, access.width)} << lane;
      return;
    }
    for (unsigned w = 0; w < words; ++w) {
      const bool is_undefined =
          warp.undefined && op.from[1].index != kZeroRegister &&
          (warp.undefined->lanes_of(static_cast<std::uint8_t>(op.from[1].index + w)) >> lane & 1) !=
              0;
      local.set_written(lane, address + w * kWordBytes, std::min(access.width, kWordBytes),
                        !is_undefined);
    }
  });
  if (unwritten != 0) add_undefined(warp, op, access, unwritten);
}

void MemoryChecks::report(const MemoryAccess& access, const Conflict& conflict) const {
  const std::string bytes = fmt::format("{} bytes of shared memory at {}", access.width,
                                        shared_offset(conflict.address, system_shared_bytes_));
  const char* const verb = is_atomic(access.kind)  ? "changed by an atomic operation"
                           : is_write(access.kind) ? "written"
                                                   : "read";
  const std::string other =
      conflict.other.is_known
          ? fmt::format("thread {}{}", to_text(place_at(block_, conflict.other.thread)),
                        source_line(program_, conflict.other.place, " at "))
          : fmt::format("warp {}", conflict.other.thread / kLanes);
  FaultKind kind = FaultKind::race;
  std::string words;
  switch (conflict.kind) {
    case Conflict::Kind::unwritten:
      kind = FaultKind::unwritten;
      words = fmt::format("{} are {} {}", bytes, verb, kBeforeAnyWrite);
      break;
    case Conflict::Kind::is_copied:
      kind = FaultKind::async_copy;
      words =
          fmt::format("{} are {} while cp.async of {} copies to them: nothing has waited for it",
                      bytes, verb, other);
      break;
    case Conflict::Kind::not_awaited:
      kind = FaultKind::async_copy;
      words = fmt::format(
          "{} are {}, but the thread has not waited for the mbarrier at which the cp.async{} "
          "arrives",
          bytes, verb, source_line(program_, conflict.other.place, " at "));
      break;
    case Conflict::Kind::after_write:
      words = fmt::format("{} are {} with no barrier since {} wrote them", bytes, verb, other);
      break;
    case Conflict::Kind::after_read:
      words = fmt::format("{} are {} with no barrier since {} read them", bytes, verb, other);
      break;
    case Conflict::Kind::same_instruction:
      words = fmt::format(
          "{} are {} by one instruction of a warp with different values, the other "
          "by thread {}",
          bytes, verb, to_text(place_at(block_, conflict.other.thread)));
      break;
  }
  Fault fault(kind, words, conflict.address, conflict.lane);
  if (kind == FaultKind::unwritten && access.space == Space::shared)
    fault.unwritten_shared_bytes = access.width;
  throw fault;
}

void MemoryChecks::release_barrier(unsigned barrier,
                                   const std::vector<std::unique_ptr<Warp>>& warps) {
  WarpMask waiters = 0;
  WarpMask whole = 0;
  bool has_all = true;
  for (const auto& warp : warps) {
    const Divergence& divergence = warp->divergence;
    const LaneMask lanes = divergence.lanes_at_block_barrier(barrier);
    const bool is_whole = lanes != 0 && (lanes | divergence.exited()) == kAllLanes;
    waiters |= WarpMask{lanes != 0} << warp->index;
    whole |= WarpMask{is_whole} << warp->index;
    has_all = has_all && is_whole;
    if (!orders_.empty() && divergence.block_waiters(barrier).size() > 1)
      orders_[warp->index].meet(lanes);
  }
  shadow_.release_barrier(barrier, waiters, whole);
  if (has_all) shadow_.release_barrier();
}

void MemoryChecks::commit_copies(const Warp& warp, LaneMask lanes) {
  shadow_.commit_copies(warp.index, lanes);
}

void MemoryChecks::wait_for_phase(const Warp& warp, unsigned lane, std::uint64_t mbarrier) {
  shadow_.wait_for_phase(accessor(warp), lane, mbarrier);
}

void MemoryChecks::wait_for_copies(const Warp& warp, LaneMask lanes, std::uint32_t left) {
  shadow_.wait_for_copies(warp.index, lanes, left);
}

}  // namespace gpuexp::sim
