// Draws what the server computed, at every move of the thumb, and tells the server where the thumb was let go.
// All words and names come as data and go in as text: nothing here makes HTML of a string.

const SETTLED = 250; // ms without another key or step before the server is told

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".drag");
  root.drag ??= build(root);
  root.drag.show(data, (stop) => setStateValue("stop", stop));
  return () => root.drag.close();
}

function build(root) {
  const part = (name) => root.querySelector(name);
  const input = part("input"), again = part(".drag-again");
  let data, bars, tell, drawing = 0, held = false, timer = null, told = null;

  const draw = () => {
    const stop = input.valueAsNumber, values = data.synthetic[drawing][stop];
    const low = data.low[stop], high = data.high[stop], words = data.sentences[drawing][stop];
    const said = words.replaceAll("**", "");
    bars.forEach((bar, j) => {
      size(bar.synthetic, 0, values[j], data.top);
      size(bar.range, low[j], high[j], data.top);
      bar.number.textContent = share(values[j], data);
      bar.gap.textContent = gap(j, values[j], data);
    });
    part(".drag-at").textContent = data.stops[stop];
    part(".drag-words").replaceChildren(...emphasised(words));
    part(".drag-chart").setAttribute("aria-label", `${data.title} ${said}`);
    input.setAttribute("aria-valuetext", said);
  };
  // The address says at once what is seen: a link that is clicked before the server has heard takes it along.
  const write = () => {
    const address = new URL(location);
    address.searchParams.set("epsilon", data.stops[input.valueAsNumber].split(" = ")[1]);
    history.replaceState(history.state, "", address);
  };
  const settle = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      if (input.valueAsNumber === data.at) return;
      told = input.valueAsNumber;
      tell(told);
    }, SETTLED);
  };
  input.oninput = () => {
    root.classList.remove("drag-untouched");
    draw();
    write();
  };
  input.onchange = settle; // a thumb let go, or a key
  input.onpointerdown = () => { held = true; clearTimeout(timer); timer = null; };
  input.onpointerup = input.onpointercancel = () => { held = false; if (input.valueAsNumber !== data.at) settle(); };
  again.onclick = () => { drawing = (drawing + 1) % data.synthetic.length; draw(); };

  return {
    show(given, report) {
      tell = report;
      if (data === undefined) root.classList.add("drag-untouched");
      data = given;
      if (told === data.at) told = null; // the server has heard
      drawing %= data.synthetic.length;
      bars = frame(root, data);
      input.max = data.stops.length - 1;
      if (!held && timer === null && told === null) input.value = data.at;
      else write(); // a person is ahead of the server, which has just written its own
      again.hidden = data.synthetic.length < 2;
      again.textContent = data.again;
      part(".drag-name span").textContent = data.name;
      part(".drag-ends").replaceChildren(...data.ends.map((text) => element("span", "", text)));
      draw();
    },
    close() { clearTimeout(timer); },
  };
}

// The axis, the groups and the names: what does not move with the thumb.
function frame(root, data) {
  const ticks = data.ticks.map((value) => {
    const tick = element("div", "drag-tick");
    tick.style.bottom = `${(100 * value) / data.top}%`;
    tick.append(element("span", "", data.unit === "%" ? `${Math.round(100 * value)}%` : value.toLocaleString("en")));
    return tick;
  });
  const bars = data.labels.map((_, j) => {
    const group = element("div", "drag-group"), bar = { group };
    if (data.real !== null) {
      const real = element("div", "drag-bar drag-real");
      size(real, 0, data.real[j], data.top);
      real.append(element("span", "", share(data.real[j], data)));
      group.append(real);
    }
    bar.synthetic = element("div", "drag-bar drag-synthetic");
    bar.number = element("span", "");
    bar.synthetic.append(bar.number);
    bar.range = element("div", "drag-range");
    bar.gap = element("span", "");
    bar.range.append(bar.gap);
    group.append(bar.synthetic, bar.range);
    return bar;
  });
  root.classList.toggle("drag-alone", data.real === null);
  root.querySelector(".drag-plot").replaceChildren(...ticks, ...bars.map((bar) => bar.group));
  root.querySelector(".drag-labels").replaceChildren(...data.labels.map((text) => element("span", "", text)));
  const kinds = [["drag-bar drag-real", data.legend.real], ["drag-bar drag-synthetic", data.legend.synthetic]];
  kinds.push(["drag-range", data.legend.range]);
  const shown = kinds.filter(([, text]) => text).map(([kind, text]) => {
    const entry = element("span", "");
    entry.append(element("i", kind), element("span", "", text));
    return entry;
  });
  root.querySelector(".drag-legend").replaceChildren(...shown);
  return bars;
}

function element(kind, name, text = "") {
  const made = document.createElement(kind);
  made.className = name;
  made.textContent = text;
  return made;
}

function emphasised(text) {
  return text.split("**").map((piece, i) => (i % 2 ? element("strong", "", piece) : document.createTextNode(piece)));
}

function size(bar, from, to, top) {
  bar.style.bottom = `${(100 * from) / top}%`;
  bar.style.height = `${(100 * (to - from)) / top}%`;
  bar.dataset.from = from;
  bar.dataset.to = to;
}

// How many people more (+) or fewer (−) a bar shows than are real.
function gap(j, value, data) {
  if (data.real === null || !data.people) return "";
  const people = Math.round(data.people * (value - data.real[j]));
  return `${people > 0 ? "+" : people < 0 ? "−" : ""}${Math.abs(people).toLocaleString("en")}`;
}

function share(value, data) {
  if (data.unit === "%") return `${(100 * value).toFixed(data.digits)}%`;
  return Number(value >= 10 ? value.toFixed(0) : value.toPrecision(2)).toLocaleString("en");
}
