// A comparison of two runs as JUnit XML, the form in which CI systems show tests.
//
//   <testsuites name tests failures errors skipped time>
//     <testsuite name="EXPERIMENT" tests failures errors skipped time>
//       <properties> the two runs, the minimum effect, notes </properties>
//       <testcase classname="EXPERIMENT.FAMILY" name="VARIANT/PARAMETERS/MODE" time="SECONDS">
//         <failure type="OUTCOME" message>…</failure> or <skipped message/>
#pragma once

#include <string>

#include "render/comparison_json.hpp"

namespace gpuexp {

/// A test case for each row, whose time is B's. Rows that became slower or broke are failures, and
/// so are those of an outcome of `context.fail_on`; rows without a verdict are skipped.
std::string to_junit(const RunComparison& comparison, const ComparisonContext& context);

}  // namespace gpuexp
