import { z } from 'zod'

/** The input of a request: texts to count, and tokens of non-text parts. */
export type TokenText = { texts: string[]; tokens: number }

/** Overhead of each message. */
const MESSAGE_TOKENS = 4
/** Flat token cost of an image or audio part, which does not depend on its byte size. */
export const EMBEDDED_TOKENS = 2000

const Request = z.object({
  messages: z.array(z.unknown()).catch([]),
  input: z.unknown().optional(),
  tools: z.unknown().optional(),
  functions: z.unknown().optional(),
  response_format: z.unknown().optional(),
})
const Message = z.object({
  role: z.string().catch(''),
  name: z.string().catch(''),
  content: z.unknown().optional(),
  tool_calls: z.unknown().optional(),
  function_call: z.unknown().optional(),
  reasoning: z.unknown().optional(),
  reasoning_content: z.unknown().optional(),
})
const TextPart = z.object({ text: z.string() })

/** Extracts the input from the JSON of a chat or embedding request. @throws SyntaxError, ZodError for other texts. */
export function toTokenText(json: string): TokenText {
  const { messages, input, tools, functions, response_format: format } = Request.parse(JSON.parse(json))
  const parts = [...messages.map(ofMessage), ofInput(input), ofValue(tools), ofValue(functions), ofValue(format)]
  return {
    texts: parts.flatMap(({ texts }) => texts).filter((text) => text !== ''),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
  }
}

function ofMessage(value: unknown): TokenText {
  const { success, data } = Message.safeParse(value)
  if (!success) return ofValue(value)
  const { role, name, content, ...rest } = data
  const [said, ...others] = [ofContent(content), ...Object.values(rest).map(ofValue)]
  return {
    texts: [role, name, ...said.texts, ...others.flatMap(({ texts }) => texts)],
    tokens: MESSAGE_TOKENS + said.tokens,
  }
}

/** Accepts text or a list of parts; non-text parts count as embedded media. */
function ofContent(content: unknown): TokenText {
  if (!Array.isArray(content)) return ofValue(content)
  const texts = content.map((part) => TextPart.safeParse(part).data?.text)
  return {
    texts: texts.filter((text) => text !== undefined),
    tokens: texts.filter((text) => text === undefined).length * EMBEDDED_TOKENS,
  }
}

/** Accepts texts or arrays of tokens. */
function ofInput(input: unknown): TokenText {
  if (typeof input === 'number') return { texts: [], tokens: 1 }
  if (!Array.isArray(input)) return ofValue(input)
  const parts = input.map(ofInput)
  return {
    texts: parts.flatMap(({ texts }) => texts),
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

function ofValue(value: unknown): TokenText {
  if (value === undefined || value === null) return { texts: [], tokens: 0 }
  return { texts: [typeof value === 'string' ? value : JSON.stringify(value)], tokens: 0 }
}
