// Shows the numbers under the pointer in the legend of each chart, smooths curves and changes their scale, shows one group of
// points, and sorts tables. What is drawn is there without it.
"use strict";
(() => {
  // text writes a number as package number does, with spaces at which no line is broken.
  const steps = {
    seconds: [[1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
    bytes: [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]],
  };
  const digits = (x, n) => {
    const abs = Math.abs(x);
    if (x === 0) return "0";
    if (abs >= 1e6 || abs < 1e-4) {
      const [m, e] = x.toExponential(n - 1).split("e");
      return Number(m) + "e" + e[0] + e.slice(1).padStart(2, "0");
    }
    return x.toFixed(Math.max(0, n - 1 - Math.floor(Math.log10(Number(abs.toExponential(n - 1))))));
  };
  const long = (s) => {
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return (h ? h + "h" : "") + m + "m" + s % 60 + "s";
  };
  const unit = (kind, x) => steps[kind].find(([size]) => Math.abs(x) / size < 999.5) || steps[kind].at(-1);
  const kinds = {
    count: (x) => Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ","),
    score: (x) => x.toFixed(4),
    ratio: (x) => digits(x, 3),
    share: (x) => {
      let decimals = 1;
      for (let limit = 0.095; decimals < 4 && x !== 0 && Math.abs(100 * x) < limit; limit /= 10) decimals++;
      return (100 * x).toFixed(decimals) + " %";
    },
    bytes: (x) => {
      const [size, name] = unit("bytes", x);
      return (x / size).toFixed(size > 1 && Math.abs(x / size) < 99.95 ? 1 : 0) + " " + name;
    },
    seconds: (x) => {
      if (Math.abs(x) >= 119.5) return (x < 0 ? "-" : "") + long(Math.round(Math.abs(x)));
      if (x === 0) return "0 s";
      const [size, name] = unit("seconds", x);
      return digits(x / size, 3) + " " + name;
    },
  };
  const text = (kind, x) => (kinds[kind] || ((x) => digits(x, 4)))(x).replaceAll(" ", "\u00a0");
  const nearest = (xs, x) => {
    let best = 0;
    for (let i = 1; i < xs.length; i++) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  };
  // Redraws the curves of a chart on one of its two scales, smoothed; beneath them stand the numbers themselves, faint.
  const redraw = (figure, data, other, smooth) => {
    const scale = other ? data.other : { lo: data.ylo, hi: data.yhi, log: data.log, ticks: data.ticks };
    const map = scale.log ? Math.log10 : (y) => y;
    const y = (v) => (data.yfrom + (map(v) - map(scale.lo)) / (map(scale.hi) - map(scale.lo)) * (data.yto - data.yfrom)).toFixed(2);
    const x = (v) => (data.from + (v - data.lo) / (data.hi - data.lo) * (data.to - data.from)).toFixed(2);
    const line = (xs, ys) => xs.map((v, i) => (i ? "L" : "M") + x(v) + " " + y(ys[i])).join("") + (xs.length === 1 ? "h.01" : "");
    const means = (ys) => { // exponential, with the beginning put right
      let sum = 0, weight = 0;
      return ys.map((v) => (sum = smooth * sum + (1 - smooth) * v) / (weight = smooth * weight + 1 - smooth));
    };
    const make = (name, attributes, words) => {
      const e = document.createElementNS(figure.querySelector("svg").namespaceURI, name);
      for (const key in attributes) e.setAttribute(key, attributes[key]);
      if (words) e.textContent = words;
      return e;
    };
    figure.querySelector(".ticks").replaceChildren(...scale.ticks.flatMap((t) => [
      make("line", { class: "grid-line", x1: data.from, x2: data.to, y1: t.at, y2: t.at }),
      make("text", { x: data.from - 6, y: t.at, dy: 4, "text-anchor": "end" }, t.text)]));
    figure.querySelectorAll(".faint").forEach((e) => e.remove());
    figure.querySelectorAll("path.curve").forEach((path, i) => {
      const s = data.series[i];
      if (smooth > 0) {
        const raw = path.cloneNode();
        raw.classList.add("faint");
        raw.setAttribute("d", line(s.x, s.y));
        path.before(raw);
      }
      path.setAttribute("d", line(s.x, smooth > 0 ? means(s.y) : s.y));
    });
  };
  let wired = 0;
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    wired++;
    if (figure.classList.contains("flat")) continue;
    const svg = figure.querySelector("svg"), cursor = figure.querySelector(".cursor");
    const at = figure.querySelector(".at"), outputs = [...figure.querySelectorAll("output")];
    const before = outputs.map((o) => o.textContent), rest = at.textContent;
    const show = (event) => {
      const box = svg.getBoundingClientRect();
      const place = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      const x = data.lo + (place - data.from) / (data.to - data.from) * (data.hi - data.lo);
      const shown = data.series[0].x[nearest(data.series[0].x, x)];
      const px = data.from + (shown - data.lo) / (data.hi - data.lo) * (data.to - data.from);
      cursor.setAttribute("x1", px);
      cursor.setAttribute("x2", px);
      figure.classList.add("on");
      at.textContent = data.xname + " " + text(data.xkind, shown);
      data.series.forEach((s, i) => { 
        const k = nearest(s.x, shown), there = s.x[k] === shown ? "" : " (" + text(data.xkind, s.x[k]) + ")";
        outputs[i].textContent = text(data.kind, s.y[k]) + there;
      });
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", () => {
      figure.classList.remove("on");
      at.textContent = rest;
      outputs.forEach((o, i) => { o.textContent = before[i]; });
    });
    const log = figure.querySelector(".log"), range = figure.querySelector(".smooth");
    const again = () => redraw(figure, data, log !== null && log.checked !== data.log, range.value / 100);
    if (log) log.addEventListener("change", again);
    if (range) range.addEventListener("input", again);
  }
  // Of a scatter, a click on an entry of the legend shows its points alone, another one shows all.
  for (const figure of document.querySelectorAll("figure[data-scatter]")) {
    for (const entry of figure.querySelectorAll(".legend li")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.append(...entry.childNodes);
      entry.append(button);
      button.addEventListener("click", () => {
        const alone = !entry.classList.contains("pick");
        figure.classList.toggle("picked", alone);
        for (const e of figure.querySelectorAll("[data-group]")) e.classList.toggle("pick", alone && e.dataset.group === entry.dataset.group);
        for (const b of figure.querySelectorAll("button")) b.setAttribute("aria-pressed", String(alone && b === button));
      });
    }
  }
  // Sorts a table by the column whose head is clicked: ascending, descending, and as it came. Rows without a value come last.
  const words = new Intl.Collator("en", { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], came = [...body.rows], heads = [...table.tHead.querySelectorAll("th[scope=col]")];
    const compare = (a, b) => {
      const numbers = ["key" in a.dataset, "key" in b.dataset];
      if (numbers[0] && numbers[1]) return a.dataset.key - b.dataset.key;
      return numbers[0] || numbers[1] ? numbers[1] - numbers[0] : words.compare(a.textContent, b.textContent);
    };
    const missing = (cell) => cell.textContent === "-";
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: null }[head.getAttribute("aria-sort")];
        const order = next === undefined ? "ascending" : next;
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        if (order) head.setAttribute("aria-sort", order);
        const cell = (row) => row.cells[column];
        body.replaceChildren(...(order ? came.toSorted((a, b) => missing(cell(a)) - missing(cell(b)) || compare(cell(a), cell(b)) * (order === "ascending" ? 1 : -1)) : came));
      });
    });
  }
  document.documentElement.classList.add("js");
  document.documentElement.dataset.charts = String(wired);
})();
