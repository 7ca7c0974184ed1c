// Builds the page, section by section; the only module that does something when it is read.

import { checks } from "./checks.js";
import { components } from "./components.js";
import { contentOf } from "./content.js";
import { at, make } from "./dom.js";
import { drawers } from "./drawers.js";
import { families } from "./families.js";
import { look } from "./look.js";
import { map } from "./map.js";
import { matrix } from "./matrix.js";
import { methods } from "./methods.js";
import { frame, overview } from "./overview.js";
import { followColours } from "./printing.js";
import { profile } from "./profile.js";
import { search } from "./search.js";
import { stateOf } from "./state.js";
import { tryRow } from "./try_row.js";

// In the order of the page; views are told of changes in this order, too.
const SECTIONS = [
  ["overview", overview], ["components", components], ["map", map], ["map", profile], ["matrix", matrix], ["try", tryRow],
  ["cells", look], ["families", families], ["checks", checks], ["methods", methods],
];

/** A section that cannot be drawn says so and leaves the others alone. */
function built(id, section, state) {
  try {
    section(state);
  } catch (error) {
    console.error(error);
    at(id).appendChild(make("p", "This section could not be drawn: " + error.message, { className: "doubt" }));
  }
}

function build(state) {
  frame(state.content);
  drawers(state);
  search(state);
  // The frame takes away what this report has not.
  for (const [id, section] of SECTIONS) if (at(id) !== null) built(id, section, state);
  state.tell();
  followColours(state.tell);
}

build(stateOf(contentOf(JSON.parse(at("content").textContent))));
document.documentElement.setAttribute("data-ready", "true");
