/** Colours for code, in the languages that answers are mostly about. Large blocks stay plain: colouring them would be felt. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import lua from "highlight.js/lib/languages/lua";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = { bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, lua, python, ruby, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) {
    hljs.registerLanguage(name, language);
}

const MOST_CHARACTERS = 20_000;
const LONGEST_LINE = 1_000;

/** HTML of the code in colours; undefined where it stays plain. */
export function highlight(code: string, language: string): string | undefined {
    if (code.length > MOST_CHARACTERS || hljs.getLanguage(language) === undefined || code.split("\n").some((line) => line.length > LONGEST_LINE)) {
        return undefined;
    }
    return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
