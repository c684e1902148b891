#include "render/html_assets.hpp"

namespace gpuexp {

// Colours s0 to s7 are those of scripts/plotting/style.py (Okabe and Ito, Color Universal Design),
// lighter on dark paper. Only containers with the class `scroll` are wider than the page.
const std::string_view kHtmlStyle = R"css(
:root{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;--band:#f4f6f8;--link:#0059b2;
--good:#0a6e3d;--bad:#b3261e;--open:#7a5200;
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#e69f00;--s5:#56b4e9;--s6:#000;--s7:#888}
@media (prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e4e8ec;--soft:#9ba5b0;--line:#363d45;
--band:#1d2226;--link:#7db9f5;--good:#5ccb8f;--bad:#ff8a80;--open:#e5b65c;
--s0:#4aa8e0;--s1:#f2843c;--s2:#2fc79b;--s3:#e39cc5;--s4:#f3b83a;--s5:#9bd5f7;--s6:#e8e8e8;--s7:#999}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
overflow-wrap:break-word}
header,main{max-width:1120px;margin:0 auto;padding:0 20px}
header{padding-top:20px}
.brand{margin:0;color:var(--soft);font-size:.85rem;letter-spacing:.02em}
h1{margin:.1em 0 .3em;font-size:1.8rem;line-height:1.2}
h2{margin:2.2em 0 .6em;padding-bottom:.25em;border-bottom:2px solid var(--line);font-size:1.4rem}
h3{margin:1.8em 0 .4em;font-size:1.12rem}
h4{margin:1.4em 0 .3em;font-size:1rem}
p{margin:.5em 0;max-width:78ch}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
nav{display:flex;flex-wrap:wrap;gap:.3em 1.2em}
code,pre{font:.86em/1.45 ui-monospace,"SF Mono",Consolas,"Liberation Mono",monospace}
pre{margin:0;padding:10px;background:var(--band);tab-size:2}
pre i{color:var(--soft);font-style:normal;user-select:none}
pre b{color:var(--s0);font-weight:400;user-select:none}
article{border-top:1px solid var(--line);margin-top:1.6em}
article h3{margin-top:.9em}
h2+article{border-top:0;margin-top:0}
.question{font-style:italic}
.where,figcaption,.notes{color:var(--soft);font-size:.88rem}
.headline{border-left:3px solid var(--s0);padding-left:.7em}
.command span{color:var(--soft);font-size:.88rem}
.command code{overflow-wrap:anywhere}
.verdicts,.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.4em;margin:.6em 0;padding:0}
.verdicts li{border:1px solid currentColor;border-radius:1em;padding:.05em .75em;font-size:.92rem;font-weight:600}
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--open)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,165px),1fr));gap:8px;margin:1em 0}
.cards div{background:var(--band);border-radius:6px;padding:6px 10px}
dt{color:var(--soft);font-size:.78rem}
dd{margin:0;font-weight:600;overflow-wrap:anywhere}
.scroll{overflow:auto;max-height:32rem;border:1px solid var(--line);border-radius:6px;margin:.6em 0}
table{border-collapse:separate;border-spacing:0;font-size:.88rem;font-variant-numeric:tabular-nums}
.sort{min-width:100%}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{padding:4px 10px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
td{max-width:56ch}
tbody tr:last-child>*{border-bottom:0}
thead th{position:sticky;top:0;z-index:1;background:var(--band);white-space:nowrap}
.whole{max-height:none;width:fit-content;max-width:100%}
.facts th{color:var(--soft);font-weight:400;white-space:nowrap}
.facts td{overflow-wrap:anywhere;min-width:14ch}
.n{text-align:right;white-space:nowrap}
.lost td{color:var(--open)}
tbody tr:hover{background:var(--band)}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible{outline:2px solid var(--link)}
th button::after{content:"\2195";opacity:.35;padding-left:.3em}
th[aria-sort=ascending] button::after{content:"\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\2193";opacity:1}
.filter{display:flex;flex-wrap:wrap;align-items:center;gap:.6em;margin:.8em 0 0;font-size:.88rem;color:var(--soft)}
.filter input{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:4px;
padding:3px 8px;width:15em;max-width:100%}
.notes{padding-left:1.2em}
.why{padding-left:1.2em;font-size:.94rem}
.why li{margin:.5em 0;max-width:90ch}
summary{cursor:pointer;color:var(--link);font-size:.92rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:4px 24px;align-items:start}
figure{margin:.8em 0;min-width:0;max-width:540px}
figure .scroll{border:0;max-height:none;margin:0}
.panel{margin:0;font-weight:600;font-size:.92rem}
svg{display:block;width:100%;min-width:330px;height:auto;font-size:12px}
svg text{fill:var(--soft);paint-order:stroke;stroke:var(--paper);stroke-width:3px}
svg .label{fill:var(--ink)}
.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:var(--line)}
.mark{stroke:var(--soft);stroke-dasharray:4 3}
.line{fill:none;stroke:var(--c);stroke-width:2}
.whisker{stroke:var(--c);stroke-width:1.5}
.ink{--c:var(--ink)}
circle,rect{fill:var(--c)}
.faint{fill-opacity:.55}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}
.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}.s7{--c:var(--s7)}
.d1{stroke-dasharray:7 3}.d2{stroke-dasharray:2 3}.d3{stroke-dasharray:8 3 2 3}
.legend{gap:.1em 1.1em;font-size:.82rem}
.legend li{display:flex;align-items:center;gap:.4em}
.legend svg{width:26px;min-width:26px}
.legend .bar{stroke-width:10}
@media (max-width:600px){
body{font-size:15px}
header,main{padding-left:14px;padding-right:14px}
h1{font-size:1.45rem}
.sort td:first-child,.sort th:first-child{position:sticky;left:0;width:9.5em;min-width:9.5em;max-width:9.5em;
white-space:normal;overflow-wrap:anywhere;border-right:1px solid var(--line)}
.sort td:first-child{background:var(--paper)}
.sort th:first-child{z-index:2}
.sort td[colspan]{white-space:normal}
th,td{padding:4px 8px}}
@media print{
:root{--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--band:#f2f2f2;--link:#000}
.scroll{max-height:none;overflow:visible;border:0}
.filter,nav,th button::after{display:none}
figure,tr{break-inside:avoid}
h2,h3,h4{break-after:avoid}
svg{min-width:0}
html{font-size:11px}
body{font-size:1rem}
header,main{max-width:none;padding:0}
table{font-size:.68rem}
th,td{padding:2px 4px}
thead th,.n{white-space:normal}
thead th{position:static}}
)css";

// Without it every table is there, in the order of the run.
const std::string_view kHtmlScript = R"js(
"use strict";
// Numbers by their value, with what stands before them in "<0.1" and "+2.5" left out; null where a
// row has none.
function keyOf(row, column, isNumber) {
  const cell = row.cells[column];
  const text = cell && cell.colSpan === 1 ? cell.textContent.trim() : "";
  if (!isNumber) return text || null;
  const number = parseFloat(text.replace(/^[<+]/, ""));
  return Number.isNaN(number) ? null : number;
}
// Rows without a value stand last either way.
function order(column, isNumber, sign) {
  return (a, b) => {
    const s = keyOf(a, column, isNumber), t = keyOf(b, column, isNumber);
    if (s === null || t === null) return (s === null) - (t === null);
    return sign * (isNumber ? s - t : s.localeCompare(t, "en", {numeric: true}));
  };
}
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(order(column, head.classList.contains("n"), sign)));
    });
  });
}
function makeFilter(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 8) return;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("span");
  input.type = "search";
  label.append("Filter rows: ", input);
  count.setAttribute("aria-live", "polite");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = [...row.cells].map((cell) => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every((word) => content.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length > 0 ? `${shown} of ${rows.length} rows` : "";
  });
  const line = document.createElement("div");
  line.className = "filter";
  line.append(label, count);
  table.parentElement.before(line);
}
for (const table of document.querySelectorAll("table.sort")) {
  makeSortable(table);
  makeFilter(table);
}
)js";

}  // namespace gpuexp
