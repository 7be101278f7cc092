import { EMBEDDED_TOKENS } from '../../../../adapters/models/token-text.ts'

/** How many tokens a call may take at most. `isBounded`: the caller has said how long the answer may be. */
export type RequestSize = { inputTokens: number; outputTokens: number; isBounded: boolean }

/** What an answer may use when the caller names no bound. */
export const DEFAULT_MAX_TOKENS = 4096
/** No alphabet takes fewer bytes a token; reserved too much is given back, reserved too little would pass a limit. */
const BYTES_PER_TOKEN = 3
const EMBEDDED_DATA = /data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+/g

type Body = Readonly<Record<string, unknown>>

export function sizeOfCompletion(body: Body, json: string): RequestSize {
  const asked = maxTokens(body)
  return {
    inputTokens: boundInput(json),
    outputTokens: (asked ?? DEFAULT_MAX_TOKENS) * answersAsked(body),
    isBounded: asked !== null,
  }
}

/** Vectors are no tokens. */
export function sizeOfEmbedding(json: string): RequestSize {
  return { inputTokens: boundInput(json), outputTokens: 0, isBounded: true }
}

function boundInput(json: string): number {
  if (!json.includes(';base64,')) return Math.ceil(Buffer.byteLength(json) / BYTES_PER_TOKEN)
  let embedded = 0
  const text = json.replace(EMBEDDED_DATA, () => {
    embedded += 1
    return ''
  })
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + embedded * EMBEDDED_TOKENS
}

/** What an answer may use: providers differ in which of the two names counts. Null: not said. */
function maxTokens(body: Body): number | null {
  const asked = [body.max_completion_tokens, body.max_tokens].filter((value) => typeof value === 'number')
  if (asked.length === 0 || Math.max(...asked) <= 0) return null
  return Math.max(...asked)
}

function answersAsked({ n }: Body): number {
  return typeof n === 'number' ? Math.max(1, n) : 1
}
