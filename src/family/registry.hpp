// The families of this binary. Registration calls no CUDA function, prints nothing and does not
// throw; main reports errors in declarations.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "family/family.hpp"
#include "family/held_claim.hpp"
#include "family/variant_comments.hpp"

namespace gpuexp {

/// A second verification of users' kernels, with contents for which sums have no rounding errors.
struct ExactVerification {
  const Family* family = nullptr;  ///< with the same variants; null: none is needed, or possible
  std::string why_not;  ///< a kernel that omits a term could pass, because none is possible
};

/// Users' kernel files, whose families are added while the program runs.
struct KernelFiles {
  /// Loads the file and returns its family, which is in the registry. Throws ConfigError and
  /// InputError, among others.
  std::function<const Family&(const std::string& file)> load;
  /// Loads the file and returns the text of a config with its variants and declared axes.
  std::function<std::string(const std::string& file)> config_text;
  /// The following functions take a family that `load` returned.
  /// Names of the parameters on which a variant does not depend, apart from its machine code.
  std::function<std::vector<std::string>(const Family&, const Variant&)> unused_parameters =
      nullptr;
  std::function<ExactVerification(const Family&, const Values&)> exact_verification = nullptr;
  /// Why an element of an output has no expected value; empty if it has one.
  std::function<std::string(const Family&, const Values&, std::uint64_t seed,
                            const std::string& output, std::int64_t element)>
      check_error = nullptr;
  /// The name of an element with an index for each extent of the buffer, such as "y[1][12]".
  std::function<std::string(const Family&, const Values&, const std::string& buffer,
                            std::int64_t element)>
      element_name = nullptr;
  /// Names of the outputs of a variant whose expected values are the variant's own results, so that
  /// a comparison verifies nothing.
  std::function<std::vector<std::string>(const Family&, const Variant&)> compared_with_itself =
      nullptr;
};

/// Whether the text names a kernel file, which ends in ".cu", ".cuh", ".ptx", ".cubin" or
/// ".gpuexp.json", or a folder with a cubin.
bool is_kernel_file(std::string_view text);

class Registry {
 public:
  static Registry& global();

  /// Must be called before main, or before a config that names the family is read.
  void add(Family family) noexcept;
  /// Adds a family that only find() returns: another verification of a kernel file's family.
  const Family& add_exact(Family family);
  /// Adds the text of one of a family's source files, before or after the family. The comments
  /// above variants become their `why`.
  void add_source(std::string_view family_id, std::string_view text) noexcept;

  /// Sets the reader of kernel files. Without one, kernel files are refused.
  void set_kernel_files(KernelFiles files) { kernel_files_ = std::move(files); }
  /// Throws ConfigError if no reader is set.
  const KernelFiles& kernel_files() const;

  /// Stores the lists of omitted and of built families, separated by commas.
  void set_omitted(std::string_view families, std::string_view built) noexcept;

  /// Sorted by id. Addresses stay valid when families are added.
  const std::list<Family>& families() const { return families_; }
  const Family* find(std::string_view id) const;
  /// The error message for a family that the build omits; empty for other ids.
  std::optional<std::string> omitted_message(std::string_view id) const;
  std::string_view source_of(std::string_view family_id) const;

  const std::vector<HeldClaim>& held_claims(const std::string& family_id,
                                            const std::string& variant_id) const;

  std::vector<std::string> errors() const;

 private:
  void explain(Family& family, std::string_view source);
  void store_claims(const Family& family, const VariantComment& comment);

  std::list<Family> families_;
  std::list<Family> exact_families_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::map<std::string, std::vector<HeldClaim>> held_claims_;
  KernelFiles kernel_files_;
  std::string left_out_;  // ",a,b,", or empty
  std::string built_;
  std::vector<std::string> errors_;
};

}  // namespace gpuexp
