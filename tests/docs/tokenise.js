// Prints the tokens of files as VS Code colours them: for each line, [start, end, scopes].
// Arguments: the grammar, the files. Run where vscode-textmate and vscode-oniguruma are installed.

"use strict";

const { readFileSync } = require("fs");
const { createRequire } = require("module");
const here = createRequire(`${process.cwd()}/`);
const oniguruma = here("vscode-oniguruma");
const textmate = here("vscode-textmate");

async function main([grammarFile, ...files]) {
  await oniguruma.loadWASM(readFileSync(here.resolve("vscode-oniguruma/release/onig.wasm")));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(readFileSync(grammarFile, "utf8"), grammarFile),
  });
  const grammar = await registry.loadGrammar("source.slicc");
  const found = files.map((file) => {
    let stack = textmate.INITIAL;
    return readFileSync(file, "utf8").split("\n").map((line) => {
      const read = grammar.tokenizeLine(line, stack);
      stack = read.ruleStack;
      return read.tokens.map((each) => [each.startIndex, each.endIndex, each.scopes.slice(1).join(" ")]);
    });
  });
  process.stdout.write(JSON.stringify(found));
}

main(process.argv.slice(2));
