import { UsageError } from '../exit.ts'

/** Formats rows as columns under a header, without control characters that could move the cursor. */
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

/** Removes terminal control sequences; keeps newlines and tabs. */
export function toPlain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern removes control characters
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}

/** Makes a text bold on a terminal unless NO_COLOR is set. */
function emphasize(text: string): string {
  const isColoured = process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return isColoured ? `\u001b[1m${text}\u001b[0m` : text
}

/** Parses a positive count. @throws UsageError naming `option`. */
export function readCount(option: string, text: string, most: number): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= most) return count
  throw new UsageError(`${option}: must be a whole number from 1 to ${most}`)
}
