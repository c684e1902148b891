// The charts of a table and their controls.

// ---- quantities of a table

// {label, values, low, high, reference} of each column with numbers in at least two rows.
function quantitiesOf(view) {
  const scaled = (values, shares, inverse) =>
    shares && values.map((value, i) => (shares[i] ? (inverse ? value / shares[i] : value * shares[i]) : null));
  const quantities = [];
  view.columns.forEach((column, c) => {
    const values = numbersOf(column);
    const isAside = !column.number || /^(± %|95 %|min\.)/.test(column.heading);
    if (c < view.first_number || isAside || values.filter(isNumber).length < 2) return;
    const quantity = {label: column.heading, values};
    if (column.cells.some((cell) => / [nµm]?s$/.test(cell))) quantity.label += " (µs)";
    if (column.heading.startsWith("time ("))
      Object.assign(quantity, {low: scaled(values, view.time_low), high: scaled(values, view.time_high)});
    if (["TFLOP/s", "useful GB/s"].includes(column.heading)) {
      const above = new Set(view.above_limit);
      quantity.values = values.map((value, i) => (above.has(i) ? null : value));
      Object.assign(quantity, {low: scaled(values, view.time_high, true), high: scaled(values, view.time_low, true)});
    }
    if (["speedup", "B/A", "ratio", "mean", "median ratio"].includes(column.heading)) quantity.reference = 1;
    if (column.heading === "speedup") {
      const label = view.baseline ? `speedup over ${view.baseline}` : column.heading;
      Object.assign(quantity, {label, low: scaled(values, view.speedup_low), high: scaled(values, view.speedup_high)});
    }
    const interval = view.columns[c + 1];
    if (interval?.heading === "95 % interval") {
      quantity.low = interval.cells.map((cell) => numberOf(cell.split("–")[0]));
      quantity.high = interval.cells.map((cell) => numberOf(cell.split("–")[1] ?? ""));
    }
    quantities.push(quantity);
    if (column.heading === "speedup" && view.baseline) {
      const inverse = (list) => list?.map((value) => (value ? 1 / value : null));
      quantities.push({label: `time over that of ${view.baseline}`, reference: 1, values: inverse(values),
                       low: inverse(quantity.high), high: inverse(quantity.low)});
    }
  });
  return quantities;
}

// The quantity of the family's declared figure, else the rate that limits most rows, else a time.
function defaultQuantity(view, quantities) {
  const kind = view.figure?.kind;
  const rates = ["TFLOP/s", "useful GB/s"];
  const limits = view.columns.find((column) => column.heading === "limit by")?.cells ?? [];
  if (2 * limits.filter((cell) => cell === "dram").length > limits.length) rates.reverse();
  const ofKind = {share_of_copy: "speedup", relative_times: "time over", working_sets: "step_cycles"};
  const ofTimes = ["kept_sets", "per_item", "row_pitch", "swept_times", "time_against_memory", "timelines", "times_by_type",
                   "vocab_padding"];
  const first = ofKind[kind] ?? (ofTimes.includes(kind) ? "time (" : rates[0]);
  const wanted = [first, ...rates, "time (", "predicted (", "B/A", "ratio", "mean"];
  const found = wanted.map((label) => quantities.findIndex((quantity) => quantity.label.startsWith(label))).find((at) => at >= 0);
  return found ?? 0;
}

// The declared axis, else the parameter with the most values; null for bars. If a parameter has more values than there are
// variants, it replaces bars, because the experiment is about it.
function defaultAxis(view, axes) {
  const count = (column) => new Set(column.cells).size;
  const barKinds = ["ladder", "share_of_copy", "times_by_type", "metrics_by_type", "row_pitch", "error_against_speed", "vocab_padding"];
  const minimum = barKinds.includes(view.figure?.kind) ? Math.max(5, count(view.columns[0]) + 1) : 3;
  const swept = axes.filter((column) => count(column) >= minimum);
  const declared = swept.find((column) => column.heading === view.figure?.axis);
  return declared ?? swept.reduce((most, column) => (!most || count(column) > count(most) ? column : most), null);
}

// ---- the charts of one table

const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

function rangeOf(quantity, rows, log, isBars) {
  let [low, high] = extent(rows.flatMap((i) => [quantity.values[i], quantity.low?.[i], quantity.high?.[i]]).filter(isNumber));
  if (log) return [low / 1.2, high * 1.2];
  if (isBars) high = Math.max(high, quantity.reference ?? 0);
  [low, high] = [Math.min(0, low), Math.max(0, high * (isBars ? 1 : 1.06))];
  return high > low ? [low, high] : [low - 1, high + 1];
}

// The range of an axis, with room for dots at its ends.
function withMargin(values, log) {
  const [low, high] = extent(values);
  const margin = log ? (high / low) ** 0.03 : 0.03 * (high - low);
  return high > low ? (log ? [low / margin, high * margin] : [low - margin, high + margin]) : undefined;
}

const isWide = (range) => range[0] > 0 && range[1] / range[0] > WIDE_RANGE;

// The label of a row from its columns: "tile, k = 64, cold".
function nameOf(columns, row) {
  const isPlain = (column) => ["variant", "mode", "GPU"].includes(column.heading);
  const known = columns.filter((column) => column.cells[row]);
  return known.map((column) => (isPlain(column) ? "" : `${column.heading} = `) + column.cells[row]).join(", ");
}

class Figure {
  constructor(view) {
    this.view = view;
    this.labels = view.columns.slice(0, view.first_number);
    this.axes = this.labels.filter((column) => column.number && new Set(column.cells).size > 1);
    this.quantities = quantitiesOf(view);
    this.hidden = new Set();
    this.mostPanels = 24;
    this.choice = defaultQuantity(view, this.quantities);
    this.axis = defaultAxis(view, this.axes);
    this.panels = el("div.figures");
    this.controls = el("div.controls");
    this.legend = el("ul.legend");
    this.caption = el("p.where", "whiskers: 95 % interval");
    this.element = el("div.charts", this.controls, this.legend, this.panels, this.caption);
    this.hasRoofline = Boolean(view.tflops) && rooflineOf([view]) !== null;
    if (this.quantities.length > 0) this.render();
    else this.element.hidden = true;
  }

  get isRoofline() { return this.choice === this.quantities.length; }

  render() {
    const quantity = this.quantities[this.choice];
    const specs = this.isRoofline ? [rooflineOf([this.view])] : this.axis ? this.lines(quantity) : this.bars(quantity);
    this.renderControls(specs);
    this.renderLegend(specs);
    this.drawn = specs.slice(0, this.mostPanels).map((spec) => new Panel({...spec, sets: spec.sets.filter((set) => !this.hidden.has(set.name))}));
    this.caption.hidden = this.isRoofline || !quantity.low?.some(isNumber);
    this.panels.replaceChildren(...this.drawn.map((panel) => panel.element));
    if (specs.length <= this.mostPanels) return;
    const more = Object.assign(el("button", `Show ${specs.length - this.mostPanels} more charts`), {type: "button"});
    more.addEventListener("click", () => { this.mostPanels = Infinity; this.render(); });
    this.panels.append(more);
  }

  lines(quantity) {
    const {axis, view} = this;
    const xs = numbersOf(axis);
    const rows = [...xs.keys()].filter((i) => isNumber(xs[i]) && isNumber(quantity.values[i]));
    const parts = this.labels.filter((column) => column !== axis && (column === this.labels[0] || new Set(column.cells).size > 1));
    const panelParts = [];
    while (parts.length > 1 && new Set(rows.map((i) => nameOf(parts, i))).size > SERIES_COLOURS) panelParts.unshift(parts.pop());
    const names = [...new Set(rows.map((i) => nameOf(parts, i)))];
    const logX = this.logX ?? growsByFactors(rows.map((i) => xs[i]));
    const logY = this.logY ?? isWide(rangeOf(quantity, rows, true, false));
    const specs = new Map();
    for (const i of rows) {
      const title = nameOf(panelParts, i);
      if (!specs.has(title)) {
        const sets = new Map(names.map((name, n) => [name, {name, colour: n, points: []}]));
        const label = axis.heading === view.figure?.axis ? view.figure.label : axis.heading;
        specs.set(title, {title, kind: "lines", sets, reference: quantity.reference,
                          x: {label, log: logX, binary: growsByFactors(xs), range: withMargin(rows.map((row) => xs[row]), logX)},
                          y: {label: quantity.label, log: logY, range: rangeOf(quantity, rows, logY, false)}});
      }
      const point = {x: xs[i], y: quantity.values[i], low: quantity.low?.[i], high: quantity.high?.[i], key: keyOf(view, i)};
      specs.get(title).sets.get(nameOf(parts, i)).points.push(point);
    }
    const finished = [...specs.values()].map((spec) => ({...spec, sets: [...spec.sets.values()].filter((set) => set.points.length > 0)}));
    return finished.filter((spec) => spec.sets.reduce((count, set) => count + set.points.length, 0) > 1);
  }

  bars(quantity) {
    const {view} = this;
    const variants = this.labels[0].cells;
    const rows = [...variants.keys()].filter((i) => isNumber(quantity.values[i]));
    const others = this.labels.slice(1).filter((column) => new Set(column.cells).size > 1);
    const places = new Map();
    for (const i of rows) {
      const place = nameOf(others, i);
      if (!places.has(place)) places.set(place, []);
      places.get(place).push(i);
    }
    // Problems with one bar each share a chart.
    const areSingle = places.size > 1 && [...places.values()].every((of) => of.length === 1);
    const groups = areSingle ? [["", rows]] : [...places];
    const logX = this.logY ?? isWide(rangeOf(quantity, rows, true, true));
    const range = rangeOf(quantity, rows, logX, true);
    const kindOf = (i) => (view.libraries?.includes(variants[i]) ? "library" : variants[i] === view.baseline ? "baseline" : "");
    const labelOf = (i) => variants[i] + (kindOf(i) && ` (${kindOf(i)})`);
    const colourOf = (i) => ({baseline: 7, library: 1})[kindOf(i)] ?? 0;
    return groups.map(([title, all]) => {
      const of = all.filter((i) => !this.hidden.has(labelOf(i)));
      const point = (i, at) => ({x: quantity.values[i], y: at, low: quantity.low?.[i], high: quantity.high?.[i], key: keyOf(view, i)});
      return {title, kind: "bars", reference: quantity.reference, x: {label: quantity.label, log: logX, range}, y: {label: ""},
              labels: of.map((i) => (areSingle ? nameOf(others, i) : variants[i])),
              names: new Map(all.map((i) => [labelOf(i), colourOf(i)])),
              sets: of.map((i, at) => ({name: labelOf(i), colour: colourOf(i), points: [point(i, at)]}))};
    });
  }

  renderControls(specs) {
    const select = (label, options, chosen, choose) => {
      const input = el("select", options.map((text, i) => Object.assign(el("option", text), {value: i, selected: i === chosen})));
      input.addEventListener("change", () => { choose(Number(input.value)); this.hidden.clear(); this.render(); });
      return el("label", label + " ", input);
    };
    const toggle = (label, isOn, set) => {
      const input = Object.assign(el("input"), {type: "checkbox", checked: isOn});
      input.addEventListener("change", () => { set(input.checked); this.render(); });
      return el("label", input, " " + label);
    };
    const restart = () => { this.logX = this.logY = undefined; };
    const axes = [null, ...this.axes];
    const spec = specs[0];
    const valueAxis = spec && (spec.kind === "bars" ? spec.x : spec.y);
    const isPositive = (axis) => spec && !this.isRoofline && axis && this.isAboveZero(axis === valueAxis);
    const reset = Object.assign(el("button", "Reset zoom"), {type: "button"});
    reset.title = "A drag or Ctrl + wheel zooms; a double-click resets";
    reset.addEventListener("click", () => this.drawn.forEach((panel) => panel.reset()));
    this.controls.replaceChildren(
      select("Show", [...this.quantities.map((quantity) => quantity.label), ...(this.hasRoofline ? ["roofline"] : [])], this.choice,
             (i) => { this.choice = i; restart(); }),
      ...[this.axes.length > 0 && !this.isRoofline &&
            select("over", axes.map((axis) => axis?.heading ?? "variants"), axes.indexOf(this.axis), (i) => { this.axis = axes[i]; restart(); }),
          isPositive(valueAxis) && toggle("logarithmic values", valueAxis.log, (on) => { this.logY = on; }),
          spec?.kind === "lines" && isPositive(spec.x) && toggle(`logarithmic ${this.axis.heading}`, spec.x.log, (on) => { this.logX = on; })
      ].filter(Boolean), reset);
  }
  isAboveZero(isValue) {
    return (isValue ? this.quantities[this.choice].values : numbersOf(this.axis)).every((value) => !isNumber(value) || value > 0);
  }

  // A name is a button that hides its variant and shows it again.
  renderLegend(specs) {
    const namesOf = (spec) => spec.names ?? spec.sets.filter((set) => !set.roof).map((set) => [set.name, set.colour]);
    const names = new Map(specs.flatMap((spec) => [...namesOf(spec)]));
    this.legend.replaceChildren(...[...names].map(([name, of]) => {
      const button = Object.assign(el(`button.c${of % SERIES_COLOURS}`, name), {type: "button"});
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
      button.addEventListener("click", () => {
        this.hidden.has(name) ? this.hidden.delete(name) : this.hidden.add(name);
        this.render();
        [...this.legend.querySelectorAll("button")].find((other) => other.textContent === name)?.focus();
      });
      return el("li", button);
    }));
    this.legend.hidden = names.size < 2;
  }
}
