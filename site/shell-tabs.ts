/** Shows a shell block in the form for PowerShell as well, if that is another one. */

/** The commands of a block as PowerShell 7 understands them. */
export const powershellOf = (code: string): string =>
  code
    .replaceAll(/^export (\w+)="\$\((.*)\)"$/gm, '$$env:$1 = ($2) -join "`n"')
    .replaceAll(/^export (\w+)=([^"'\s]+)$/gm, '$$env:$1 = "$2"')
    .replaceAll(/^(\w+)=\$\((.*)\)$/gm, "$$$1 = $2")
    .replaceAll(/^(\w+)=(\S+) (.*)$/gm, '$$env:$1 = "$2"; $3')
    .replaceAll(/ \\$/gm, " `");

const SHELL_BLOCK = /^( *)```sh\n([\s\S]*?)^\1```$/gm;

/** Writes a group of two blocks for each shell block that is different in PowerShell. */
export const withPowershell = (markdown: string): string =>
  markdown.replaceAll(SHELL_BLOCK, (block, indent: string, code: string) => {
    const powershell = powershellOf(code);
    if (powershell === code) return block;
    const lines = [
      "::: code-group",
      "```sh [macOS, Linux]",
      `${code.replaceAll(new RegExp(`^${indent}`, "gm"), "")}\`\`\``,
      "```powershell [PowerShell]",
      `${powershell.replaceAll(new RegExp(`^${indent}`, "gm"), "")}\`\`\``,
      ":::",
    ];
    return lines
      .join("\n")
      .split("\n")
      .map((line) => (line === "" ? "" : indent + line))
      .join("\n");
  });
