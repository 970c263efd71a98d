// A piece's description outside of a browser: `node describe.mjs SOURCE` reads scenes from its
// standard input and writes what each shows. A scene: { data, state, words, width, moves }; a move
// is [name, handler, event], for example ["query", "onKeyDown", { key: "ArrowUp" }].
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { default: _, ...own } = await import(pathToFileURL(process.argv[2]));
const { piece, page, speak } = own;
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const HANDS = /^(aria-|data-|role$|tabindex$)/;  // in a picture nothing is moved
const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => ESCAPES[letter]);

/** The elements of a tree, in its order; what stands in a label has its words as its name. */
function* walk(tree, label) {
  if (Array.isArray(tree)) for (const each of tree) yield* walk(each, label);
  else if (tree?.props) {
    tree.label = label;
    yield tree;
    yield* walk(tree.props.children, tree.type === "label" ? named(tree) : label);
  }
}

const written = (tree) => {
  if (Array.isArray(tree)) return tree.map(written).join("");
  if (tree == null || typeof tree === "boolean") return "";
  return tree.props ? written(tree.props.children) : String(tree);
};

const plain = ({ children, ...props }) => Object.entries(props).filter(([name, value]) =>
  value != null && value !== false && typeof value !== "function" && name !== "ref");

function markup(tree) {
  if (Array.isArray(tree)) return tree.map(markup).join("");
  if (tree == null || typeof tree === "boolean") return "";
  if (!tree.props) return escaped(tree);
  const given = plain(tree.props).filter(([name]) => !HANDS.test(name))
    .map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return `<${tree.type}${given}>${markup(tree.props.children)}</${tree.type}>`;
}

const named = (label) =>
  written([...walk(label.props.children)].find(({ props }) => props.class === "name") ?? label);
const nameOf = ({ props, label }) =>
  String(props["aria-label"] ?? label ?? written(props.children)).trim();

function scene({ data, state, words, width = 720, moves = [], ui = {} }) {
  speak(words);
  const hold = (news) => { ui = { ...ui, ...news }; };
  const set = (settings, news) => {
    state = { ...state, ...settings };
    hold({ ...news, used: true });
  };
  const look = () => page(piece, { data, state, ui, width, set, hold });
  for (const [name, handler, event] of moves) {
    const part = [...walk(look())].find((each) => nameOf(each) === name && each.props[handler]);
    if (!part) throw new Error(`nothing called ${name} has ${handler}`);
    part.props[handler]({ preventDefault() {}, ...event });
  }
  const [style, picture, sentence, controls] = look();
  const elements = [...walk([picture, controls])].map((each) =>
    ({ type: each.type, name: nameOf(each), ...Object.fromEntries(plain(each.props)),
      ...each.ref?.shown }));
  const drawing = [...walk(picture)].find(({ type }) => type === "svg");
  return {
    state, ui, elements, label: picture.props["aria-label"], sentence: written(sentence),
    svg: drawing && markup(drawing), style: written(style),
  };
}

const { scenes, expression } = JSON.parse(readFileSync(0, "utf-8"));
const found = await (expression ? new Function("given", ...Object.keys(own),
  `return ${expression}`)(scenes, ...Object.values(own)) : scenes.map(scene));
console.log(JSON.stringify(found));
