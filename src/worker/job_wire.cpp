#include "worker/job_wire.hpp"

#include <fstream>

#include "base/host_name.hpp"
#include "base/json.hpp"

namespace gpuexp {

namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

Hello hello_of(const JobOptions& options) {
  return {options.place.rank, options.place.local_rank, host_name(), boot_id(), options.arguments};
}

std::string to_line(const Hello& hello) {
  return Json{{"rank", hello.rank},
              {"local_rank", hello.local_rank},
              {"host", hello.host},
              {"boot", hello.boot},
              {"arguments", hello.arguments}}
      .dump();
}

Hello hello_from(const std::string& line) {
  const Json json = Json::parse(line);
  return {json.at("rank").get<int>(), json.at("local_rank").get<int>(),
          json.at("host").get<std::string>(), json.at("boot").get<std::string>(),
          json.at("arguments").get<std::vector<std::string>>()};
}

}  // namespace gpuexp
