// Saves the chart beside it as it looks, with its sentence above and where it comes from below.
// Words and names come as data and go in as text: nothing here makes HTML of a string.

const SVG = "http://www.w3.org/2000/svg";
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility", "display"];
const MARGIN = 16;
const LINE = 20; // of text
const LETTER = 7.2; // pixels of a letter of text, about
const SHARPNESS = 2; // pixels of a picture for one of the page

export default function ({ data, parentElement }) {
  const status = parentElement.querySelector("span");
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = async () => {
      status.textContent = "";
      try { await save(button.dataset.kind, data); }
      catch { status.textContent = data.failed; }
    };
  }
}

async function save(kind, data) {
  const picture = draw(data);
  const text = new XMLSerializer().serializeToString(picture);
  const drawing = new Blob([text], { type: "image/svg+xml" });
  const file = kind === "svg" ? drawing : await paint(drawing, picture);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${data.name}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function draw(data) {
  const chart = document.querySelector(`.st-key-${data.chart.trim().replace(/[^a-zA-Z0-9_-]/g, "-")}`);
  const parts = [...chart.querySelectorAll("svg.main-svg, svg.marks")];
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left + 2 * MARGIN;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  const title = wrap(data.title, width), source = wrap(data.source, width);
  const from = MARGIN + title.length * LINE, whole = from + height + (source.length + 1) * LINE;
  const picture = make("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}` });
  const page = getComputedStyle(document.querySelector(".stApp"));
  picture.append(make("rect", { width, height: whole, fill: page.backgroundColor }));
  title.forEach((line, i) => picture.append(write(line, MARGIN + (i + 0.5) * LINE, page.color, 600)));
  parts.forEach((part, i) => {
    const copy = copyWithStyle(part);
    for (const [name, value] of [["x", boxes[i].left - left + MARGIN], ["y", boxes[i].top - top + from],
      ["width", boxes[i].width], ["height", boxes[i].height], ["overflow", "visible"]]) copy.setAttribute(name, value);
    picture.append(copy);
  });
  source.forEach((line, i) => picture.append(write(line, from + height + (i + 1) * LINE, page.color, 400)));
  return picture;
}

// A copy that looks the same without the page's style.
function copyWithStyle(node) {
  const copy = node.cloneNode(false);
  if (node.nodeType === Node.ELEMENT_NODE && !node.closest("defs")) {
    const look = getComputedStyle(node);
    for (const name of STYLES) copy.style.setProperty(name, look.getPropertyValue(name));
  }
  for (const child of node.childNodes) copy.appendChild(copyWithStyle(child));
  return copy;
}

function make(name, values) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) node.setAttribute(key, value);
  return node;
}

function write(text, y, fill, weight) {
  const node = make("text", { x: MARGIN, y, fill, "font-size": 14, "font-weight": weight, "font-family": "sans-serif" });
  node.textContent = text;
  return node;
}

function wrap(text, width) {
  const maxLetters = Math.max(Math.floor((width - 2 * MARGIN) / LETTER), 8), lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (line && line.length + word.length + 1 > maxLetters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}

async function paint(drawing, picture) {
  const image = new Image(), address = URL.createObjectURL(drawing);
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SHARPNESS * picture.getAttribute("width");
  canvas.height = SHARPNESS * picture.getAttribute("height");
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
