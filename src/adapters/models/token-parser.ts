import ranksFile from 'gpt-tokenizer/bpeRanks/o200k_base' with { type: 'file' }
import { GptEncoding } from 'gpt-tokenizer/GptEncoding'
import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'
import { toTokenText } from './token-text.ts'

/** The JSON text of a request and the text of its answer. */
export type TokenSource = { request: string; said: string }
export type TokenCount = { input: number; output: number }
const Source: z.ZodType<TokenSource> = z.object({ request: z.string(), said: z.string() })

/** Bounds the tokenizer's time, which grows faster than linearly on long words. */
const SLICE_CHARACTERS = 256
/** Longer texts are counted by sampling. */
const MAX_COUNTED_CHARACTERS = 200_000
/** Counts special-token markers as plain text. */
const OPTIONS = { disallowedSpecial: new Set<string>() }

// A file import keeps the 200,000 ranks out of the executable's bytecode, where they would take 10 MB.
const { default: ranks } = await import(String(ranksFile))
const { countTokens } = GptEncoding.getEncodingApi('o200k_base', () => ranks)

export function openParser(): ChannelFunctions {
  return {
    async count(source) {
      const { request, said } = Source.parse(source)
      const { texts, tokens } = toTokenText(request)
      return { input: tokens + countAll(texts), output: countAll([said]) } satisfies TokenCount
    },
  }
}

function countAll(texts: readonly string[]): number {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  const every = Math.max(1, Math.ceil(length / MAX_COUNTED_CHARACTERS))
  let position = 0
  let counted = 0
  let tokens = 0
  for (const text of texts) {
    for (let from = 0; from < text.length; from += SLICE_CHARACTERS) {
      if (position++ % every !== 0) continue
      const slice = text.slice(from, from + SLICE_CHARACTERS)
      counted += slice.length
      tokens += countTokens(slice, OPTIONS)
    }
  }
  return counted === 0 ? 0 : Math.ceil((tokens * length) / counted)
}
