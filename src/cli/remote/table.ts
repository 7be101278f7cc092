/** Rows under a head, in columns; what a cell has of control characters is left out, so that no name moves the cursor. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(toPlain))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const toLine = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const [first = [], ...others] = cells
  return [emphasize(toLine(first)), ...others.map(toLine)].join('\n')
}

/** Text without what a terminal would obey; line ends and tabs stay. */
export function toPlain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}

/** Bold on a terminal that has not asked for none (NO_COLOR). */
function emphasize(text: string): string {
  const isColoured = process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColoured ? `\u001b[1m${text}\u001b[0m` : text
}
