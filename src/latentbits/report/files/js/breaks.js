// Long names break where their words end, not anywhere.

import { make, put, textNode } from "./dom.js";

/** Puts a text into a node, with places to break behind underscores, dots, slashes and dashes. */
export function putBreaking(node, text) {
  text.split(/(?<=[_./-])(?=[^_./-])/).forEach((piece, i) => {
    if (i) put(node, make("wbr"));
    put(node, textNode(piece));
  });
  return node;
}
