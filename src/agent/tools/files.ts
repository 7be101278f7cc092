import { z } from 'zod'
import { isInstructions } from '../state/instructions.ts'
import type { AgentWorkspace } from '../state/workspace.ts'
import { defineTool, toPart } from './define.ts'
import { isOfSkill } from './skills.ts'

const path = z.string().describe('Path relative to the workspace, such as notes/today.md')

/**
 * Creates tools for workspace files. Writing skills and instructions needs the owner's approval: a prompt injection
 * could otherwise store instructions for all later turns.
 */
export function createFileTools(workspace: AgentWorkspace) {
  return {
    list_files: defineTool({
      description: 'Lists the files of your workspace, or of one folder in it, with their sizes in bytes.',
      inputSchema: z.object({ folder: z.string().default('').describe('Empty for the whole workspace') }),
      execute: ({ folder }) => workspace.list(folder),
    }),
    read_file: defineTool({
      description: 'Reads a text file of your workspace. A long file comes in parts: go on at nextOffset.',
      inputSchema: z.object({ path, offset: z.number().int().min(0).default(0) }),
      execute: async (input) => toPart(await workspace.read(input.path), input.offset),
    }),
    write_file: defineTool({
      description: 'Writes a text file of your workspace, replacing what was there.',
      inputSchema: z.object({ path, content: z.string() }),
      needsOwner: (input) => isGuarded(input.path),
      execute: (input) => workspace.write(input.path, input.content),
    }),
    patch_file: defineTool({
      description:
        'Replaces one passage of a text file. The file must contain the old text exactly once: include enough of the text around it.',
      inputSchema: z.object({ path, oldText: z.string().min(1), newText: z.string() }),
      needsOwner: (input) => isGuarded(input.path),
      execute: (input) => workspace.patch(input.path, input.oldText, input.newText),
    }),
    search_files: defineTool({
      description: 'Finds lines of text files that hold a text, whatever its case, with their paths and numbers.',
      inputSchema: z.object({ text: z.string().min(1).max(200), folder: z.string().default('') }),
      execute: ({ text, folder }) => workspace.search(text, folder),
    }),
    move_file: defineTool({
      description: 'Moves or renames a file. A file that is at the new place already stays: then nothing is moved.',
      inputSchema: z.object({ from: path, to: path }),
      needsOwner: ({ from, to }) => isGuarded(from) || isGuarded(to),
      execute: ({ from, to }) => workspace.move(from, to),
    }),
    delete_file: defineTool({
      description:
        'Deletes a file. Your owner is asked first, so this may take long. It lies in .trash for 30 days, from where move_file brings it back.',
      inputSchema: z.object({ path }),
      needsOwner: () => true,
      execute: (input) => workspace.discard(input.path),
    }),
  }
}

/** Files that become part of later system prompts. */
function isGuarded(path: string): boolean {
  return isInstructions(path) || isOfSkill(path)
}
