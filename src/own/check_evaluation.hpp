// Execution of a check's program, on host and device. C++17, included by .cu files.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/stored_element.hpp"
#include "base/types.hpp"
#include "own/check_arithmetic.hpp"
#include "own/check_program.hpp"
#include "own/check_state.hpp"

namespace gpuexp::own {

namespace check_detail {

/// The element in the memory of the processor that evaluates the check.
struct StoredElements {
  GPUEXP_HOST_DEVICE double operator()(const BufferView& buffer, std::int64_t element) const {
    return stored_element(buffer.data, buffer.type, element);
  }
};

template <class Elements>
GPUEXP_HOST_DEVICE inline void load(const CheckProgram& program, State& state,
                                    const BufferView& buffer, const Elements& elements) {
  state.top -= buffer.rank;
  std::int64_t element = 0;
  for (int d = 0; d < buffer.rank; ++d) {
    const double index = state.stack[state.top + d].value;
    if (!(index >= 0 && index < static_cast<double>(buffer.extents[d])))
      return state.fail(CheckFaultKind::index_out_of_range, index, d);
    if (index != std::floor(index)) return state.fail(CheckFaultKind::fractional_index, index, d);
    element = element * buffer.extents[d] + static_cast<std::int64_t>(index);
  }
  const double value = elements(buffer, element);
  const bool may_be_rounded = integer_format(buffer.type).bits == 64;
  if (may_be_rounded && std::fabs(value) >= kMaxExactInteger &&
      integer_format(program.type).bits > 0)
    state.fail(CheckFaultKind::inexact_element, value);
  if (value != std::floor(value)) state.is_exact = false;
  state.stack[state.top++] = {value, std::fabs(value)};
}

GPUEXP_HOST_DEVICE inline bool has_terms(State& state) {
  const double terms = state.stack[state.top - 1].value;
  if (!(terms < kMaxTerms)) state.fail(CheckFaultKind::too_many_terms, terms);
  if (terms > 0) return true;
  state.stack[state.top - 1] = {0, 0};
  return false;
}

// In the check of an output of integers, whole numbers below 2^53 must not be combined to one that
// fp64 rounds.
GPUEXP_HOST_DEVICE inline void require_exact(State& state, CheckOp op, double a, double b,
                                             double result) {
  const auto is_exact = [](double x) {
    return std::fabs(x) < kMaxExactInteger && x == std::floor(x);
  };
  const bool combines = op == CheckOp::add || op == CheckOp::subtract || op == CheckOp::multiply ||
                        op == CheckOp::whole_power || op == CheckOp::sum_next;
  if (combines && std::fabs(result) >= kMaxExactInteger && is_exact(a) && is_exact(b))
    state.fail(CheckFaultKind::inexact_integer, result);
}

GPUEXP_HOST_DEVICE inline Checked with_term(const CheckProgram& program, State& state, Checked sum,
                                            Checked term) {
  const double value = sum.value + term.value;
  if (integer_format(program.type).bits > 0)
    require_exact(state, CheckOp::sum_next, sum.value, term.value, value);
  return {value, sum.magnitude + term.magnitude};
}

// ---- sums of parts

// Sets the terms of the part that begins next; false if there is none.
GPUEXP_HOST_DEVICE inline bool begin_part(const CheckProgram& program, State& state) {
  const SplitSum& split = state.split;
  const double first = split.part * split.part_terms;
  const double end = first + split.part_terms;
  if (!(first < split.terms)) return false;
  state.indices[program.rank + split.level] = first;
  state.terms[split.level] = end < split.terms ? end : split.terms;
  return true;
}

// Prepares this thread's first part; false if it has none. The sum, which is on the stack, begins
// at instruction `begin`.
GPUEXP_HOST_DEVICE inline bool split_sum(const CheckProgram& program, State& state, int begin,
                                         double terms, int first_part) {
  state.split = {};
  state.split.level = state.sums;
  state.split.attempts = state.attempts;
  state.split.top = state.top;
  state.split.next = program.instructions[begin].operand - 1;
  state.split.part = first_part;
  state.split.terms = std::ceil(terms);
  state.split.part_terms = std::ceil(state.split.terms / kSumParts);
  ++state.sums;
  if (begin_part(program, state)) return true;
  state.split.is_computed = state.is_interrupted = true;
  return false;
}

// Adds the part on the stack, and prepares this thread's next one. False if it has no more parts.
GPUEXP_HOST_DEVICE inline bool next_part(const CheckProgram& program, State& state, int threads) {
  Checked& part = state.stack[state.top - 1];
  state.split.total = with_term(program, state, state.split.total, part);
  part = {};
  state.split.part += threads;
  if (begin_part(program, state)) return true;
  state.split.is_computed = state.is_interrupted = true;
  return false;
}

/// A part of a sum that one thread has computed.
struct PartOfSum {
  Checked sum;
  CheckFault fault;
  bool is_exact = true;
};

GPUEXP_HOST_DEVICE inline PartOfSum computed_part(const State& state) {
  return {state.split.total, state.fault, state.is_exact};
}

/// Sets the total and the fault as one thread finds them that computes the parts in order.
GPUEXP_HOST_DEVICE inline void combine(const CheckProgram& program, State& state,
                                       const PartOfSum* parts) {
  state.split.total = {};
  state.fault.kind = CheckFaultKind::none;
  for (int i = 0; i < kSumParts && state.fault.kind == CheckFaultKind::none; ++i) {
    state.is_exact = state.is_exact && parts[i].is_exact;
    if (parts[i].fault.kind != CheckFaultKind::none) {
      state.fault = parts[i].fault;
    } else {
      state.fault.instruction = state.split.next;
      state.split.total = with_term(program, state, state.split.total, parts[i].sum);
    }
  }
}

/// One thread computes all parts of a sum. Other types of threads evaluate an element together:
/// each computes the part of its rank, and join() exchanges the parts. all_wait() is called by all
/// threads with the same value, and returns it.
struct OneThread {
  static constexpr int kSize = 1;
  GPUEXP_HOST_DEVICE int rank() const { return 0; }
  GPUEXP_HOST_DEVICE bool all_wait(bool waits) const { return waits; }
  GPUEXP_HOST_DEVICE void join(const CheckProgram&, State&) const {}
};

GPUEXP_HOST_DEVICE inline void end_sum(const CheckProgram& program, State& state, double unit) {
  const double magnitude = state.stack[state.top - 1].magnitude;
  if (!(magnitude <= program.rounding.exact_limit * unit)) state.is_exact = false;
  --state.sums;
}

template <class Threads>
GPUEXP_HOST_DEVICE inline bool begin_sum(const CheckProgram& program, State& state, int at,
                                         const Threads& threads) {
  const double terms = state.stack[state.top - 1].value;
  if (!has_terms(state)) return false;
  state.stack[state.top - 1] = {0, 0};
  if (terms >= kMinSplitTerms && state.split.level < 0)
    return split_sum(program, state, at, terms, threads.rank());
  state.terms[state.sums] = terms;
  state.indices[program.rank + state.sums] = 0;
  ++state.sums;
  return true;
}

GPUEXP_HOST_DEVICE inline bool next_term(const CheckProgram& program, State& state, double unit,
                                         int threads) {
  const Checked term = state.stack[--state.top];
  Checked& sum = state.stack[state.top - 1];
  sum = with_term(program, state, sum, term);
  const int level = state.sums - 1;
  double& index = state.indices[program.rank + level];
  index += 1;
  if (index < state.terms[level]) return true;
  if (level == state.split.level) return next_part(program, state, threads);
  end_sum(program, state, unit);
  return false;
}

// ---- values computed before a sum

GPUEXP_HOST_DEVICE inline void begin_attempt(State& state, const CheckInstruction& instruction) {
  state.attempt[state.attempts++] = {static_cast<int>(instruction.number), instruction.operand,
                                     state.top, state.sums, state.is_exact};
  state.is_exact = true;
}

// Returns the instruction after the computation.
GPUEXP_HOST_DEVICE inline int end_attempt(State& state, Checked value) {
  const Attempt& attempt = state.attempt[--state.attempts];
  state.kept[attempt.slot] = {value, state.fault, state.is_exact};
  state.fault.kind = CheckFaultKind::none;
  state.top = attempt.top;
  state.sums = attempt.sums;
  state.is_exact = attempt.was_exact;
  return attempt.end;
}

GPUEXP_HOST_DEVICE inline void push_kept(State& state, const Kept& kept) {
  state.stack[state.top++] = kept.value;
  state.is_exact = state.is_exact && kept.is_exact;
  if (kept.fault.kind == CheckFaultKind::none) return;
  state.fault = kept.fault;
  state.is_interrupted = true;
}

// ---- the program

// Executes instruction `at`. Returns the next instruction.
template <class Elements, class Threads>
GPUEXP_HOST_DEVICE inline int execute(const CheckProgram& program, State& state, int at,
                                      const Elements& elements, const Threads& threads) {
  const CheckInstruction& instruction = program.instructions[at];
  switch (instruction.op) {
    case CheckOp::number:
      state.stack[state.top++] = {instruction.number, std::fabs(instruction.number)};
      return at + 1;
    case CheckOp::index: {
      const double index = state.indices[instruction.operand] + instruction.number;
      state.stack[state.top++] = {index, std::fabs(index)};
      return at + 1;
    }
    case CheckOp::load:
      load(program, state, program.buffers[instruction.operand], elements);
      return at + 1;
    case CheckOp::jump: return instruction.operand;
    case CheckOp::jump_if_zero: {
      const double condition = state.stack[--state.top].value;
      if (std::isnan(condition)) state.fail(CheckFaultKind::nan_condition, condition);
      return condition == 0 ? instruction.operand : at + 1;
    }
    case CheckOp::attempt: begin_attempt(state, instruction); return at + 1;
    case CheckOp::keep: return end_attempt(state, state.stack[state.top - 1]);
    case CheckOp::kept: push_kept(state, state.kept[instruction.operand]); return at + 1;
    case CheckOp::sum_has_terms: return has_terms(state) ? at + 1 : instruction.operand;
    case CheckOp::sum_begin:
      return begin_sum(program, state, at, threads) ? at + 1 : instruction.operand;
    case CheckOp::sum_next:
      return next_term(program, state, instruction.number, Threads::kSize) ? instruction.operand
                                                                           : at + 1;
    default: break;
  }
  if (instruction.op >= CheckOp::add) --state.top;
  Checked& left = state.stack[state.top - 1];
  const Checked a = left;
  const Checked b = instruction.op < CheckOp::add ? Checked{} : state.stack[state.top];
  left = instruction.op < CheckOp::add ? unary(instruction, a) : binary(instruction.op, a, b);
  if (integer_format(program.type).bits > 0)
    require_exact(state, instruction.op, a.value, b.value, left.value);
  return at + 1;
}

// Whether this thread has computed its parts of a sum, or has a fault in one of them.
GPUEXP_HOST_DEVICE inline bool waits_for_parts(const State& state) {
  const bool has_fault = state.fault.kind != CheckFaultKind::none;
  return state.split.is_computed ||
         (has_fault && state.split.level >= 0 && state.attempts == state.split.attempts);
}

// The instruction after `at`, unless there is a fault.
GPUEXP_HOST_DEVICE inline int after(const CheckProgram& program, State& state, int at) {
  state.is_interrupted = false;
  if (state.fault.kind == CheckFaultKind::none) return at;
  return state.attempts > 0 ? end_attempt(state, {}) : program.instruction_count;
}

/// No values of sums are shared by elements. Other types keep them: `sum_at(begin)` returns the
/// shared sum whose computation begins at this instruction, or null, and the sum has a `begin` and
/// an `end`, the first instruction after it. `take(sum, state)` replaces the number of terms on the
/// stack by the sum's value if it is kept, and `keep(sum, state, was_exact)` keeps the value on the
/// stack; `was_exact` is State::is_exact before it.
struct NoSharedSums {
  static constexpr bool kShares = false;
};

// Executes the instruction, or takes or computes the shared sum that begins there. Returns the next
// instruction.
template <class Elements, class Threads, class Shared>
GPUEXP_HOST_DEVICE inline int step(const CheckProgram& program, State& state, int at,
                                   const Elements& elements, const Threads& threads,
                                   Shared& shared) {
  if constexpr (Shared::kShares) {
    if (const auto* const sum = shared.sum_at(at)) {
      if (shared.take(*sum, state)) return sum->end;
      return shared_sum(program, state, *sum, elements, threads, shared);
    }
  }
  return execute(program, state, at, elements, threads);
}

// Executes instructions from `at` up to `end`, or until the thread waits for parts of a sum.
// Returns the next instruction, which is after `end` if a fault ends more than these instructions.
template <class Elements, class Threads, class Shared>
GPUEXP_HOST_DEVICE inline int run(const CheckProgram& program, State& state, int at, int end,
                                  const Elements& elements, const Threads& threads,
                                  Shared& shared) {
  while (at < end) {
    state.fault.instruction = at;
    at = step(program, state, at, elements, threads, shared);
    if (!state.is_interrupted) continue;
    if (waits_for_parts(state)) return at;
    at = after(program, state, at);
  }
  return at;
}

// All threads that evaluate the element come here together, and leave with the same state. Returns
// the next instruction.
template <class Threads>
GPUEXP_HOST_DEVICE inline int join_parts(const CheckProgram& program, State& state,
                                         const Threads& threads) {
  threads.join(program, state);
  const int next = state.split.next;
  state.top = state.split.top;
  state.sums = state.split.level + 1;
  state.stack[state.top - 1] = state.split.total;
  end_sum(program, state, program.instructions[next].number);
  state.split = {};
  return after(program, state, next + 1);
}

// Computes a shared sum, and keeps its value unless a fault ends it. One thread computes it:
// threads that share an element keep no sums.
template <class Elements, class Threads, class Sum, class Shared>
GPUEXP_HOST_DEVICE inline int shared_sum(const CheckProgram& program, State& state, const Sum& sum,
                                         const Elements& elements, const Threads& threads,
                                         Shared& shared) {
  static_assert(Threads::kSize == 1, "only one thread shares sums");
  const bool was_exact = state.is_exact;
  const bool was_split = state.split.level >= 0;
  state.is_exact = true;
  // The first instruction without step(), which would call this function for it.
  int at = execute(program, state, sum.begin, elements, threads);
  const auto continue_sum = [&] {
    if (state.is_interrupted && !waits_for_parts(state)) at = after(program, state, at);
    if (!state.is_interrupted) at = run(program, state, at, sum.end, elements, threads, shared);
  };
  continue_sum();
  while (!was_split && waits_for_parts(state)) {
    at = join_parts(program, state, threads);
    continue_sum();
  }
  if (state.is_interrupted || state.fault.kind != CheckFaultKind::none || at != sum.end) return at;
  shared.keep(sum, state, was_exact);
  return at;
}

// ---- the result as an element of the output

// Half a unit above the largest number: from here on, rounding to nearest gives infinity.
GPUEXP_HOST_DEVICE inline double overflow_threshold(DataType type) {
  switch (type) {
    case DataType::fp16: return 65520;
    case DataType::bf16: return 0x1.FFp127;
    case DataType::fp32:
    case DataType::tf32: return 0x1.FFFFFFp127;
    default: return static_cast<double>(INFINITY);
  }
}

// The whole number modulo 2^bits, as the type represents it.
GPUEXP_HOST_DEVICE inline double wrapped(double whole, IntegerFormat format) {
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  const int unused = 64 - format.bits;
  if (format.is_signed)
    return static_cast<double>(static_cast<std::int64_t>(number << unused) >> unused);
  return static_cast<double>(number << unused >> unused);
}

GPUEXP_HOST_DEVICE inline double as_integer(State& state, double value, IntegerFormat format) {
  if (!(std::fabs(value) < kMaxExactInteger))
    state.fail(CheckFaultKind::inexact_integer, value);
  else if (value != std::floor(value))
    state.fail(CheckFaultKind::fractional_value, value);
  if (state.fault.kind != CheckFaultKind::none) return 0;
  const double element = wrapped(value, format);
  if (!(element < kMaxExactInteger)) state.fail(CheckFaultKind::inexact_integer, element);
  return element;
}

// The rounding of the output, if it does not represent the value.
GPUEXP_HOST_DEVICE inline double exact_magnitude(const CheckRounding& rounding, double value) {
  const double magnitude = std::fabs(value);
  return magnitude <= rounding.output_limit * rounding.unit ? 0 : rounding.of_output * magnitude;
}

GPUEXP_HOST_DEVICE inline Checked as_output(const CheckProgram& program, State& state) {
  Checked result = state.stack[0];
  if (std::isnan(result.value)) state.fail(CheckFaultKind::nan_value, result.value);
  // As C++ converts numbers to bool. A fault of its evaluation remains.
  if (program.type == DataType::boolean && state.fault.kind == CheckFaultKind::none)
    return {result.value != 0 ? 1.0 : 0.0, result.magnitude};
  const IntegerFormat format = integer_format(program.type);
  if (format.bits > 0) return {as_integer(state, result.value, format), result.magnitude};
  // An infinite magnitude would let every result pass.
  if (std::fabs(result.value) >= overflow_threshold(program.type))
    return {std::copysign(static_cast<double>(INFINITY), result.value), 0};
  const CheckRounding& rounding = program.rounding;
  if (state.is_exact && rounding.unit > 0 &&
      result.magnitude <= rounding.exact_limit * rounding.unit)
    result.magnitude = exact_magnitude(rounding, result.value);
  return result;
}

}  // namespace check_detail

/// The expected value of the output element with this row-major index, as the output's type
/// represents it: numbers beyond its range become infinite, and integers wrap around. Both numbers
/// are NaN if there is a fault. `elements` returns an element of a BufferView. Host and device give
/// bitwise-identical values for any number of threads, except for functions that CheckOp does not
/// define by arithmetic, such as exp, log and pow. Values of `shared` sums (own/shared_sums.hpp)
/// change neither the result nor the fault.
template <class Elements, class Threads, class Shared>
GPUEXP_HOST_DEVICE inline Checked evaluate_with(const CheckProgram& program, std::int64_t element,
                                                const Elements& elements, CheckFault& fault,
                                                const Threads& threads, Shared& shared) {
  check_detail::State state;
  for (int d = program.rank - 1; d >= 0; --d) {
    state.indices[d] = static_cast<double>(element % program.extents[d]);
    element /= program.extents[d];
  }
  const int end = program.instruction_count;
  int at = check_detail::run(program, state, 0, end, elements, threads, shared);
  while (threads.all_wait(check_detail::waits_for_parts(state))) {
    at = check_detail::join_parts(program, state, threads);
    at = check_detail::run(program, state, at, end, elements, threads, shared);
  }
  Checked result;
  if (state.fault.kind == CheckFaultKind::none) result = check_detail::as_output(program, state);
  fault = state.fault;
  if (fault.kind != CheckFaultKind::none)
    return {static_cast<double>(NAN), static_cast<double>(NAN)};
  return result;
}

/// The same without shared sums.
template <class Elements, class Threads = check_detail::OneThread>
GPUEXP_HOST_DEVICE inline Checked evaluate_with(const CheckProgram& program, std::int64_t element,
                                                const Elements& elements, CheckFault& fault,
                                                const Threads& threads = {}) {
  check_detail::NoSharedSums none;
  return evaluate_with(program, element, elements, fault, threads, none);
}

/// The same from elements in memory.
template <class Threads = check_detail::OneThread>
GPUEXP_HOST_DEVICE inline Checked evaluate(const CheckProgram& program, std::int64_t element,
                                           const Threads& threads = {}) {
  CheckFault fault;
  return evaluate_with(program, element, check_detail::StoredElements{}, fault, threads);
}

}  // namespace gpuexp::own
