/** Of a long argument or result so much is told; the model itself has seen all of it. */
const MAX_TOLD_CHARACTERS = 4000

/** One use of a tool as those are told who follow a turn; what went in and came out is JSON or text, cut where it is long. */
export type ToolUse = { name: string; arguments: string; result: string; success: boolean; durationMs: number }

export function toToolUse(
  name: string,
  input: unknown,
  output: unknown,
): Pick<ToolUse, 'name' | 'arguments' | 'result'> {
  return { name, arguments: toTold(input), result: toTold(output) }
}

function toTold(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length <= MAX_TOLD_CHARACTERS ? text : `${text.slice(0, MAX_TOLD_CHARACTERS)} […]`
}
