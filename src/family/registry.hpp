// The families that this binary was built with. Registration only stores: no CUDA call, no output,
// no throw; what is wrong with a declaration is kept and reported by main.
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
  /// The process-wide registry that kernel files register with before main.
  static Registry& global();

  /// Before main, or later, before a config is read that names it.
  void add(Family family) noexcept;
  /// The text of a file of a family's, the one that declares it or a further one, before or behind
  /// the family: the comments over its variants become their `why`.
  void add_source(std::string_view family_id, std::string_view text) noexcept;

  /// The build has only the families `built`, and has left out `families`: both separated by
  /// commas.
  void leave_out(std::string_view families, std::string_view built) noexcept;

  /// Sorted by id. A family stays where it is when others are added.
  const std::list<Family>& families() const { return families_; }
  const Family* find(std::string_view id) const;
  /// What to say of a family that the build has left out; empty for any other.
  std::optional<std::string> left_out(std::string_view id) const;
  /// The text of the family's files, one behind the other; "" where it is not known.
  std::string_view source_of(std::string_view family_id) const;

  /// The numbers in the variant's comment that a test holds.
  const std::vector<HeldClaim>& held_claims(const std::string& family_id,
                                            const std::string& variant_id) const;

  /// What is wrong with the declarations, one line each; empty when all is well.
  std::vector<std::string> errors() const;

 private:
  void explain(Family& family, std::string_view source);
  void hold(const Family& family, const VariantComment& comment);

  std::list<Family> families_;
  std::map<std::string, std::string, std::less<>> sources_;    // by family
  std::map<std::string, std::vector<HeldClaim>> held_claims_;  // by family/variant
  std::string left_out_;                                       // ",a,b,", or empty
  std::string built_;
  std::vector<std::string> errors_;
};

}  // namespace gpuexp
