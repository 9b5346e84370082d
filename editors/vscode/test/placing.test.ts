/** Code of an answer is put where it belongs in a file, what it leaves out stays, and in doubt nothing is placed. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { definitions } from "../src/native/changes/definitions";
import { isTelling } from "../src/native/changes/lines";
import { place } from "../src/native/changes/place";

function placed(file: string | undefined, code: string): string {
    const found = place(file, code);
    return "text" in found ? found.text : `refused: ${found.refused}`;
}

const SHOP = `"""Prices."""
import math

RATE = 0.19


def net(price):
    return price / (1 + RATE)


def gross(price):
    """With tax."""
    taxed = price * (1 + RATE)
    return round(taxed, 2)


class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)
`;

describe("a file", () => {
    test("that is missing or empty becomes the block", () => {
        expect(placed(undefined, "a = 1\nb = 2")).toBe("a = 1\nb = 2\n");
        expect(placed("", "a = 1\n")).toBe("a = 1\n");
        expect(placed("\r\n\r\n", "a = 1\nb = 2\n")).toBe("a = 1\r\nb = 2\r\n");
    });

    test("cannot come about from a block that leaves something out", () => {
        expect(placed(undefined, "# ... existing code ...\na = 1")).toBe("refused: noFile");
    });

    test("that the block holds whole is replaced whole", () => {
        const changed = SHOP.replace("0.19", "0.2").replace("import math\n", "").replace("        self.items = []\n", "        self.items: list[float] = []\n");
        expect(placed(SHOP, changed)).toBe(changed);
        expect(placed(SHOP.replaceAll("\n", "\r\n"), changed)).toBe(changed.replaceAll("\n", "\r\n"));
        expect(placed(SHOP.trimEnd(), changed)).toBe(changed.trimEnd());
    });

    test("is never replaced by a part of it", () => {
        const part = 'def gross(price):\n    """With tax."""\n    return round(price * (1 + RATE), 2)\n';
        expect(placed(SHOP, part)).toBe(SHOP.replace("    taxed = price * (1 + RATE)\n    return round(taxed, 2)", "    return round(price * (1 + RATE), 2)"));
        const small = "import os\n\ndef a():\n    x = 1\n    y = 2\n    z = 3\n    return x\n";
        expect(placed(small, "def a():\n    x = 1\n    y = 2\n    z = 4\n    return x\n")).toBe(small.replace("z = 3", "z = 4"));
    });

    test("that reads like this already is left alone", () => {
        expect(placed(SHOP, SHOP)).toBe("refused: same");
        expect(placed(SHOP, "def net(price):\n    return price / (1 + RATE)")).toBe("refused: same");
    });
});

describe("a definition", () => {
    test("takes the place of the one of its name, also of one within a class, wherever the block begins", () => {
        const total = "        return sum(self.items)\n";
        const changed = SHOP.replace(total, "        return round(sum(self.items), 2)\n");
        expect(placed(SHOP, "def total(self):\n    return round(sum(self.items), 2)")).toBe(changed);
        expect(placed(SHOP, "    def total(self):\n        return round(sum(self.items), 2)")).toBe(changed);
    });

    test("keeps its decorators where the block has none, and takes those that it has", () => {
        const file = "@cache\ndef a():\n    return 1\n\n\n@old\ndef b():\n    return 2\n";
        expect(placed(file, "def a():\n    return 3\n")).toBe(file.replace("return 1", "return 3"));
        expect(placed(file, "@new\ndef b():\n    return 2\n")).toBe(file.replace("@old", "@new"));
    });

    test("of several comes with those around it, and a new one stands beside its neighbor", () => {
        const block = "def net(price):\n    return price / (1 + rate())\n\n\ndef rate():\n    return RATE\n";
        expect(placed(SHOP, block)).toBe(SHOP.replace("    return price / (1 + RATE)\n", "    return price / (1 + rate())\n\n\ndef rate():\n    return RATE\n"));
        const before = "def rate():\n    return RATE\n\n\ndef net(price):\n    return price / (1 + rate())\n";
        expect(placed(SHOP, before)).toBe(SHOP.replace("def net(price):\n    return price / (1 + RATE)\n", before));
    });

    test("with a new import brings that along", () => {
        const block = "import math\nfrom decimal import Decimal\n\ndef net(price):\n    return Decimal(price) / (1 + RATE)\n";
        expect(placed(SHOP, block)).toBe(SHOP.replace("import math\n", "import math\nfrom decimal import Decimal\n").replace("return price / (", "return Decimal(price) / ("));
        const ts = 'import { a } from "./a";\n\nexport function f(): number {\n    return a;\n}\n\nexport const one = 1;\n';
        expect(placed(ts, 'import { a, b } from "./a";\n\nexport function f(): number {\n    return a + b;\n}\n')).toBe(ts.replace("{ a }", "{ a, b }").replace("return a;", "return a + b;"));
    });

    test("whose name is there twice is placed by what it shares, else refused", () => {
        const file = "class A:\n    def area(self):\n        width = self.a\n        return width\n\nclass B:\n    def area(self):\n        height = self.b\n        return height\n";
        expect(placed(file, "def area(self):\n    height = self.b\n    return 2 * height\n")).toBe(file.replace("return height", "return 2 * height"));
        expect(placed(file, "def area(self):\n    return 0\n")).toBe("refused: ambiguous");
        expect(placed(file, "class B:\n    # ...\n    def area(self):\n        return 0\n")).toBe(file.replace("        height = self.b\n        return height", "        return 0"));
    });

    test("with braces ends where its brace does", () => {
        const file = "package shop\n\nfunc Net(p float64) float64 {\n\tif p < 0 {\n\t\treturn 0\n\t}\n\treturn p / rate\n}\n\nfunc Gross(p float64) float64 {\n\treturn p * rate\n}\n";
        expect(placed(file, "func Net(p float64) float64 {\n    return math.Max(0, p) / rate\n}")).toBe(file.replace("\tif p < 0 {\n\t\treturn 0\n\t}\n\treturn p / rate\n", "\treturn math.Max(0, p) / rate\n"));
        const allman = "class Shop\n{\n    int Net(int p)\n    {\n        return p;\n    }\n\n    int Gross(int p)\n    {\n        return p * 2;\n    }\n}\n";
        expect(placed(allman, "int Net(int p)\n{\n    return p / 2;\n}")).toBe(allman.replace("return p;", "return p / 2;"));
        const arrow = "const a = () => {\n  return 1;\n};\n\nconst b = (\n  x: number,\n): number => {\n  return x;\n};\n";
        expect(placed(arrow, "const b = (\n  x: number,\n): number => {\n  return 2 * x;\n};")).toBe(arrow.replace("return x", "return 2 * x"));
    });

    test("that the block does not end keeps its rest", () => {
        const file = "function a() {\n  const first = 1;\n  const second = 2;\n  return first;\n}\n\nfunction b() {}\n";
        expect(placed(file, "function a() {\n  const first = 3;\n  const second = 2;\n")).toBe(file.replace("first = 1", "first = 3"));
    });

    test("that goes away with it is named", () => {
        const found = place(SHOP, "class Cart:\n    def __init__(self):\n        self.items = []\n\n    def total(self):\n        return 0\n");
        expect(found).toMatchObject({ removed: ["add"] });
    });
});

describe("what a block leaves out", () => {
    test.each(["# ... existing code ...", "# …", "...", "# rest of the code unchanged", "# (existing code)", "// ...", "… (unchanged)"])("stays: %s", (mark) => {
        expect(placed(SHOP, `${mark}\n\nRATE = 0.2\n\n${mark}\n`)).toBe(SHOP.replace("0.19", "0.2"));
        expect(placed(SHOP, `class Cart:\n    ${mark}\n    def add(self, item):\n        self.items.append(float(item))\n    ${mark}\n`)).toBe(SHOP.replace("append(item)", "append(float(item))"));
    });

    test("alone says nothing", () => {
        expect(placed(SHOP, "# ... existing code ...\n\n# ...\n")).toBe("refused: nothing");
        expect(placed(SHOP, "\n\n")).toBe("refused: nothing");
    });

    test("is code where the file has the same", () => {
        const file = "class Shape(Protocol):\n    def area(self) -> float:\n        ...\n\n    def name(self) -> str:\n        ...\n";
        expect(placed(file, "class Shape(Protocol):\n    def area(self) -> float:\n        ...\n\n    def title(self) -> str:\n        ...\n")).toContain("title");
        expect(placed("def f():\n    ...\n\n\ndef g():\n    return 1\n", "def f():\n    ...\n\n\ndef g():\n    return 2\n")).toBe("def f():\n    ...\n\n\ndef g():\n    return 2\n");
    });

    test("within a function stays there", () => {
        const long = "function total(items) {\n  let sum = 0;\n  for (const each of items) {\n    sum += each.price;\n  }\n  log(sum);\n  return sum;\n}\n\nfunction other() {\n  return 1;\n}\n";
        expect(placed(long, "function total(items, tax) {\n  // ... existing code ...\n  return sum * tax;\n}\n")).toBe(long.replace("total(items)", "total(items, tax)").replace("return sum;", "return sum * tax;"));
        expect(placed(long, "function total(items) {\n  if (items.length === 0) {\n    return 0;\n  }\n  // ... existing code ...\n}\n")).toBe(long.replace("items) {\n", "items) {\n  if (items.length === 0) {\n    return 0;\n  }\n"));
        expect(placed(long, "// ...\n  for (const each of items) {\n    sum += each.price * each.count;\n  }\n// ...")).toBe(long.replace("each.price;", "each.price * each.count;"));
    });

    test("of a class stays, and a method that is new stands at its end", () => {
        const ts = "class Cart {\n    items = [];\n\n    add(item) {\n        this.items.push(item);\n    }\n}\n\nexport const cart = new Cart();\n";
        expect(placed(ts, "class Cart {\n    // ... existing code ...\n\n    clear() {\n        this.items = [];\n    }\n}\n")).toBe(ts.replace("push(item);\n    }\n", "push(item);\n    }\n\n    clear() {\n        this.items = [];\n    }\n"));
        expect(placed(SHOP, "class Cart:\n    # ... existing methods ...\n\n    def clear(self):\n        self.items = []\n")).toBe(`${SHOP}\n    def clear(self):\n        self.items = []\n`);
    });

    test("lets new lines stand at the begin and at the end of the file", () => {
        expect(placed(SHOP, "# ... existing code ...\n\ndef zero():\n    return 0\n")).toBe(`${SHOP}\ndef zero():\n    return 0\n`);
        expect(placed("a { x: 1 }\nb { y: 2 }\n", '@charset "utf-8";\n/* ... */\n')).toBe('@charset "utf-8";\na { x: 1 }\nb { y: 2 }\n');
    });

    test("may be the body of a line", () => {
        expect(placed(SHOP, 'def net(price): ...\n\ndef gross(price):\n    return price\n')).toBe(SHOP.replace('    """With tax."""\n    taxed = price * (1 + RATE)\n    return round(taxed, 2)\n', "    return price\n"));
    });

    test("between lines that are nowhere is refused", () => {
        expect(placed(SHOP, "# ...\nqueue = Queue()\n# ...\n")).toBe("refused: notFound");
        expect(placed(SHOP, "class Basket:\n    # ...\n    def add(self):\n        pass\n")).toBe("refused: notFound");
    });
});

describe("lines that are no definition", () => {
    test("are placed by those that did not change", () => {
        const file = "name: shop\nversion: 1\n\nservices:\n  web:\n    image: nginx\n    ports:\n      - 80\n  db:\n    image: postgres\n    ports:\n      - 5432\n";
        expect(placed(file, "  db:\n    image: postgres:17\n    ports:\n      - 5432\n")).toBe(file.replace("image: postgres", "image: postgres:17"));
        expect(placed(file, "version: 2")).toBe(file.replace("version: 1", "version: 2"));
        expect(placed(SHOP, "RATE = 0.21")).toBe(SHOP.replace("0.19", "0.21"));
        expect(placed(SHOP, "        taxed = price * (1 + RATE)\n        return round(taxed, 3)")).toBe(SHOP.replace("round(taxed, 2)", "round(taxed, 3)"));
    });

    test("that stand there twice are refused, unless lines beside them tell", () => {
        const file = "[a]\nhost = x\nport = 1\nuser = me\n\n[b]\nhost = x\nport = 1\nuser = me\n";
        expect(placed(file, "host = x\nport = 2\nuser = me\n")).toBe("refused: ambiguous");
        expect(placed(file, "port = 2")).toBe("refused: ambiguous");
        const told = "[first]\nhost = x\nport = 1\n\n[second]\nhost = x\nport = 1\n";
        expect(placed(told, "[second]\nhost = x\nport = 2\n")).toBe("[first]\nhost = x\nport = 1\n\n[second]\nhost = x\nport = 2\n");
    });

    test("that the file does not know are refused", () => {
        expect(placed(SHOP, "SELECT name FROM customers;\nSELECT id FROM orders;\n")).toBe("refused: notFound");
        expect(placed(SHOP, "}")).toBe("refused: notFound");
        expect(placed(SHOP, "def unknown():\n    return 1\n")).toBe("refused: notFound");
    });

    test("are added beside the one they know", () => {
        expect(placed("alpha_one();\nbeta_two();\ngamma_three();\n", "// ...\nbeta_two();\nbeta_and_a_half();\n// ...")).toBe("alpha_one();\nbeta_two();\nbeta_and_a_half();\ngamma_three();\n");
    });
});

describe("blanks", () => {
    test("at the ends of lines and tabs stay as the file has them", () => {
        const file = "func a() {\r\n\tone()  \r\n\ttwo()\r\n}\r\n\r\nfunc b() {\r\n\tthree()\r\n}\r\n";
        expect(placed(file, "func a() {\n    one()\n    if ready {\n        two()\n    }\n}\n")).toBe("func a() {\r\n\tone()  \r\n\tif ready {\r\n\t\ttwo()\r\n\t}\r\n}\r\n\r\nfunc b() {\r\n\tthree()\r\n}\r\n");
    });

    test("of a block with other steps become the file's", () => {
        expect(placed(SHOP, "def net(price):\n  if price < 0:\n    return 0\n  return price / (1 + RATE)\n")).toBe(SHOP.replace("    return price / (1 + RATE)\n", "    if price < 0:\n        return 0\n    return price / (1 + RATE)\n"));
        expect(placed(SHOP, "def net(price):\n\tif price < 0:\n\t\treturn 0\n\treturn price / (1 + RATE)\n")).toBe(SHOP.replace("    return price / (1 + RATE)\n", "    if price < 0:\n        return 0\n    return price / (1 + RATE)\n"));
    });

    test("that change the meaning are taken", () => {
        expect(placed("def a(x):\n    work_with(x)\n    return x\n", "def a(x):\n    if x:\n        work_with(x)\n    return x\n")).toBe("def a(x):\n    if x:\n        work_with(x)\n    return x\n");
    });
});

describe("10,000 lines", () => {
    const lines = Array.from({ length: 2_500 }, (_, n) => `def step_${n}(value):\n    value += ${n}\n    return value\n`);
    const file = lines.join("\n");

    test("hold a function, and lines of one", () => {
        expect(placed(file, "def step_1234(value):\n    return value + 1_234\n")).toBe(file.replace("def step_1234(value):\n    value += 1234\n    return value\n", "def step_1234(value):\n    return value + 1_234\n"));
        expect(placed(file, "# ...\n    value += 2400\n    log(value)\n    return value\n# ...\n")).toBe(file.replace("    value += 2400\n", "    value += 2400\n    log(value)\n"));
        expect(placed(file, "# ...\n    return value\n# ...\n    value = 1\n# ...")).toMatch(/^refused/);
    });

    test("are replaced by as many", () => {
        const changed = `# Steps.\n${file.replaceAll("return value", "return value + 0")}`;
        expect(placed(`import a\n${file}`, `import a\n${changed}`)).toBe(`import a\n${changed}`);
    });

    test("of one long line each are looked at in no time to speak of", () => {
        const minified = `${"a(b,c)=>{d[e]}".repeat(20_000)}\n`.repeat(3);
        expect(placed(minified, "const wanted = 1;\n")).toBe("refused: notFound");
    });
});

/** The sources of the panel's host, which nobody wrote for this. */
const SOURCES = new URL("../src/chat/", import.meta.url);

test("definitions of sources, each changed in its middle, come to their place or are refused", () => {
    let refused = 0;
    let all = 0;
    for (const name of readdirSync(SOURCES)) {
        const file = readFileSync(new URL(name, SOURCES), "utf8");
        const lines = file.split("\n");
        for (const { start, end } of definitions(lines, 0, lines.length).filter((each) => each.end - each.start > 3)) {
            const body = lines.slice(start, end);
            const at = body.findIndex((line, index) => index * 2 >= body.length && isTelling(line));
            const changed = body.toSpliced(at, 1, `${/^\s*/.exec(body[at] ?? "")?.[0] ?? ""}changed(this, line);`);
            const found = place(file, changed.join("\n"));
            all += 1;
            if ("refused" in found) {
                refused += 1;
            } else {
                expect(found.text).toBe([...lines.slice(0, start), ...changed, ...lines.slice(end)].join("\n"));
            }
        }
    }
    expect(refused * 20, `${refused} of ${all}`).toBeLessThan(all);
});
