// Starts the language server and connects it with the editor.

"use strict";

const { workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const [command, ...args] = workspace.getConfiguration("slicc").get("command");
  client = new LanguageClient(
    "slicc",
    "SLICC",
    { command, args },
    {
      documentSelector: [{ scheme: "file", language: "slicc" }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{sm,slicc}") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `SLICC: cannot start \`${command}\`: ${error.message}. Install it with: pip install 'slicc[editor]'`,
    );
  }
}

function deactivate() {
  return client === undefined ? undefined : client.stop();
}

module.exports = { activate, deactivate };
