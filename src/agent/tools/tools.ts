import { tool } from 'ai'
import { z } from 'zod'
import type { Memory } from '../state/memory.ts'
import type { Workspace } from '../state/workspace.ts'
import { type LoadSkills, readSkill } from './skills.ts'

/** What one `read_file` shows the model at most: a whole file of 1 MB would outgrow its window. */
const MAX_SHOWN_CHARS = 24_000

const name = z.string().describe('The name that stands in brackets before the fact')
const path = z.string().describe('Path relative to the workspace, such as notes/today.md')

/** What a model may do. What a tool throws goes back to the model as its result, so that it can try otherwise. */
export function createTools(workspace: Workspace, memory: Memory, loadSkills: LoadSkills) {
  return {
    list_files: tool({
      description: 'Lists the files of your workspace, or of one folder in it, with their sizes in bytes.',
      inputSchema: z.object({ folder: z.string().default('').describe('Empty for the whole workspace') }),
      execute: ({ folder }) => workspace.list(folder),
    }),
    read_file: tool({
      description: 'Reads a text file of your workspace. A long file comes in parts: go on at nextOffset.',
      inputSchema: z.object({ path, offset: z.number().int().min(0).default(0) }),
      execute: async (input) => toPart(await workspace.read(input.path), input.offset),
    }),
    write_file: tool({
      description: 'Writes a text file of your workspace, replacing what was there.',
      inputSchema: z.object({ path, content: z.string() }),
      execute: (input) => workspace.write(input.path, input.content),
    }),
    read_skill: tool({
      description: 'Reads the instructions of one of your skills, by its name in the list of your skills.',
      inputSchema: z.object({ name: z.string() }),
      execute: (input) => readSkill(loadSkills, input.name),
    }),
    remember: tool({
      description:
        'Keeps one short fact in your memory, for all later conversations. Your owner sees it too. A name that is known replaces what was kept under it.',
      inputSchema: z.object({
        fact: z.string(),
        name: z.string().optional().describe('A short name for the fact, such as favourite-tea'),
      }),
      execute: async ({ fact, name }, { abortSignal }) => ({
        name: (await memory.remember(fact, name, abortSignal)).key,
      }),
    }),
    recall: tool({
      description:
        'Shows the whole of a fact that is too long for the list of what you remember. A long one comes in parts: go on at nextOffset.',
      inputSchema: z.object({ name, offset: z.number().int().min(0).default(0) }),
      execute: async (input, { abortSignal }) => toPart(await memory.recall(input.name, abortSignal), input.offset),
    }),
    forget: tool({
      description: 'Removes a fact from your memory by its name.',
      inputSchema: z.object({ name }),
      execute: async (input, { abortSignal }) => {
        await memory.forget(input.name, abortSignal)
        return { forgotten: input.name }
      },
    }),
  }
}

function toPart(text: string, offset: number) {
  const end = offset + MAX_SHOWN_CHARS
  return { content: text.slice(offset, end), ...(end < text.length && { nextOffset: end, totalChars: text.length }) }
}
