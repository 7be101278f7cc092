import type { ParserKind } from '../adapters/parsers/process.ts'
import { serveParser } from '../adapters/parsers/serve.ts'
import { UsageError } from './exit.ts'

const OPEN = {
  git: async () => (await import('../adapters/git/parser.ts')).openParser,
  mail: async () => (await import('../adapters/mail/parser.ts')).openParser,
  pages: async () => (await import('../adapters/pages/parser.ts')).openParser,
  pdf: async () => (await import('../adapters/documents/parser.ts')).openParser,
  tokens: async () => (await import('../adapters/models/token-parser.ts')).openParser,
} as const satisfies Record<ParserKind, unknown>

/** For the platform, which runs this as a child: parses foreign content, and ends with its input. */
export async function runParser(kind: string): Promise<void> {
  const open = Object.entries(OPEN).find(([name]) => name === kind)?.[1]
  if (!open) throw new UsageError(`there is no parser ${JSON.stringify(kind)}`)
  await serveParser(await open())
  process.exit(0)
}
