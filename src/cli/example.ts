import type { Command } from 'commander'

/** Adds example commands, and optional notes, to the help of a command. */
export function addExample(command: Command, lines: string, notes?: string): Command {
  const indented = lines.replace(/^/gm, '  ')
  return command.addHelpText('after', `\nExample:\n${indented}${notes ? `\n\n${notes}` : ''}`)
}
