import { join } from 'node:path'
import type { ToolUse, VendorAnswer, VendorScript } from '../vendors/script.ts'

/** The file that the task writes. */
export const TASK_FILE = 'hello.txt'
export const TASK_CONTENT = 'hello from the model\n'

const COMMAND = `printf '${TASK_CONTENT.replace('\n', '\\n')}' > ${TASK_FILE}`

const PROGRAM = `text(await tools.exec_command({ cmd: ${JSON.stringify(COMMAND)} }))`

/** The tool call with which the model writes the file, for the tool of each client. */
const TOOLS: Readonly<Record<string, (folder: string) => Omit<ToolUse, 'name'>>> = {
  Write: (folder) => ({ arguments: { file_path: join(folder, TASK_FILE), content: TASK_CONTENT } }),
  exec_command: () => ({ arguments: { cmd: COMMAND } }),
  // Newer models of Codex write programs that call the tools.
  exec: () => ({ arguments: {}, namespace: 'functions', input: PROGRAM }),
  // The same tool in Chat Completions.
  functions__exec: () => ({ arguments: { input: PROGRAM } }),
}

/** Returns a model that calls the client's tool to write a file, and ends the turn when it receives the result. */
export function writeFileTask(folder: string, more: VendorAnswer = {}): VendorScript {
  return ({ tools, toolResults }) => {
    if (toolResults.length > 0) return { ...more, text: ['The file ', 'is written.'] }
    const name = Object.keys(TOOLS).find((known) => tools.includes(known))
    const use = name === undefined ? undefined : TOOLS[name]
    if (name === undefined || !use) return { ...more, text: 'There is no tool to write a file.' }
    return { ...more, text: 'I write it.', toolCalls: [{ name, ...use(folder) }] }
  }
}
