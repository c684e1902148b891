// The HTML page of a report or a comparison: an embedded template (src/render/viewer) and JSON
// data, which the template's script draws. A page needs no network.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/output.hpp"
#include "render/view.hpp"

namespace gpuexp {

// Embedded files (scripts/cmake/viewer.cmake). The script consists of Chart.js (if available) and
// the template's scripts.
extern const std::string_view kViewerPage;
extern const std::string_view kViewerStyle;
extern const std::string_view kViewerScript;

/// The view by columns, which is compact for up to 100,000 rows. Cells are texts, a row with a note
/// has no numbers unless the note has a fourth member, true, and empty lists other than "notes" are
/// left out:
///   { "title", "facts": […], "columns": [ {"heading", "number", "cells": […]}, … ],
///     "first_number", "notes": [[3, "skipped", "skipped: no such device"], …], "keys": […],
///     "footnotes": […], "headline", "explanations": […] }
Json json_of(const ExperimentView& view);

/// Writes a page. `write_data` receives a function to which it passes the pieces of one JSON text;
/// this function escapes the text for its HTML element. The page's content security policy allows
/// only this style and this script, by their hashes.
void write_viewer(const WritePart& write, const std::function<void(const WritePart&)>& write_data);

std::string render_html(const Page& page, const std::string& title);

}  // namespace gpuexp
