// Shows the numbers under the pointer in the legend of each chart. What is drawn is there without it.
"use strict";
(() => {
  const units = {
    seconds: [[1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
    bytes: [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]],
    share: [[0.01, "%"]],
  };
  const text = (kind, x) => {
    if (kind === "count") return Math.round(x).toLocaleString("en").replaceAll(",", "\u202f");
    if (kind === "score") return x.toFixed(4);
    let [size, name] = (units[kind] || [[1, ""]])[0];
    for (const u of units[kind] || []) if (Math.abs(x) >= u[0]) [size, name] = u;
    const y = x / size, short = Math.abs(y) < 1e6 && (Math.abs(y) >= 1e-4 || y === 0);
    const digits = short ? Number(y.toPrecision(4)).toString() : y.toExponential(3);
    return name ? digits + "\u00a0" + name : digits;
  };
  const nearest = (xs, x) => {
    let best = 0;
    for (let i = 1; i < xs.length; i++) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  };
  let wired = 0;
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
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
      data.series.forEach((s, i) => { outputs[i].textContent = text(data.kind, s.y[nearest(s.x, shown)]); });
    };
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", () => {
      figure.classList.remove("on");
      at.textContent = rest;
      outputs.forEach((o, i) => { o.textContent = before[i]; });
    });
    wired++;
  }
  document.documentElement.dataset.charts = String(wired);
})();
