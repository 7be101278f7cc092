import { z } from 'zod'
import type { Memory } from '../state/memory.ts'
import { defineTool } from './define.ts'
import { toPart } from './parts.ts'

const name = z.string().describe('The name that stands in brackets before the fact')

/** What a model keeps and finds again in all conversations. */
export function createMemoryTools(memory: Memory) {
  return {
    remember: defineTool({
      description:
        'Keeps one short fact in your memory, for all later conversations. Your owner sees it too. A name that is known replaces what was kept under it.',
      inputSchema: z.object({
        fact: z.string(),
        name: z.string().optional().describe('A short name for the fact, such as favourite-tea'),
      }),
      execute: async ({ fact, name }, { signal }) => ({ name: (await memory.remember(fact, name, signal)).key }),
    }),
    recall: defineTool({
      description:
        'Shows the whole of a fact that is too long for the list of what you remember. A long one comes in parts: go on at nextOffset.',
      inputSchema: z.object({ name, offset: z.number().int().min(0).default(0) }),
      execute: async (input, { signal }) => toPart(await memory.recall(input.name, signal), input.offset),
    }),
    forget: defineTool({
      description: 'Removes a fact from your memory by its name.',
      inputSchema: z.object({ name }),
      execute: async (input, { signal }) => {
        await memory.forget(input.name, signal)
        return { forgotten: input.name }
      },
    }),
  }
}
