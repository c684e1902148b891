// Draws the page from the JSON in #data. Texts become text nodes, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const tables = new Map(); // by the id of the view
const places = new Map(); // from a row's key to its table and index

// el("p.where", "text", node, …): an element with classes; empty and null children are left out.
function el(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  element.append(...children.flat().filter((child) => child || child === 0));
  return element;
}
const link = (target, text) => Object.assign(el("a", text), {href: "#" + encodeURIComponent(target)});
const keyOf = (view, row) => view.keys?.[row] || `${view.id}.${row}`;
const list = (name, texts) => texts?.length > 0 && el(name, texts.map((text) => el("li", text)));

// ---- tables

// Maximum number of rows of a table that are in the document at the same time.
let rowsPerPage = Infinity;

class Table {
  constructor(view) {
    this.view = view;
    this.count = view.columns[0].cells.length;
    this.order = [...Array(this.count).keys()];
    this.shown = this.order;
    this.first = 0;
    this.size = rowsPerPage;
    this.body = el("tbody");
    this.heads = view.columns.map((column, c) => this.head(column, c));
    const scroll = el("div.scroll", el("table.sort", el("caption", view.title), el("thead", el("tr", this.heads)), this.body));
    Object.assign(scroll, {tabIndex: 0, role: "region", ariaLabel: view.title});
    this.pager = el("div.pager");
    this.element = el("div", this.count >= 8 && this.filter(), scroll, this.pager);
    tables.set(view.id, this);
    this.render();
  }

  head(column, c) {
    const button = Object.assign(el("button", column.heading || "flags"), {type: "button"});
    const head = Object.assign(el("th" + (column.number ? ".n" : ""), button), {scope: "col"});
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      this.heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      this.sort(column, sign);
    });
    return head;
  }

  // Rows without a value are last in both directions.
  sort(column, sign) {
    const keys = column.number ? numbersOf(column) : column.cells.map((cell) => cell || null);
    const byText = new Intl.Collator("en", {numeric: true}).compare;
    const compare = (a, b) => {
      const [s, t] = [keys[a], keys[b]];
      if (s === null || t === null) return (s === null) - (t === null);
      return sign * (column.number ? s - t : byText(s, t));
    };
    this.order = [...this.order].sort(compare);
    this.select();
  }

  filter() {
    this.input = Object.assign(el("input"), {type: "search"});
    this.counter = el("span");
    this.counter.setAttribute("aria-live", "polite");
    this.input.addEventListener("input", () => this.select());
    return el("div.filter", el("label", "Filter rows: ", this.input), this.counter);
  }

  textOf(row) {
    this.texts ??= [];
    const cells = this.view.columns.map((column) => column.cells[row]);
    return (this.texts[row] ??= [...cells, ...(this.view.notes[row] ?? []).slice(0, 2)].join(" ").toLowerCase());
  }

  select() {
    const words = (this.input?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = words.length > 0 ? this.order.filter((row) => words.every((word) => this.textOf(row).includes(word))) : this.order;
    if (this.counter) this.counter.textContent = words.length > 0 ? `${this.shown.length} of ${this.count} rows` : "";
    this.first = 0;
    this.render();
  }

  render() {
    const rows = this.shown.slice(this.first, this.first + this.size);
    this.body.replaceChildren(...rows.map((row) => this.row(row)));
    this.pager.hidden = this.shown.length <= this.size;
    if (this.pager.hidden) return;
    const step = (text, first, isEnabled) => {
      const button = Object.assign(el("button", text), {type: "button", disabled: !isEnabled});
      button.addEventListener("click", () => { this.first = first; this.render(); });
      return button;
    };
    const end = Math.min(this.first + this.size, this.shown.length);
    this.pager.replaceChildren(step("‹ previous", Math.max(0, this.first - this.size), this.first > 0),
                               el("span", `rows ${this.first + 1} to ${end} of ${this.shown.length}`),
                               step("next ›", this.first + this.size, end < this.shown.length));
  }

  row(row) {
    const {view} = this;
    const [, note, keepsNumbers] = view.notes[row] ?? [];
    const isLost = note && !keepsNumbers;
    const columns = isLost ? view.columns.slice(0, view.first_number) : view.columns;
    const cells = columns.map((column, c) => el("td" + (column.number ? ".n" : ""), this.cell(column, row, c)));
    if (note) cells.push(Object.assign(el("td", note), {colSpan: isLost ? view.columns.length - view.first_number : 1}));
    const line = el("tr" + (isLost ? ".lost" : ""), cells);
    if (!view.isSummary) line.id = keyOf(view, row);
    return line;
  }

  // The first cell links to the row itself; in tables of the summary, to its target.
  cell(column, row, c) {
    const text = column.cells[row];
    if (c > 0) return text;
    if (this.view.isSummary) return this.view.targets ? link(this.view.targets[row], text) : text;
    const anchor = Object.assign(link(keyOf(this.view, row)), {className: "anchor", ariaLabel: "link to this row"});
    return [text, anchor];
  }

  reveal(row) {
    if (!this.shown.includes(row)) {
      if (this.input) this.input.value = "";
      this.select();
    }
    const at = this.shown.indexOf(row);
    if (at < this.first || at >= this.first + this.size) {
      this.first = Math.floor(at / this.size) * this.size;
      this.render();
    }
    document.querySelectorAll(".hit").forEach((other) => other.classList.remove("hit"));
    const line = this.body.rows[at - this.first];
    line.classList.add("hit");
    line.scrollIntoView({block: "center"});
  }
}

function goTo(key) {
  const before = location.hash;
  location.hash = encodeURIComponent(key);
  if (location.hash === before) showTarget();
}

function showTarget() {
  const target = decodeURIComponent(location.hash.slice(1));
  const place = places.get(target);
  if (place) tables.get(place.id).reveal(place.row);
  else if (target) document.getElementById(target)?.scrollIntoView();
}

// ---- sections

// Notes arrive as [row, status, note] and are stored by row.
function prepare(view, id) {
  view.id = id;
  if (!view.notes || Array.isArray(view.notes)) view.notes = Object.fromEntries((view.notes ?? []).map(([row, ...note]) => [row, note]));
}

function article(view, id) {
  const isSummary = Boolean(view.isSummary);
  prepare(view, id);
  const hasRows = view.columns?.length > 0;
  if (hasRows && !isSummary)
    for (let row = view.columns[0].cells.length - 1; row >= 0; --row) places.set(keyOf(view, row), {id, row});
  const title = isSummary ? el("h3", view.title) : el("h3", link(id, view.title));
  const parts = [
    title, view.question && el("p.question", view.question), view.facts && el("p.where", view.facts.join(" · ")),
    view.headline && el("p.headline", view.headline),
    hasRows && !isSummary && HAS_CHARTS && new Figure(view).element, hasRows && new Table(view).element, list("ul.notes", view.footnotes),
    view.explanations && el("h4", "Why"), list("ul.why", view.explanations)];
  return Object.assign(el("article", parts), {id});
}

const section = (id, title, ...children) => Object.assign(el("section", el("h2", title), ...children.flat()), {id});

function summary() {
  return section(
    "summary", "Summary", data.head?.map((text) => el("p.where", text)), data.summary?.split("\n").map((text) => el("p", text)),
    data.provenance && summaryOfReport(),
    !HAS_CHARTS && el("p.where", "This page has no charts: gpuexp was built without Chart.js " +
                                 "(Debian's package libjs-chart.js)."));
}

function listing(part) {
  let next = part.lines[0]?.[0];
  return el("pre", part.lines.flatMap(([number, count, text, classes]) => {
    const gap = number !== next && el("i", "   ⋯\n");
    next = number + 1;
    const left = el("i", `${String(number).padStart(4)} ${String(count || "").padStart(4)} `);
    return [gap, left, text, classes && el("b", "  " + classes), "\n"];
  }));
}

function sourceOf(variant) {
  const {source} = variant;
  if (!source) return variant.note && el("p.where", variant.note);
  const details = el("details", el("summary", source.summary));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    details.append(
      el("p", source.architecture
        ? `Left of a line: its number, and its number of machine instructions (compute capability ${source.architecture}), ` +
          "including code inlined there. Each instruction is counted once, regardless of how often it runs."
        : "No machine code is available."),
      ...source.parts.filter((part) => part.lines.length > 0).flatMap((part) => [
        part === source.parts[0] ? "" : el("p.where", `Lines of ${part.file || "unknown files"} in its kernels`),
        Object.assign(el("div.scroll", listing(part)), {tabIndex: 0, role: "region", ariaLabel: `source of ${variant.id}`})]));
  });
  return details;
}

function variants() {
  const family = (of) => el(
    "article", el("h3", of.id), of.question && el("p.question", of.question), of.physics && el("p", of.physics), sourceOf(of),
    (of.variants ?? []).flatMap((variant) => [el("h4", el("code", variant.id)), variant.why && el("p", variant.why),
                                              variant.compared && el("p.where", variant.compared), sourceOf(variant)]));
  return section("variants", "Variants", data.sources_note && el("p.where", data.sources_note), data.families.map(family));
}

// ---- provenance, as in results.json

const LABELS = {
  git_commit: "commit", git_dirty: "local changes", utc: "started", path: "config", sha256: "config's SHA-256", argv: "command",
  gpuexp_version: "gpuexp", name: "GPU", sm_count: "SMs", sm_clock_mhz: "SM clock at the start", sm_clock_max_mhz: "maximum SM clock",
  temperature_c: "temperature at the start", memory_total_bytes: "memory", memory_free_bytes: "free memory at the start",
  memory_bytes_per_s: "theoretical bandwidth", process_numa_nodes: "NUMA nodes of the process", pcie_width: "PCIe lanes", gpu_uuid: "UUID"};
const UNITS = {mhz: "MHz", w: "W", c: "°C"};

function labelOf(key) {
  const words = key.replace(/_(mhz|w|c)$/, "").replaceAll("_", " ").replace("pcie", "PCIe");
  return LABELS[key] ?? words.replace(/\b(gpu|sm|pci|ecc|numa|cuda|uuid)\b/g, (word) => word.toUpperCase());
}

function valueText(key, value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(" ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (key.endsWith("_bytes")) return `${Number((value / 2 ** 30).toPrecision(3))} GiB`;
  if (key.endsWith("_bytes_per_s")) return `${Number((value / 1e9).toPrecision(5))} GB/s`;
  const unit = UNITS[/_(mhz|w|c)$/.exec(key)?.[1]];
  return Number(value.toPrecision(5)) + (unit ? " " + unit : "");
}

function facts(object) {
  const known = Object.entries(object).map(([key, value]) => [labelOf(key), valueText(key, value)]).filter(([, text]) => text !== "");
  const rows = known.map(([label, text]) => el("tr", Object.assign(el("th", label), {scope: "row"}), el("td", text)));
  return el("div.scroll.whole", el("table.facts", el("tbody", rows)));
}

// A table with one row per object and a column for each member of any object.
function records(title, objects) {
  if (!objects?.length) return null;
  const members = [...new Set(objects.flatMap(Object.keys))];
  const heads = members.map((member) => [labelOf(member), objects.some((object) => typeof object[member] === "number")]);
  return summaryTable(title, heads, objects.map((object) => members.map((member) => valueText(member, object[member]))));
}

function provenance() {
  const {device, config, settings, ceilings, parts, ranks, ...run} = data.provenance;
  const details = (title, ...children) => el("details", el("summary", title), children);
  const settingsUsed = Object.entries(settings ?? {}).map(([setting, value]) => ({setting, value}));
  return section(
    "provenance", "Provenance", el("h3", "Run"), facts({...run, path: config?.path, sha256: config?.sha256}),
    records("Merged runs", parts), el("h3", "GPU"), facts(device), records("Ranks of problems that span GPUs", ranks),
    ceilings && [records("Ceilings", Object.entries(ceilings.values).map(([id, of]) => ({ceiling: id, ...of}))), el("p", ceilings.source)],
    settingsUsed.length > 0 && details("Settings in force", records("Settings", settingsUsed)),
    config?.text && details("The config", el("div.scroll", el("pre", config.text))));
}

// ---- the page

function show() {
  const count = data.experiments.reduce((sum, view) => sum + countOf(view), 0);
  if (count > 3000) rowsPerPage = Math.max(20, Math.min(200, Math.floor(20000 / data.experiments.length)));
  data.experiments.forEach((view, i) => prepare(view, `e${i + 1}`));
  const sections = [
    summary(), section("experiments", data.families ? "Experiments" : "Comparison", data.experiments.map((view) => article(view, view.id))),
    data.figures && section("published", "Published figures", el("p", data.figures.summary),
                            data.figures.views.map((view, i) => article(view, `f${i + 1}`))),
    data.families && variants(), data.provenance && provenance()].filter(Boolean);
  const nav = el("nav", sections.map((part) => link(part.id, part.firstChild.textContent)));
  nav.ariaLabel = "Sections";
  document.title = data.title;
  document.body.append(el("header", el("p.brand", data.brand), el("h1", data.title), nav), el("main", sections));
  showTarget();
}

const panels = () => [...document.querySelectorAll(".chart")].map((box) => box.panel);
addEventListener("hashchange", showTarget);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => panels().forEach((panel) => panel.redraw()));
// Printing uses light colours and draws every chart.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("paper");
  panels().forEach((panel) => { panel.discard(); panel.draw(); });
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("paper");
  panels().forEach((panel) => panel.redraw());
});
show();
