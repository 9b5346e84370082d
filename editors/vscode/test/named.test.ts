/** The file that a block of code names, and what is left of the block then. */
import { expect, test } from "vitest";

import { readNamed } from "../src/native/changes/named";

test.each([
    ["python src/prices.py", "src/prices.py"],
    ["ts title=\"src/my file.ts\"", "src/my file.ts"],
    ["js {1,3} filename='a.js'", "a.js"],
    ["python:src/prices.py", "src/prices.py"],
    ["src/prices.py", "src/prices.py"],
    ["12:20:src/prices.py", "src/prices.py"],
    ["./src/prices.py:12", "src/prices.py"],
    ["src\\shop\\prices.cs", "src/shop/prices.cs"],
    ["Dockerfile", "Dockerfile"],
    [".gitignore", ".gitignore"],
    ["python", undefined],
    ["c++", undefined],
    ["ts showLineNumbers", undefined],
    ["", undefined],
])("the info string %j names %j", (info, path) => {
    expect(readNamed(info, "a = 1\nb = 2\n")).toEqual({ path, code: "a = 1\nb = 2\n" });
});

test.each(["# src/prices.py", "// src/prices.py", "/* src/prices.py */", "<!-- src/prices.py -->", "-- src/prices.py", "# file: src/prices.py", "# File: src/prices.py"])("the first line %j names the file and is not part of it", (line) => {
    expect(readNamed("x", `${line}\r\na = 1\n`)).toEqual({ path: "src/prices.py", code: "a = 1\n" });
});

test.each(["# Prices of the shop.", "// see a/b for more.", "#!/bin/sh", "// ...", "# TODO", "/* global window */", "# This is e.g.", "# Mr. Smith/Jones did"])("the first line %j names none", (line) => {
    expect(readNamed("x", `${line}\na = 1\n`)).toEqual({ path: undefined, code: `${line}\na = 1\n` });
});

test("the info string and the first line may name the same file", () => {
    expect(readNamed("python src/prices.py", "# prices.py\na = 1\n")).toEqual({ path: "src/prices.py", code: "a = 1\n" });
    expect(readNamed("python src/prices.py", "# other.py\na = 1\n")).toEqual({ path: "src/prices.py", code: "# other.py\na = 1\n" });
});
