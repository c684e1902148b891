#include "cli/links.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "cli/ceilings_lookup.hpp"
#include "cli/interrupts.hpp"
#include "gpu/nvml_topology.hpp"

namespace gpuexp::cli {

Topology topology_here() {
  const auto specs = device_specs();
  std::vector<GpuPlace> places;
  for (int i = 0; i < device_count(); ++i) {
    const DeviceInfo device = query_device(i, specs);
    places.push_back({i, device.spec.name, device.uuid, device.pci_bus_id, {}, {}, {}});
  }
  return read_topology(std::move(places));
}

std::vector<LinkRun> measure_links(const Context& context, const DeviceInfo& device,
                                   int first_peer) {
  std::vector<LinkRun> links;
  if (device_count() < 2) return links;
  const Topology topology = topology_here();
  const auto own = static_cast<std::size_t>(device.index);
  for (int peer = first_peer; peer < device_count() && !interrupted(); ++peer) {
    if (peer == device.index) continue;
    const auto other = static_cast<std::size_t>(peer);
    LinkRun link;
    link.peer = query_device(peer, device_specs());
    link.link = topology.links[own][other];
    link.way = text_of(topology, own, other);
    if (link.link.peer_access.value_or(true)) {
      auto pair = open_to_measure(device.index, peer);
      if (!pair) continue;
      link.run = run_ceilings(context, *pair, "links");
      link.run.file.links_to = link.peer.uuid;
      std::erase_if(link.run.file.measured, [](const auto& ceiling) {
        return !is_of_links(*find_ceiling_term(ceiling.first));
      });
      report_missing(link.run);
    }
    links.push_back(std::move(link));
  }
  return links;
}

void keep_links(const std::vector<LinkRun>& links, const std::string& uuid) {
  for (const LinkRun& link : links) {
    if (link.run.file.measured.empty()) continue;
    const auto path = kept_link_ceilings(uuid, link.peer.uuid);
    if (path) keep_ceilings(link.run, *path);
  }
}

}  // namespace gpuexp::cli
