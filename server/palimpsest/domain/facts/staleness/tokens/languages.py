"""Languages, told by a file's name alone: their comments, their strings, and the white space that means something.

A file of an unknown name is plain text: words and marks, and the white space between them means nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final


class Layout(StrEnum):
    """The white space outside strings that means something."""

    FREE = "free"
    LINES = "lines"
    """Line ends."""
    INDENTED = "indented"
    """Line ends outside brackets, and the depth of a line in relation to the others."""


class Format(StrEnum):
    """The kind of heads and blocks in a file."""

    CODE = "code"
    KEYS = "keys"
    """Nested keys: JSON, YAML."""
    SECTIONS = "sections"
    """`[section]` lines over `key = value` lines."""
    MARKDOWN = "markdown"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    comments: tuple[str, ...] = ()
    """Regular expressions. None may fail late: a comment that nothing closes ends with the text."""
    strings: tuple[str, ...] = ()
    """Regular expressions, as for `comments`. White space inside means something."""
    layout: Layout = Layout.FREE
    format: Format = Format.CODE
    quotes_alike: str | None = None
    """The kind of quote is a matter of style in strings without these characters. None: it always means something."""
    has_trailing_commas: bool = True
    has_semicolon_style: bool = False
    """Whether semicolons can be left out at line ends."""
    has_tuples_of_one: bool = False
    """Whether `(x,)` is another value than `(x)`."""
    brackets: str = "([{"
    """The opening brackets in which line ends mean nothing."""


_SLASHES: Final = r"//[^\n]*"
_SLASHES_NOT_IN_ADDRESS: Final = r"(?<!:)//[^\n]*"
_STARRED: Final = r"/\*[\s\S]*?(?:\*/|\Z)"
_HASH: Final = r"#[^\n]*"
_HASH_APART: Final = r"(?<!\S)#[^\n]*"
_DASHES: Final = r"--[^\n]*"
_MARKUP: Final = r"<!--[\s\S]*?(?:-->|\Z)"
_LINE_HEAD: Final = r"(?:(?<=\n)|\A)[ \t]*"

_DOUBLE: Final = r'"(?:\\[\s\S]|[^"\\\n])*+"?'
_SINGLE: Final = r"'(?:\\[\s\S]|[^'\\\n])*+'?"
_DOUBLE_OVER_LINES: Final = r'"(?:\\[\s\S]|[^"\\]){0,1000}+"'
_SINGLE_OVER_LINES: Final = r"'[^']{0,1000}+'"
_BACKTICK: Final = r"`(?:\\[\s\S]|[^`\\])*+`?"
_TRIPLE_DOUBLE: Final = r'"""[\s\S]*?(?:"""|\Z)'
_TRIPLE_SINGLE: Final = r"'''[\s\S]*?(?:'''|\Z)"
_HERE_DOCUMENT: Final = (
    r"<<[-~]?[ \t]*(?P<here_quote>['\"]?)(?P<here>[A-Z_]{2,40})(?P=here_quote)[^\n]*\n"
    r"(?:[^\n]*\n){0,500}?[ \t]*(?P=here)\b"
)
_LONG_BRACKET: Final = r"\[(?P<level>=*)\[[\s\S]*?(?:\](?P=level)\]|\Z)"
_CHARACTER: Final = r"b?'(?:\\.[^'\n]{0,9}|[^'\\\n])'"
_REGULAR_EXPRESSION: Final = r"(?<=[=(,:!&|?\[{};]) ?/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*+\]|[^/\\\n\[])++/[a-z]*"

_C: Final = Language(
    "c", (_SLASHES, _STARRED), (r'R"(?P<raw>[^()\s"]{0,16})\([\s\S]*?(?:\)(?P=raw)"|\Z)', _DOUBLE, _SINGLE)
)
_JAVA: Final = Language("java", (_SLASHES, _STARRED), (_TRIPLE_DOUBLE, _DOUBLE, _SINGLE))
_SCRIPT: Final = Language(
    "javascript",
    (_SLASHES_NOT_IN_ADDRESS, _STARRED),
    (_REGULAR_EXPRESSION, _BACKTICK, _DOUBLE, _SINGLE),
    quotes_alike="",
    has_semicolon_style=True,
)
_GO: Final = Language("go", (_SLASHES, _STARRED), (r"`[^`]*+`?", _DOUBLE, _SINGLE))
_RUST: Final = Language(
    "rust",
    (_SLASHES, _STARRED),
    (r'b?r(?P<fence>#*)"[\s\S]*?(?:"(?P=fence)|\Z)', _CHARACTER, _DOUBLE_OVER_LINES, _DOUBLE),
    has_tuples_of_one=True,
)
_PYTHON: Final = Language(
    "python",
    (_HASH,),
    tuple(r"(?i:[rbfut]{0,2})" + each for each in (_TRIPLE_DOUBLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE)),
    Layout.INDENTED,
    quotes_alike="",
    has_tuples_of_one=True,
)
_LUA: Final = Language(
    "lua",
    (r"--\[(?P<depth>=*)\[[\s\S]*?(?:\](?P=depth)\]|\Z)", _DASHES),
    (_LONG_BRACKET, _DOUBLE, _SINGLE),
    quotes_alike="",
    has_semicolon_style=True,
)
_RUBY: Final = Language(
    "ruby",
    (r"(?:(?<=\n)|\A)=begin\b[\s\S]*?(?:\n=end\b[^\n]*|\Z)", r"#(?!\{)[^\n]*"),
    (_HERE_DOCUMENT.replace("[-~]?", "[-~]"), _DOUBLE_OVER_LINES, _DOUBLE, _SINGLE),
    quotes_alike="#\\",
)
_SHELL: Final = Language(
    "shell",
    (_HASH_APART,),
    (_HERE_DOCUMENT, _DOUBLE_OVER_LINES, _SINGLE_OVER_LINES, _DOUBLE, _SINGLE),
    Layout.LINES,
    has_trailing_commas=False,
)
_PHP: Final = Language(
    "php",
    (_SLASHES_NOT_IN_ADDRESS, _STARRED, r"#(?!\[)[^\n]*", _MARKUP),
    (r"<<<" + _HERE_DOCUMENT[len("<<[-~]?") :], _DOUBLE_OVER_LINES, _SINGLE_OVER_LINES, _DOUBLE, _SINGLE),
    quotes_alike="$\\",
)
_HASHED: Final = Language("hashed", (_HASH,), (_TRIPLE_DOUBLE, _DOUBLE, _SINGLE))
_TERRAFORM: Final = Language("terraform", (_HASH, _SLASHES_NOT_IN_ADDRESS, _STARRED), (_HERE_DOCUMENT, _DOUBLE))
_POWERSHELL: Final = Language("powershell", (r"<#[\s\S]*?(?:#>|\Z)", _HASH), (_DOUBLE, _SINGLE), Layout.LINES)
_HASKELL: Final = Language(
    "haskell", (r"\{-[\s\S]*?(?:-\}|\Z)", r"--(?![!#$%&*+./<=>?@^|~])[^\n]*"), (_DOUBLE, _CHARACTER), Layout.INDENTED
)
_ML: Final = Language("ml", (r"\(\*[\s\S]*?(?:\*\)|\Z)",), (_DOUBLE, _CHARACTER))
_FSHARP: Final = Language(
    "fsharp", (_SLASHES, r"\(\*(?!\))[\s\S]*?(?:\*\)|\Z)"), (_TRIPLE_DOUBLE, _DOUBLE, _CHARACTER), Layout.INDENTED
)
_LISP: Final = Language("lisp", (r";[^\n]*",), (_DOUBLE_OVER_LINES, _DOUBLE), has_trailing_commas=False)
_PERCENT: Final = Language("percent", (r"(?<!\\)%[^\n]*",), (), has_trailing_commas=False)
_SQL: Final = Language("sql", (_DASHES, _STARRED), (_SINGLE_OVER_LINES, _SINGLE, _DOUBLE))
_CSS: Final = Language("css", (_STARRED,), (_DOUBLE, _SINGLE), quotes_alike="")
_SCSS: Final = Language("scss", (_STARRED, r"(?<![:\w])//[^\n]*"), (_DOUBLE, _SINGLE), quotes_alike="")
_HTML: Final = Language("html", (_MARKUP,), (_DOUBLE, _SINGLE), quotes_alike="", has_trailing_commas=False)
_COMPONENT: Final = Language("component", (_MARKUP, _STARRED), (_BACKTICK, _DOUBLE, _SINGLE), quotes_alike="")
_INDENTED_MARKUP: Final = Language("indented markup", (_LINE_HEAD + _SLASHES,), (_DOUBLE, _SINGLE), Layout.INDENTED)
_JSON: Final = Language("json", (_SLASHES, _STARRED), (_DOUBLE,), format=Format.KEYS)
_YAML: Final = Language(
    "yaml", (_HASH_APART,), (_DOUBLE, _SINGLE), Layout.INDENTED, Format.KEYS, quotes_alike="\\'\"", brackets="[{"
)
_TOML: Final = Language(
    "toml",
    (_HASH,),
    (_TRIPLE_DOUBLE, _TRIPLE_SINGLE, _DOUBLE, r"'[^'\n]*+'?"),
    format=Format.SECTIONS,
    quotes_alike="\\",
)
_SETTINGS: Final = Language(
    "settings", (_LINE_HEAD + r"[#;][^\n]*",), (), Layout.LINES, Format.SECTIONS, has_trailing_commas=False
)
_DOCKERFILE: Final = Language(
    "dockerfile", (_LINE_HEAD + _HASH,), (_HERE_DOCUMENT, _DOUBLE), Layout.LINES, has_trailing_commas=False
)
_MAKEFILE: Final = Language("makefile", (_HASH_APART,), (), Layout.INDENTED, has_trailing_commas=False, brackets="")
_VIM: Final = Language("vim", (_LINE_HEAD + r'"[^\n]*',), (_SINGLE,), Layout.LINES)
_MARKDOWN: Final = Language("markdown", format=Format.MARKDOWN, has_trailing_commas=False)
_TEXT: Final = Language("text", format=Format.TEXT, has_trailing_commas=False)

_FILES: Final = (
    (_C, "c h cc cpp cxx hh hpp hxx m mm ino cu glsl proto thrift dart zig d v sol", ""),
    (_JAVA, "java kt kts scala groovy gradle cs swift", "jenkinsfile"),
    (_SCRIPT, "js jsx ts tsx mjs cjs mts cts", ""),
    (_GO, "go", ""),
    (_RUST, "rs", ""),
    (_PYTHON, "py pyi pyx gd nim bzl star", ""),
    (_LUA, "lua", ""),
    (_RUBY, "rb rake gemspec", "gemfile rakefile vagrantfile podfile"),
    (_SHELL, "sh bash zsh fish ksh", ".bashrc .zshrc .profile"),
    (_PHP, "php", ""),
    (_HASHED, "pl pm r jl ex exs coffee nix cmake awk tcl graphql gql", "cmakelists.txt"),
    (_TERRAFORM, "tf tfvars hcl", ""),
    (_POWERSHELL, "ps1 psm1", ""),
    (_HASKELL, "hs elm purs", ""),
    (_ML, "ml mli", ""),
    (_FSHARP, "fs fsx", ""),
    (_LISP, "lisp cl el clj cljs cljc edn scm rkt", ""),
    (_PERCENT, "tex sty erl hrl", ""),
    (_SQL, "sql", ""),
    (_CSS, "css", ""),
    (_SCSS, "scss less", ""),
    (_HTML, "html htm xml xhtml svg xsd xsl xaml csproj plist", ""),
    (_COMPONENT, "vue svelte astro", ""),
    (_INDENTED_MARKUP, "sass pug haml slim", ""),
    (_JSON, "json jsonc json5 webmanifest ipynb", ""),
    (_YAML, "yaml yml", ""),
    (_TOML, "toml", "cargo.lock poetry.lock"),
    (
        _SETTINGS,
        "ini cfg conf properties env editorconfig service desktop",
        "requirements.txt .gitignore .dockerignore",
    ),
    (_MAKEFILE, "mk mak", "makefile gnumakefile"),
    (_DOCKERFILE, "dockerfile", "dockerfile containerfile"),
    (_VIM, "vim", ""),
    (_MARKDOWN, "md markdown mdx mkd", ""),
)
"""Language, suffixes and whole names of its files, in lower case."""
_SUFFIXES: Final = {suffix: language for language, suffixes, _ in _FILES for suffix in suffixes.split()}
_NAMES: Final = {name: language for language, _, names in _FILES for name in names.split()}


def language_of(path: str) -> Language:
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if (known := _NAMES.get(name)) is not None:
        return known
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return _TEXT
    if stem in ("dockerfile", "makefile", ".env"):
        return _NAMES.get(stem, _SETTINGS)
    return _SUFFIXES.get(suffix, _TEXT)


@cache
def token_pattern(language: Language) -> re.Pattern[str]:
    """Its groups: comment, string, newline, word, mark. Between the matches is white space."""
    never = r"(?!)"
    comment = "|".join(language.comments) or never
    string = "|".join(language.strings) or never
    return re.compile(
        rf"(?P<comment>{comment})|(?P<string>{string})|(?P<newline>\n)|(?P<word>\w+)|(?P<mark>[^\w\s])",
    )
