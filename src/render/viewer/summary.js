// The summary of a report: a table of experiments, the rows that did not pass, and two charts of all rows.

// In tables of the summary, the first cell of a row links to its experiment or row.
function summaryTable(title, heads, rows, targets) {
  const columns = heads.map(([heading, number], c) => ({heading, number: Boolean(number), cells: rows.map((row) => String(row[c]))}));
  return article({title, columns, targets, isSummary: true}, "s-" + title.toLowerCase().replaceAll(" ", "-"));
}

const columnOf = (view, heading) => view.columns?.find((column) => column.heading === heading);
const countOf = (view) => view.columns?.[0].cells.length ?? 0;
const placeOf = (view, row) => nameOf(view.columns.slice(1, view.first_number), row);

function errorsOf(views) {
  const errors = views.flatMap((view) => view.prediction_error ?? []).filter(isNumber).map(Math.abs).sort((a, b) => a - b);
  const middle = errors.length / 2;
  const median = (errors[Math.ceil(middle) - 1] + errors[Math.floor(middle)]) / 2;
  const within = (percent) => errors.filter((error) => error <= Math.log1p(percent / 100)).length;
  return {count: errors.length, median: 100 * Math.expm1(median), within};
}

// The row with the largest speedup, if it is at least 2 %. Rows above their limit are excluded.
function bestRow(view) {
  const column = columnOf(view, "speedup");
  const values = column ? numbersOf(column) : [];
  const above = new Set(view.above_limit);
  const isCandidate = (row) => values[row] >= 1.02 && !above.has(row);
  return [...values.keys()].filter(isCandidate).reduce((best, row) => (best === null || values[row] > values[best] ? row : best), null);
}

function overviewCells(view) {
  const best = bestRow(view);
  const errors = errorsOf([view]);
  const place = best === null ? "" : placeOf(view, best);
  return [view.name, view.families.join(", "), countOf(view), countOf(view) - Object.keys(view.notes).length,
          best === null ? "" : columnOf(view, "speedup").cells[best],
          best === null ? "" : `${view.columns[0].cells[best]} over ${view.baseline}${place ? " at " + place : ""}`,
          errors.count > 0 ? errors.median.toFixed(1) : ""];
}

function overview() {
  const heads = [["experiment"], ["family"], ["rows", true], ["passed", true], ["speedup", true], ["variant"], ["off %", true]];
  return [summaryTable("Experiments", heads, data.experiments.map(overviewCells), data.experiments.map((view) => view.id)),
          el("p.where", "speedup: largest speedup over the baseline, if at least 2 %; off %: median error of predicted times")];
}

function lostRows() {
  const rows = data.experiments.flatMap((view) => Object.entries(view.notes).map(([row, [status, note]]) => ({
    cells: [view.name, view.columns[0].cells[row], placeOf(view, row), status, note.slice(status.length + 2)], key: keyOf(view, row)})));
  if (rows.length === 0) return el("p", "Every row passed.");
  return summaryTable("Rows that did not pass", [["experiment"], ["variant"], ["problem"], ["status"], ["reason"]],
                      rows.map((row) => row.cells), rows.map((row) => row.key));
}

// Statuses have words in addition to colours.
function verdicts() {
  const kinds = {passed: "good", sampled: "good", incorrect: "bad", failed: "bad", timeout: "bad"};
  return el("ul.verdicts", el("li", `${data.rows} ${data.rows === 1 ? "row" : "rows"}`),
            data.statuses.map(([status, count]) => el("li." + (kinds[status] ?? "open"), `${count} ${status}`)),
            !data.complete && el("li.bad", "the run did not finish"));
}

function cards() {
  const {device, utc, gpuexp_version: version, git_commit: commit, git_dirty: isDirty} = data.provenance;
  const {lowest_sm_clock_mhz: low, highest_sm_clock_mhz: high, highest_power_w: power} = data.conditions;
  const values = {
    "GPU": device.name && device.name + (device.executed_on === "simulated" ? ", simulated: no times" : ""),
    "Driver": device.driver_version,
    "CUDA runtime": device.runtime_version,
    "SM clock while timed": low && high && `${low.toFixed(0)} to ${high.toFixed(0)} MHz`,
    "Power": [power && `up to ${power.toFixed(0)} W`, device.power_limit_w && `limit ${device.power_limit_w} W`].filter(Boolean).join(", "),
    "Started": utc?.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\dZ$/, "$1 $2 UTC"),
    "gpuexp": version,
    "Commit": commit && commit.slice(0, 12) + (isDirty ? " with local changes" : ""),
  };
  const known = Object.entries(values).filter(([, value]) => value);
  return el("dl.cards", known.map(([name, value]) => el("div", el("dt", name), el("dd", value))));
}

function predictions() {
  const errors = errorsOf(data.experiments);
  if (errors.count === 0) return null;
  const source = data.provenance.ceilings?.source;
  const spec = HAS_CHARTS && predictionSpec(data.experiments);
  return [el("h3", "Prediction and measurement"),
          el("p", `${errors.count} rows: ${errors.within(10)} are predicted within 10 % and ${errors.within(25)} within 25 %; ` +
                  `the median error is ${Number(errors.median.toPrecision(2))} %.${source ? ` Predictions use ${source}.` : ""}`),
          spec && new Panel(spec).element];
}

function summaryOfReport() {
  const roofline = HAS_CHARTS && rooflineOf(data.experiments);
  const command = data.provenance.argv?.join(" ");
  return [verdicts(), cards(), command && el("p.command", el("span", "Command"), " ", el("code", command)), overview(),
          lostRows(), data.flags.columns && article(Object.assign(data.flags, {isSummary: true}), "s-flags"), predictions(),
          roofline && el("h3", "Roofline"), roofline && new Panel(roofline).element].flat();
}

// ---- charts of all rows

// Rate over operations per byte of device memory, with roofs from the report's ceilings.
function rooflineOf(views) {
  const ceilings = data.provenance?.ceilings?.values ?? {};
  const sets = [];
  for (const view of views.filter((of) => of.tflops)) {
    view.tflops.forEach((rate, i) => {
      if (!(rate > 0) || !(view.intensity[i] > 0)) return;
      const name = views.length > 1 ? view.title : view.columns[0].cells[i];
      let set = sets.find((known) => known.name === name);
      if (!set) sets.push(set = {name, colour: sets.length, points: []});
      set.points.push({x: view.intensity[i], y: rate, key: keyOf(view, i), name: views.length > 1 ? view.columns[0].cells[i] : ""});
    });
  }
  if (sets.length === 0) return null;
  const xs = sets.flatMap((set) => set.points.map((point) => point.x));
  const ys = sets.flatMap((set) => set.points.map((point) => point.y));
  const pipes = [...new Set(views.flatMap((view) => view.pipes ?? []))];
  const roofs = [];
  for (const [member, words, dash] of [["value", "measured", []], ["datasheet", "datasheet", [4, 3]]]) {
    const bandwidth = ceilings.dram_read?.[member] / 1000; // TB/s
    const known = pipes.filter((pipe) => ceilings[pipe]?.[member] && bandwidth);
    roofs.push(...known.map((pipe) => ({pipe, words, dash, bandwidth, rate: ceilings[pipe][member]})));
  }
  ys.push(...roofs.map((roof) => roof.rate));
  xs.push(...roofs.flatMap(({rate, bandwidth}) => [rate / bandwidth / 4, rate / bandwidth * 4]));
  const [low, high] = extent(xs).map((x, i) => (i === 0 ? x / 1.6 : x * 1.6));
  const lines = roofs.map(({pipe, words, dash, bandwidth, rate}) => ({
    name: `${pipe} ${shortNumber(rate)} TFLOP/s, DRAM ${shortNumber(1000 * bandwidth)} GB/s, ${words}`, roof: true, dash,
    label: `${pipe} ${shortNumber(rate)} TFLOP/s`,
    points: [{x: low, y: low * bandwidth}, {x: rate / bandwidth, y: rate}, {x: high, y: rate}]}));
  const from = [...new Set(views.flatMap((view) => view.intensity_from ?? []))].join(" and ");
  return {kind: "points", sets: [...sets, ...lines],
          x: {label: "operations per byte of device memory", log: true, range: [low, high]},
          y: {label: "TFLOP/s", log: true, range: withMargin(ys, true)},
          caption: `Bytes are ${from || "declared"}. Solid roofs are measured ceilings, dashed roofs datasheet values.`};
}

function predictionSpec(views) {
  const points = [];
  for (const view of views.filter((of) => of.prediction_error)) {
    const time = view.columns.find((column) => column.heading.startsWith("time ("));
    const unit = time && numberOf(`1 ${/\((.*)\)/.exec(time.heading)[1]}`);
    view.prediction_error.forEach((error, i) => {
      if (!isNumber(error) || !time || !(numbersOf(time)[i] > 0)) return;
      const name = `${view.title}, ${view.columns[0].cells[i]}`;
      points.push({x: numbersOf(time)[i] * unit, y: Math.exp(error), key: keyOf(view, i), name});
    });
  }
  if (points.length === 0) return null;
  const range = (values) => withMargin(values, true);
  return {kind: "points", reference: 1, sets: [{name: "", colour: 0, points}],
          x: {label: "measured time (µs)", log: true, range: range(points.map((point) => point.x))},
          y: {label: "predicted / measured time", log: true, range: range([0.5, 2, ...points.map((point) => point.y)])},
          caption: "One dot per row. On the line, the prediction equals the measured time; below it, the prediction is too short."};
}
