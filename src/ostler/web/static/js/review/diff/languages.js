/** The language of a file, by its name; the names are those of highlight.js. */

const BY_END = new Map(
  [
    ["bash", "sh bash zsh bats"],
    ["c", "c h"],
    ["cpp", "cc cpp cxx hh hpp hxx"],
    ["csharp", "cs"],
    ["css", "css"],
    ["diff", "diff patch"],
    ["dockerfile", "dockerfile containerfile"],
    ["go", "go"],
    ["graphql", "graphql gql"],
    ["ini", "ini toml cfg conf properties editorconfig"],
    ["java", "java"],
    ["javascript", "js mjs cjs jsx"],
    ["json", "json json5 jsonc ndjson jsonl"],
    ["kotlin", "kt kts"],
    ["lua", "lua"],
    ["makefile", "mk makefile gnumakefile"],
    ["markdown", "md markdown mdx"],
    ["perl", "pl pm"],
    ["php", "php"],
    ["powershell", "ps1 psm1"],
    ["protobuf", "proto"],
    ["python", "py pyi pyw"],
    ["ruby", "rb rake gemfile rakefile gemspec"],
    ["rust", "rs"],
    ["scss", "scss sass"],
    ["sql", "sql"],
    ["swift", "swift"],
    ["typescript", "ts tsx mts cts"],
    ["xml", "xml html htm svg xhtml vue plist"],
    ["yaml", "yaml yml"],
  ].flatMap(([language, ends]) => ends.split(" ").map((end) => [end, language])),
);

/** The name of a language, or null. */
export function languageOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const begin = /^(dockerfile|containerfile|makefile)\./.exec(name)?.[1];
  return BY_END.get(name.slice(name.lastIndexOf(".") + 1)) ?? BY_END.get(begin) ?? null;
}
