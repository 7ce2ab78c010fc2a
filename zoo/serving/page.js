"use strict";
// The page of `zoo serve`: a panel for each kind of model. Responses of the server are only shown as text.

const find = (selector, within = document) => within.querySelector(selector);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const store = {
  get: () => sessionStorage.getItem("token"),
  set: (token) => sessionStorage.setItem("token", token),
};

// -- requests

async function ask(path, options = {}) {
  const token = store.get();
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (answer.status === 401) {
    await askForToken();
    return ask(path, options);
  }
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `The server answered ${answer.status}`);
  return answer;
}

function askForToken() {
  const dialog = find("#ask");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => { store.set(find("#token").value.trim()); resolve(); }, { once: true });
  });
}

const address = (model, verb = "predict") => `v1/models/${encodeURIComponent(model.name)}:${verb}`;

async function predict(model, body, type, accept = "application/json", signal = undefined) {
  const headers = { "content-type": type, accept };
  return ask(address(model), { method: "POST", body, headers, signal });
}

async function classify(model, body, type, signal) {
  return (await (await predict(model, body, type, "application/json", signal)).json()).predictions[0];
}

const json = (value) => JSON.stringify(value);

// -- parts of several panels

const words = (name) => name.replaceAll("_", " ");
const percent = (share) => `${(100 * share).toFixed(share > 0.0995 && share < 0.9995 ? 0 : 1)} %`;

function answered(prediction, { digit = false } = {}) {
  if (prediction.numbers) {
    return Object.entries(prediction.numbers).map(([name, value]) =>
      make("p", { className: "best", textContent: `${words(name)}: ${Number(value.toPrecision(6))}` }));
  }
  const bars = make("ul", { className: "bars" });
  for (const { class: name, probability } of prediction.top) {
    const bar = make("i");
    bar.style.setProperty("--share", `${100 * probability}%`);
    bars.append(make("li", {}, make("span", { textContent: words(name) }), make("span", { textContent: percent(probability) }), bar));
  }
  return [make("p", { className: digit ? "best digit" : "best", textContent: prediction.labels ? prediction.labels.map(words).join(", ") || "(no label)" : words(prediction.class) }), bars];
}

// The class names of a classifier, and an example of a prediction until there is a real one.
const SHOWN_CLASSES = 12;

function classesOf(model) {
  const names = (model.classes ?? []).map(words), rest = names.slice(SHOWN_CLASSES);
  if (!names.length) return [];
  const more = make("details", {}, make("summary", { textContent: `${rest.length} more` }), rest.join(", "));
  const what = { labels: "Labels", number: "Number" }[model.target] ?? "Classes";
  return [`${what}: ${names.slice(0, SHOWN_CLASSES).join(", ")}`, ...(rest.length ? [make("span", { textContent: " …" }), more] : [])];
}

function example(model) {
  const names = (model.classes ?? []).slice(0, 3), shares = [1 - 0.09 * (names.length - 1), 0.09, 0.09];
  if (names.length < 2 || model.target) return [];
  const top = names.map((name, place) => ({ class: name, probability: shares[place] }));
  return [make("p", { className: "name", textContent: "Example of a prediction" }), ...answered({ class: names[0], top })];
}

const failed = (error) => make("p", { className: "error", role: "alert", textContent: error.message });

// Only the response to the newest request of a panel is shown: an older request is aborted.
function newest() {
  let current = null;
  return () => {
    current?.abort();
    current = new AbortController();
    return current.signal;
  };
}

function takesFiles(panel, take) {
  find("input[type=file]", panel).addEventListener("change", (event) => {
    take([...event.target.files]);
    event.target.value = "";
  });
  panel.take = take;
}

// -- panels, each made from the template of its kind

const panels = {
  pictures(panel, [model]) {
    const cards = find(".cards", panel), shown = example(model);
    if (shown.length) cards.append(make("article", { className: "card example" }, make("div", {}, ...shown)));
    find(".classes", panel).append(...classesOf(model));
    takesFiles(panel, (files) => {
      find(".example", cards)?.remove();
      files.forEach((file) => addCard(cards, model, file));
    });
  },

  drawn(panel, [model]) {
    const canvas = find("canvas", panel), out = find(".answer", panel), signal = newest();
    const show = async (content, type) => {
      try {
        out.replaceChildren(...answered(await classify(model, content, type, signal()), { digit: true }));
      } catch (error) {
        if (error.name !== "AbortError") out.replaceChildren(failed(error));
      }
    };
    const clear = drawingBoard(canvas, () => canvas.toBlob((blob) => show(blob, "image/png")));
    find(".clear", panel).addEventListener("click", () => {
      signal();
      clear();
      out.replaceChildren(make("p", { className: "empty", textContent: "The prediction appears here while you draw." }));
    });
    find(".classes", panel).append(...classesOf(model));
    takesFiles(panel, ([file]) => file && show(file, "image/*"));
  },

  restyle(panel, models) {
    const list = find(".paintings", panel), compare = find(".compare", panel), slider = find("input[type=range]", compare);
    const busy = find(".busy", panel), save = find(".save", panel), signal = newest();
    let photo = null, chosen = models[0];
    const paint = async () => {
      if (!photo) return;
      const current = signal();
      busy.textContent = "Restyling …";
      try {
        const blob = await (await predict(chosen, photo, "image/*", "image/png", current)).blob();
        const after = URL.createObjectURL(blob);
        Object.assign(find(".after", compare), { src: after });
        Object.assign(find(".before", compare), { src: URL.createObjectURL(photo) });
        Object.assign(save, { href: after, hidden: false });
        compare.hidden = false;
        busy.textContent = "";
      } catch (error) {
        if (error.name !== "AbortError") busy.replaceChildren(failed(error));
      }
    };
    const preview = async (model, label) => {
      const form = new FormData();
      form.append("file", photo);
      form.append("side", "128");
      const headers = { accept: "image/jpeg" };
      const blob = await (await ask(address(model), { method: "POST", body: form, headers })).blob();
      find("img", label)?.remove();
      label.prepend(make("img", { src: URL.createObjectURL(blob), alt: "" }));
    };
    for (const model of models) {
      const choice = make("input", { type: "radio", name: "painting", checked: model === chosen });
      choice.addEventListener("change", () => { chosen = model; paint(); });
      list.append(make("label", {}, choice, make("span", { textContent: words(model.name) })));
    }
    slider.addEventListener("input", () => compare.style.setProperty("--at", `${slider.value}%`));
    takesFiles(panel, async ([file]) => {
      if (!file) return;
      photo = file;
      await paint();
      if (models.length === 1) return;
      for (const [place, label] of [...list.querySelectorAll("label")].entries()) {
        await preview(models[place], label).catch(() => {});  // a preview is missing; the large image reports the error
      }
    });
  },

  texts(panel, [model]) {
    const text = find("textarea", panel), out = find(".answer", panel), signal = newest();
    let timer;
    const show = async () => {
      const current = signal();
      if (!text.value.trim()) {
        out.replaceChildren(make("p", { className: "empty", textContent: "The prediction appears here while you type." }));
        return;
      }
      try {
        out.replaceChildren(...answered(await classify(model, json({ instances: [text.value] }), "application/json", current)));
      } catch (error) {
        if (error.name !== "AbortError") out.replaceChildren(failed(error));
      }
    };
    const shown = example(model);
    if (shown.length) out.append(make("div", { className: "card example" }, make("div", {}, ...shown)));
    find(".classes", panel).append(...classesOf(model));
    text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 250); });
  },

  writer(panel, [model]) {
    const text = find("textarea", panel), page = find(".page", panel), button = find(".write", panel), busy = find(".busy", panel);
    for (const range of panel.querySelectorAll("input[type=range]")) {
      range.addEventListener("input", () => { range.nextElementSibling.textContent = range.value; });
    }
    let running = null;
    button.addEventListener("click", async () => {
      if (running) return running.abort();
      running = new AbortController();
      button.textContent = "Stop";
      page.hidden = false;
      page.replaceChildren(make("b", { textContent: text.value }));
      busy.textContent = "Writing …";
      const settings = { prompt: text.value, length: Number(find(".length", panel).value),
        temperature: Number(find(".temperature", panel).value), seed: Math.floor(Math.random() * 2 ** 31) };
      try {
        await stream(model, settings, running.signal, (piece) => page.append(piece));
        busy.textContent = "";
      } catch (error) {
        busy.replaceChildren(...(error.name === "AbortError" ? ["Stopped."] : [failed(error)]));
      }
      running = null;
      button.textContent = "Write";
    });
  },
};

async function addCard(cards, model, file) {
  const body = make("div", {}, make("p", { className: "name", textContent: file.name }), make("p", { className: "empty", textContent: "Classifying …" }));
  const picture = make("img", { src: URL.createObjectURL(file), alt: file.name });
  picture.addEventListener("error", () => picture.remove());
  cards.prepend(make("article", { className: "card" }, picture, body));
  try {
    body.lastChild.replaceWith(...answered(await classify(model, file, "image/*")));
  } catch (error) {
    body.lastChild.replaceWith(failed(error));
  }
}

async function stream(model, settings, signal, take) {
  const answer = await ask(address(model, "generate"), { method: "POST", body: json(settings), headers: { "content-type": "application/json" }, signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = JSON.parse(event.slice(event.indexOf("data: ") + 6));
      if (data.error) throw new Error(data.error);
      if (data.text) take(data.text);
    }
  }
}

function drawingBoard(canvas, changed) {
  const pen = canvas.getContext("2d"), spot = { x: 140, y: 140, down: false };
  let last = null;
  const clear = () => {
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    Object.assign(pen, { strokeStyle: "#000", lineWidth: 20, lineCap: "round", lineJoin: "round" });
  };
  const line = (from, to) => {
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    pen.lineTo(to.x, to.y);
    pen.stroke();
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) * canvas.width) / box.width, y: ((event.clientY - box.top) * canvas.height) / box.height };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    line(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const here = place(event);
    line(last, here);
    last = here;
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, () => { if (last) { last = null; changed(); } });
  }
  const steps = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] };
  canvas.addEventListener("keydown", (event) => {
    if (steps[event.key]) {
      const next = { x: Math.min(270, Math.max(10, spot.x + steps[event.key][0])), y: Math.min(270, Math.max(10, spot.y + steps[event.key][1])) };
      if (spot.down) { line(spot, next); changed(); }
      Object.assign(spot, next);
    } else if (event.key === " ") {
      spot.down = !spot.down;
      if (spot.down) { line(spot, spot); changed(); }
    } else if (event.key === "Delete" || event.key === "Backspace") {
      find(".clear", canvas.parentElement).click();
    } else return;
    event.preventDefault();
    canvas.setAttribute("aria-label", `Drawing board, pen ${spot.down ? "down" : "up"} at ${Math.round(spot.x / 2.8)} %, ${Math.round(spot.y / 2.8)} %`);
  });
  clear();
  return clear;
}

// -- tabs

// Kinds whose models share a panel, and its title.
const shared = { restyle: "Restyle" };

function sections(models) {
  const rows = models.filter((model) => !shared[model.kind]).map((model) => [model.name, model.drawn ? "drawn" : model.kind, [model]]);
  for (const [kind, title] of Object.entries(shared)) {
    const together = models.filter((model) => model.kind === kind);
    if (together.length) rows.push([title, kind, together]);
  }
  return rows.filter(([, kind]) => panels[kind]);
}

function show(tab) {
  for (const other of find("#tabs").children) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", chosen);
    other.tabIndex = chosen ? 0 : -1;
    other.panel.hidden = !chosen;
  }
}

function addSection(name, kind, models) {
  const panel = make("section", { role: "tabpanel", id: `panel-${name}` }, find(`#${kind}`).content.cloneNode(true));
  const tab = make("button", { type: "button", textContent: words(name), panel, id: `tab-${name}` });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", panel.id);
  panel.setAttribute("aria-labelledby", tab.id);
  tab.addEventListener("click", () => show(tab));
  panels[kind](panel, models);
  const machine = models.map((model) => `${words(model.name)} runs on ${(model.device?.name ?? "?").replace(/.*device:/, "")} (stack ${model.stack})`).join(" · ");
  panel.append(make("p", { className: "about", textContent: machine }));
  find("#tabs").append(tab);
  find("#main").append(panel);
}

function useArrows(event) {
  const tabs = [...find("#tabs").children], now = tabs.indexOf(document.activeElement);
  const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (next === undefined || now < 0) return;
  const tab = tabs[(next + tabs.length) % tabs.length];
  show(tab);
  tab.focus();
  event.preventDefault();
}

const open = () => [...find("#main").children].find((panel) => !panel.hidden);

function handOver(files) {
  const images = [...files].filter((file) => file.type.startsWith("image/") || /\.(bmp|tiff?|avif|heic)$/i.test(file.name));
  if (images.length) open()?.take?.(images);
}

function takeDropsAndPastes() {
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    handOver(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => handOver(event.clipboardData.files));
}

async function begin() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    store.set(given);
    history.replaceState(null, "", location.pathname);
  }
  takeDropsAndPastes();
  find("#tabs").addEventListener("keydown", useArrows);
  try {
    const { models } = await (await ask("v1/models")).json();
    sections(models).forEach((section) => addSection(...section));
    show(find("#tabs").firstElementChild);
    find("#state").textContent = models.length === 1 ? "One model is ready." : `${models.length} models are ready.`;
  } catch (error) {
    find("#state").replaceChildren(failed(error));
  }
}

begin();
