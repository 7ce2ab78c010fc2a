"use strict";
// The page of `/docs`: the requests of `/openapi.json`, each with a command to try it. Everything is shown as text.

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const state = document.querySelector("#state"), main = document.querySelector("#main");
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// A value with the form of a schema, for the example of a JSON body.
function example(schema) {
  if (schema.oneOf || schema.anyOf) return example((schema.oneOf || schema.anyOf)[0]);
  if (schema.type === "array") return [example(schema.items || {})];
  if (schema.type === "object") {
    const required = schema.required || Object.keys(schema.properties || {}).slice(0, 1);
    return Object.fromEntries(required.map((name) => [name, example((schema.properties || {})[name] || {})]));
  }
  if (schema.default !== undefined) return schema.default;
  return { string: schema.format === "byte" ? "BASE64" : "TEXT", number: schema.minimum ?? 1, integer: schema.minimum ?? 1, boolean: true }[schema.type] ?? "VALUE";
}

function command(method, path, operation, token) {
  const parts = ["curl", ...(token ? ["-H 'Authorization: Bearer TOKEN'"] : [])];
  const bodies = (operation.requestBody || {}).content || {};
  const type = bodies["image/png"] ? "image/png" : Object.keys(bodies)[0];
  if (method === "post" && type === "application/json") {
    parts.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(JSON.stringify(example(bodies[type].schema || {})))}`);
  } else if (method === "post" && type) {
    parts.push(`-H 'Content-Type: ${type}'`, `--data-binary @FILE.${type.split("/")[1]}`);
  }
  return [...parts, quoted(new URL(path.slice(1), document.baseURI).href)].join(" ");
}

function described(path, method, operation, token) {
  const types = Object.keys((operation.requestBody || {}).content || {});
  const answers = Object.keys(operation.responses["200"].content || {});
  const problems = Object.entries(operation.responses).filter(([status]) => status !== "200");
  const rows = problems.map(([status, { description }]) => make("li", {}, make("code", { textContent: status }), ` ${description}`));
  return make("section", {},
    make("h2", {}, make("code", { textContent: `${method.toUpperCase()} ${path}` })),
    make("p", { textContent: `${operation.summary}.` }),
    ...(types.length ? [make("p", { className: "hint", textContent: `Accepts ${types.join(", ")}` })] : []),
    make("p", { className: "hint", textContent: `Answers with ${answers.join(", ")}` }),
    make("pre", { tabIndex: 0, textContent: command(method, path, operation, token) }),
    make("details", {}, make("summary", { textContent: "Errors" }), make("ul", {}, ...rows)));
}

async function load() {
  const token = sessionStorage.getItem("token") || new URLSearchParams(location.hash.slice(1)).get("token");
  const answer = await fetch("openapi.json", { headers: token ? { authorization: `Bearer ${token}` } : {} });
  if (answer.status === 401) throw new Error("This server needs a token: open the page of the models first.");
  if (!answer.ok) throw new Error(`The server answered ${answer.status}`);
  const { info, paths } = await answer.json();
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method === "get", described(path, method, operation, token)]))
    .sort(([first], [second]) => first - second).map(([, section]) => section);
  main.replaceChildren(...sections);
  state.textContent = `zoo ${info.version}, ${sections.length} requests`;
}

load().catch((error) => { state.textContent = error.message; });
