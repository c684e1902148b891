// A comparison of two runs as JUnit XML, which CI systems display.
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

/// One test case per row, with the time in B. Rows that are slower or broken or have an outcome in
/// `context.fail_on` are failures; rows without a verdict are skipped.
std::string to_junit(const RunComparison& comparison, const ComparisonContext& context);

}  // namespace gpuexp
