// The HTML page that shows a report or a comparison: a template (src/render/viewer) that the build
// embeds, and the data, as JSON that the template's script draws. A page needs no network.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/output.hpp"
#include "render/view.hpp"

namespace gpuexp {

// What the build embeds (scripts/cmake/viewer.cmake): page.html, style.css, and one script of
// Chart.js, if the build has it, and the template's own.
extern const std::string_view kViewerPage;
extern const std::string_view kViewerStyle;
extern const std::string_view kViewerScript;

/// The view column by column, since a page may hold 100,000 rows. Cells are texts, a row with a
/// note has no numbers, and lists that are empty are left out:
///   { "title", "facts": […], "columns": [ {"heading", "number", "cells": […]}, … ],
///     "first_number", "notes": [[3, "skipped", "skipped: no such device"], …], "keys": […],
///     "footnotes": […], "headline", "explanations": […] }
Json json_of(const ExperimentView& view);

/// `write_data` receives a function that takes the parts of one JSON text. No character of them can
/// end the element that holds them. The page's content security policy names the style and the
/// script by their hashes and allows nothing else.
void write_viewer(const WritePart& write, const std::function<void(const WritePart&)>& write_data);

/// The page of a comparison: { "brand", "title", "head": […], "summary", "experiments": […] }.
std::string render_html(const Page& page, const std::string& title);

}  // namespace gpuexp
