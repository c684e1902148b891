// The families of this binary. Registration calls no CUDA function, prints nothing and does not
// throw; main reports errors in declarations.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "family/family.hpp"
#include "family/held_claim.hpp"
#include "family/variant_comments.hpp"

namespace gpuexp {

class Registry {
 public:
  static Registry& global();

  /// Must be called before main, or before a config that names the family is read.
  void add(Family family) noexcept;
  /// Adds the text of one of a family's source files, before or after the family. The comments
  /// above variants become their `why`.
  void add_source(std::string_view family_id, std::string_view text) noexcept;

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
  std::map<std::string, std::string, std::less<>> sources_;
  std::map<std::string, std::vector<HeldClaim>> held_claims_;
  std::string left_out_;  // ",a,b,", or empty
  std::string built_;
  std::vector<std::string> errors_;
};

}  // namespace gpuexp
