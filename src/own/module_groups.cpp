#include "own/module_groups.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gpuexp::own {

namespace {

/// With 8 instantiations of a tiled matrix product, reading the file and starting the tools take
/// less than half of a compilation's time, so larger groups would save little. They would leave
/// processors idle, and come nearer to the time limit of a compiler, 60 s: each of 8 may take 7 s.
constexpr std::size_t kMaxTogether = 8;

std::string text_of(const std::optional<Instantiation>& instantiation) {
  return instantiation ? instantiation->text() : "";
}

bool serves(const CompiledModule& module, const std::optional<Instantiation>& instantiation) {
  return !instantiation || std::ranges::find(module.instantiations(), instantiation->text()) !=
                               module.instantiations().end();
}

}  // namespace

void ModuleGroups::expect(const std::optional<Instantiation>& instantiation) {
  const std::lock_guard lock(mutex_);
  if (!groups_.try_emplace(text_of(instantiation)).second) return;
  if (instantiation)
    expected_.push_back(*instantiation);
  else
    expects_file_kernels_ = true;
}

// Successive instantiations are in different groups, which threads that request them in order
// compile concurrently.
void ModuleGroups::form_groups() {
  const bool has_file_kernels = std::exchange(expects_file_kernels_, false);
  if (expected_.empty()) return;
  std::vector<std::shared_ptr<Group>> formed((expected_.size() + kMaxTogether - 1) / kMaxTogether);
  for (std::shared_ptr<Group>& group : formed)
    group = std::make_shared<Group>();
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const std::shared_ptr<Group>& group = formed[i % formed.size()];
    group->instantiations.push_back(expected_[i]);
    groups_[expected_[i].text()] = group;
  }
  expected_.clear();
  if (!has_file_kernels) return;
  formed.front()->has_file_kernels = true;
  groups_[""] = formed.front();
}

std::shared_ptr<ModuleGroups::Group> ModuleGroups::find(
    const std::optional<Instantiation>& instantiation) {
  const std::lock_guard lock(mutex_);
  form_groups();
  const auto [entry, is_unexpected] = groups_.try_emplace(text_of(instantiation));
  return entry->second;
}

const void* ModuleGroups::group_of(const std::optional<Instantiation>& instantiation) {
  const std::shared_ptr<Group> group = find(instantiation);
  return group ? static_cast<const void*>(group.get()) : this;
}

std::shared_ptr<const CompiledModule> ModuleGroups::module(
    const std::optional<Instantiation>& instantiation) {
  if (const std::shared_ptr<Group> group = find(instantiation)) {
    std::call_once(group->compiled, [&] { compile(*group); });
    for (const auto& module : group->modules)
      if (serves(*module, instantiation)) return module;
  }
  return compiler_->compile_with(
      source_, options_, compute_capability_,
      instantiation ? std::vector{*instantiation} : std::vector<Instantiation>());
}

// Errors are those of module(), which compiles an instantiation without a module by itself.
void ModuleGroups::compile(Group& group) const {
  std::vector<Instantiation> missing;
  for (const Instantiation& instantiation : group.instantiations) {
    const bool has_module = std::ranges::any_of(
        group.modules, [&](const auto& module) { return serves(*module, instantiation); });
    if (has_module) continue;
    try {
      auto kept = compiler_->kept_with(source_, options_, compute_capability_, instantiation);
      if (kept)
        group.modules.push_back(std::move(kept));
      else
        missing.push_back(instantiation);
    } catch (const std::runtime_error&) {
    }
  }
  const bool are_several = missing.size() + (group.has_file_kernels ? 1 : 0) > 1;
  if (missing.empty() || !are_several) return;
  compile_together(group, std::move(missing));
}

// Compiles again without the instantiations that the errors name.
void ModuleGroups::compile_together(Group& group, std::vector<Instantiation> missing) const {
  constexpr int kMaxAttempts = 3;  // then each by itself
  for (int attempt = 0; attempt < kMaxAttempts && !missing.empty(); ++attempt) {
    try {
      group.modules.push_back(
          compiler_->compile_with(source_, options_, compute_capability_, missing));
      return;
    } catch (const CompileError& error) {
      const std::string errors = error.what();
      const auto failed = std::erase_if(
          missing, [&](const Instantiation& one) { return is_named_in(errors, one); });
      if (failed == 0) return;
    } catch (const std::runtime_error&) {
      return;
    }
  }
}

}  // namespace gpuexp::own
