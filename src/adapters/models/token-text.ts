import { z } from 'zod'

/** The input of a request: texts to count, and tokens of non-text parts. */
type TokenText = { texts: string[]; tokens: number }

/** Overhead of each message. */
const MESSAGE_TOKENS = 4
/** Flat token cost of an image or audio part, which does not depend on its byte size. */
export const EMBEDDED_TOKENS = 2000

const Request = z.object({
  messages: z.array(z.unknown()).catch([]),
  system: z.unknown().optional(),
  instructions: z.unknown().optional(),
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
/** Parts of a message in Anthropic's form that are text although they have no `text`. */
const ToolPart = z.object({ type: z.literal('tool_use'), name: z.string().catch(''), input: z.unknown() })
const ToolResultPart = z.object({ type: z.literal('tool_result'), content: z.unknown().optional() })
const ThinkingPart = z.object({ type: z.literal('thinking'), thinking: z.string() })
const ImagePart = z.object({
  type: z.literal('image'),
  source: z.object({ type: z.literal('base64'), data: z.string() }),
})

/** Extracts the input from the JSON of a chat or embedding request. @throws SyntaxError, ZodError for other texts. */
export function toTokenText(json: string): TokenText {
  const { messages, system, input, ...rest } = Request.parse(JSON.parse(json))
  const parts = [...messages.map(ofMessage), ofContent(system), ofInput(input), ...Object.values(rest).map(ofValue)]
  const { texts, tokens } = join(parts)
  return { texts: texts.filter((text) => text !== ''), tokens }
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

/** Accepts text or a list of parts; parts without text count as embedded media. */
function ofContent(content: unknown): TokenText {
  if (!Array.isArray(content)) return ofValue(content)
  return join(content.map(ofPart))
}

function ofPart(part: unknown): TokenText {
  const text = TextPart.safeParse(part).data?.text ?? ThinkingPart.safeParse(part).data?.thinking
  if (text !== undefined) return { texts: [text], tokens: 0 }
  const call = ToolPart.safeParse(part).data
  if (call) return join([ofValue(call.name), ofValue(call.input)])
  const result = ToolResultPart.safeParse(part).data
  return result ? ofContent(result.content) : { texts: [], tokens: EMBEDDED_TOKENS }
}

function join(parts: readonly TokenText[]): TokenText {
  return {
    texts: parts.flatMap(({ texts }) => texts),
    tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** Lists the data of images in messages of Anthropic's format, including images in tool results. */
export function listBase64Images(messages: unknown): string[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message) => imagesOf(Object(message).content))
}

function imagesOf(content: unknown): string[] {
  if (!Array.isArray(content)) return []
  return content.flatMap((part) => {
    const result = ToolResultPart.safeParse(part).data
    if (result) return imagesOf(result.content)
    const image = ImagePart.safeParse(part).data
    return image ? [image.source.data] : []
  })
}

/** Accepts texts, arrays of tokens, or the items of a response. */
function ofInput(input: unknown): TokenText {
  if (typeof input === 'number') return { texts: [], tokens: 1 }
  if (Array.isArray(input)) return join(input.map(ofInput))
  if (typeof input !== 'object' || input === null) return ofValue(input)
  if ('content' in input) return ofMessage(input)
  return 'output' in input ? ofContent(input.output) : ofValue(input)
}

function ofValue(value: unknown): TokenText {
  if (value === undefined || value === null) return { texts: [], tokens: 0 }
  return { texts: [typeof value === 'string' ? value : JSON.stringify(value)], tokens: 0 }
}
