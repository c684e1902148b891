// One chart, drawn by Chart.js, with its zoom.

const SERIES_COLOURS = 8; // --s0 to --s7 in style.css
const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3]];
const WIDE_RANGE = 30; // an axis is logarithmic if numbers differ by more than this factor
const HAS_CHARTS = typeof Chart !== "undefined";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function shortNumber(value) {
  return Math.abs(value) >= 1000 && Math.abs(value) < 1e15 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

// 4096, 64Ki, 32Mi.
function binaryText(value) {
  for (const [name, size, minimum] of [["Gi", 2 ** 30, 1], ["Mi", 2 ** 20, 1], ["Ki", 1024, 16]])
    if (value >= minimum * size && value % size === 0) return Number((value / size).toPrecision(4)) + name;
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
}

// Powers of two; or 1, 2 and 5 times powers of ten, or only powers of ten if these are too many.
function logTicks(low, high, isBinary, most = 7) {
  const ticks = [];
  const base = isBinary ? 2 : 10;
  for (let e = Math.floor(Math.log(low) / Math.log(base)); base ** e <= high; ++e)
    for (const factor of isBinary ? [1] : [1, 2, 5]) ticks.push(factor * base ** e);
  let shown = ticks.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  if (shown.length > most && !isBinary) shown = shown.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e9) / 1e9));
  const step = Math.ceil(shown.length / most) || 1;
  return shown.filter((_, i) => i % step === 0);
}

// Whether values grow by factors or have a wide range.
function growsByFactors(values) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  if (sorted.length < 3 || !(sorted[0] > 0) || sorted.at(-1) / sorted[0] < 8) return false;
  return sorted.at(-1) / sorted[0] >= 200 || sorted.every((value, i) => i === 0 || value / sorted[i - 1] >= 1.2);
}

// The number at the start of a cell, without "<" and "+"; times with a unit in µs; null if there is none. Numbers are
// limited to ±1e300, because scales overflow near the ends of the range of doubles.
function numberOf(cell) {
  const match = /^[<+]?(-?\d[\d.]*(?:e[+-]?\d+)?) ?(ns|µs|ms|s)?(?![^\s–])/.exec(cell);
  const number = match && parseFloat(match[1]) * ({ns: 1e-3, ms: 1e3, s: 1e6}[match[2]] ?? 1);
  return match && Math.max(-1e300, Math.min(number, 1e300));
}
const numbersOf = (column) => (column.numbers ??= column.cells.map(numberOf));

// ---- one chart

const drawnWhenSeen = new IntersectionObserver((entries) => {
  for (const entry of entries) entry.isIntersecting ? entry.target.panel.draw() : entry.target.panel.discard();
}, {rootMargin: "400px"});

// spec: {title, label, kind: "lines", "points" or "bars", x and y: {label, log, binary, range}, labels of bars,
//        sets: [{name, colour, dash, hidden, roof, points: [{x, y, low, high, key}]}], reference, caption}
class Panel {
  constructor(spec) {
    Object.assign(this, {spec, zoom: {}, chart: null, drag: null});
    if (spec.kind !== "bars") for (const set of spec.sets) set.points.sort((a, b) => a.x - b.x); // Chart.js requires sorted points
    this.canvas = el("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${spec.y.label || spec.x.label} over ${spec.y.label ? spec.x.label : "variants"}`);
    const box = el("div.chart", this.canvas);
    box.style.height = spec.kind === "bars" ? `${70 + 20 * spec.labels.length}px` : "280px";
    box.panel = this;
    this.element = el("figure", spec.title && el("p.panel", spec.title), box, spec.caption && el("figcaption", spec.caption));
    this.listen();
    drawnWhenSeen.observe(box);
  }

  get isBars() { return this.spec.kind === "bars"; }

  draw() {
    if (this.chart) return;
    this.chart = new Chart(this.canvas, {
      type: this.isBars && !this.spec.x.log ? "bar" : "line",
      data: {labels: this.spec.labels, datasets: this.spec.sets.map((set) => this.dataset(set))},
      options: {
        animation: false, parsing: false, maintainAspectRatio: false, indexAxis: this.isBars ? "y" : "x",
        layout: {padding: {right: this.isBars ? 56 : 8, top: 6}},
        interaction: {mode: "nearest", axis: "xy", intersect: false},
        scales: {x: this.scale("x"), y: this.isBars ? this.labelScale() : this.scale("y")},
        onClick: (event, hits) => { if (!this.wasDragged && hits[0]) goTo(this.pointOf(hits[0]).key); },
        plugins: {legend: {display: false}, tooltip: {filter: (item) => !item.dataset.isRoof || item.dataIndex > 0,
                                                      callbacks: {title: () => "", label: (item) => this.tipOf(item)}}},
      },
      plugins: [{id: "marks", afterDatasetsDraw: (chart) => this.drawMarks(chart)}],
    });
  }
  discard() {
    this.chart?.destroy();
    this.chart = null;
  }

  dataset(set) {
    const own = set.roof ? colour("soft") : colour("s" + (set.colour % SERIES_COLOURS));
    const isMany = set.points.length > 400;
    return {
      label: set.name, data: set.points, isRoof: Boolean(set.roof), borderColor: own, backgroundColor: own, borderWidth: set.roof ? 1.2 : 2,
      borderDash: set.dash ?? DASHES[Math.floor((set.colour ?? 0) / SERIES_COLOURS) % DASHES.length],
      showLine: Boolean(set.roof) || this.spec.kind === "lines", pointRadius: set.roof || (isMany && this.spec.kind === "lines") ? 0 : 3,
      pointHoverRadius: 6, grouped: false, barThickness: 14, ...(this.isBars && !this.spec.x.log ? {borderWidth: 0} : {}),
    };
  }

  scale(name) {
    const axis = this.spec[name];
    const [min, max] = this.zoom[name] ?? axis.range ?? [];
    const text = axis.binary ? binaryText : (value) => String(Number(value.toPrecision(10)));
    return {
      type: axis.log ? "logarithmic" : "linear", min, max, title: {display: true, text: axis.label, color: colour("ink")},
      grid: {color: colour("line"), borderColor: colour("line")},
      ticks: {color: colour("soft"), maxRotation: 0, maxTicksLimit: 7, includeBounds: false, autoSkip: !axis.log,
              callback: (value) => text(value)},
      afterBuildTicks: (scale) => { if (axis.log) scale.ticks = logTicks(scale.min, scale.max, axis.binary).map((value) => ({value})); },
    };
  }
  labelScale() {
    const shortened = (label) => (label.length > 26 ? label.slice(0, 25) + "…" : label);
    return {type: "category", labels: this.spec.labels, offset: true, grid: {display: false},
            ticks: {color: colour("ink"), autoSkip: false, callback: (_, i) => shortened(this.spec.labels[i])}};
  }

  pointOf(hit) { return this.chart.data.datasets[hit.datasetIndex].data[hit.index]; }

  tipOf({dataset, raw}) {
    if (dataset.isRoof) return dataset.label;
    const value = this.isBars ? raw.x : raw.y;
    const interval = isNumber(raw.low) && isNumber(raw.high) ? ` (${shortNumber(raw.low)} to ${shortNumber(raw.high)})` : "";
    const name = this.isBars ? this.spec.labels[raw.y] : `${dataset.label}${raw.name ? " " + raw.name : ""}`;
    return `${name}: ${shortNumber(value)}${interval}${this.isBars ? "" : ` at ${binaryText(raw.x)}`}`;
  }

  // Draws whiskers of 95 % intervals, numbers at the ends of bars, the reference, and the zoom rectangle.
  drawMarks(chart) {
    const {ctx, chartArea: area, scales} = chart;
    const valueScale = this.isBars ? scales.x : scales.y;
    // Draws a line between two values at a position on the other axis.
    const stroke = (style, dash, value, across, toValue, toAcross) => {
      ctx.strokeStyle = style;
      ctx.setLineDash(dash);
      ctx.beginPath();
      for (const [v, a] of [[value, across], [toValue, toAcross]]) this.isBars ? ctx.lineTo(v, a) : ctx.lineTo(a, v);
      ctx.stroke();
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width + (this.isBars ? 56 : 0), area.height);
    ctx.clip();
    ctx.lineWidth = 1.5;
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    if (this.spec.reference) {
      const at = valueScale.getPixelForValue(this.spec.reference);
      stroke(colour("soft"), [4, 3], at, this.isBars ? area.top : area.left, at, this.isBars ? area.bottom : area.right);
    }
    chart.data.datasets.forEach((dataset, d) => chart.getDatasetMeta(d).data.forEach((element, i) => {
      const point = dataset.data[i];
      let [low, high] = [point.low, point.high].map((end) => (isNumber(end) ? valueScale.getPixelForValue(end) : NaN));
      const across = this.isBars ? element.y : element.x;
      const isDrawn = Math.abs(high - low) >= 3;
      if (isDrawn) stroke(this.isBars ? colour("ink") : dataset.borderColor, [], low, across, high, across);
      if (!this.isBars) return;
      ctx.fillStyle = colour("soft");
      ctx.fillText(shortNumber(point.x), Math.max(element.x, isDrawn ? high : 0) + 7, element.y);
    }));
    let last = -Infinity; // names measured roofs from the highest down, while there is room
    for (const set of this.spec.sets.filter((of) => of.roof && !of.dash.length).sort((a, b) => b.points.at(-1).y - a.points.at(-1).y)) {
      const y = scales.y.getPixelForValue(set.points.at(-1).y) + 8;
      if (y - last < 13) continue;
      last = y;
      ctx.textAlign = "right";
      const width = ctx.measureText(set.label).width;
      ctx.fillStyle = colour("paper"); // dims lines and points below the name
      ctx.globalAlpha = 0.7;
      ctx.fillRect(area.right - 6 - width, y - 7, width + 4, 14);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour("soft");
      ctx.fillText(set.label, area.right - 4, y);
    }
    if (this.drag) {
      const {x, y, toX, toY} = this.drag;
      ctx.globalAlpha = 0.2;
      ctx.fillStyle = colour("link");
      this.isBars ? ctx.fillRect(x, area.top, toX - x, area.height) : ctx.fillRect(x, y, toX - x, toY - y);
    }
    ctx.restore();
  }

  // Drag or Ctrl + wheel zooms, a double-click resets. The wheel without Ctrl scrolls the page.
  listen() {
    const place = (event) => ({x: event.offsetX, y: event.offsetY});
    this.canvas.addEventListener("pointerdown", (event) => {
      this.wasDragged = false;
      if (event.pointerType === "mouse" && event.button === 0) this.start = place(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.start || !this.chart) return;
      const {x, y} = place(event);
      if (Math.hypot(x - this.start.x, y - this.start.y) < 6) return;
      this.drag = {...this.start, toX: x, toY: y};
      this.chart.draw();
    });
    const finish = () => {
      const drag = this.drag;
      this.start = this.drag = null;
      if (!drag || !this.chart) return;
      this.wasDragged = true;
      this.zoomTo([Math.min(drag.x, drag.toX), Math.max(drag.x, drag.toX)], [Math.max(drag.y, drag.toY), Math.min(drag.y, drag.toY)]);
    };
    this.canvas.addEventListener("pointerup", finish);
    this.canvas.addEventListener("pointerleave", finish);
    this.canvas.addEventListener("wheel", (event) => {
      if (!this.chart || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const factor = Math.exp(Math.sign(event.deltaY) * 0.2);
      const {x, y} = place(event);
      const {left, right, top, bottom} = this.chart.chartArea;
      this.zoomTo([x + (left - x) * factor, x + (right - x) * factor], [y + (bottom - y) * factor, y + (top - y) * factor]);
    }, {passive: false});
    this.canvas.addEventListener("dblclick", () => this.reset());
  }
  zoomTo(xPixels, yPixels) {
    for (const [name, pixels] of [["x", xPixels], ...(this.isBars ? [] : [["y", yPixels]])]) {
      const scale = this.chart.scales[name];
      const ends = pixels.map((pixel) => scale.getValueForPixel(pixel));
      if (ends.every(isNumber) && ends[1] > ends[0] && pixels[0] !== pixels[1]) this.zoom[name] = ends;
    }
    this.redraw();
  }
  reset() {
    this.zoom = {};
    this.redraw();
  }
  redraw() {
    if (!this.chart) return;
    this.discard();
    this.draw();
  }
}
