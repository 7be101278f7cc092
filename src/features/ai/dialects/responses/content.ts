import type { JsonObject } from '../../../../core/json/json-object.ts'
import { arrayAt, isSet, objectAt, parameterError, textAt, withoutUndefined } from './fields.ts'

/** Content of a chat message: text, or parts. */
export type ChatContent = string | readonly JsonObject[]

type PartReader = (part: JsonObject, param: string) => JsonObject

const toText: PartReader = ({ text }, param) => ({ type: 'text', text: textAt(text, `${param}.text`) })
const toRefusal: PartReader = ({ refusal }, param) => ({
  type: 'refusal',
  refusal: textAt(refusal, `${param}.refusal`),
})

const TEXT: Readonly<Record<string, PartReader>> = { input_text: toText, output_text: toText, text: toText }
const BY_ROLE: Readonly<Record<string, Readonly<Record<string, PartReader>>>> = {
  system: TEXT,
  assistant: { ...TEXT, refusal: toRefusal },
  user: { ...TEXT, input_image: toImage, input_file: toFile, input_audio: toAudio },
}

/**
 * Translates the content of a message, or the output of a tool with `role` user. A single text becomes a string, which
 * every provider accepts.
 * @throws AppError `invalid` for a part that Chat Completions cannot express.
 */
export function toChatContent(content: unknown, role: string, param: string): ChatContent {
  if (typeof content === 'string') return content
  const readers = BY_ROLE[role] ?? TEXT
  const parts = arrayAt(content, param).map((part, index) => {
    const path = `${param}[${index}]`
    const read = objectAt(part, path)
    const type = textAt(read.type, `${path}.type`)
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined
    if (!reader) throw unknownPart(`${path}.type`, type, role, Object.keys(readers))
    return reader(read, path)
  })
  const [first] = parts
  return parts.length === 1 && first?.type === 'text' && typeof first.text === 'string' ? first.text : parts
}

function unknownPart(param: string, type: string, role: string, known: readonly string[]) {
  const message = `Invalid value: '${type}'. Content of role ${role} supports: ${known.map((name) => `'${name}'`).join(', ')}.`
  return parameterError(param, 'invalid_value', message)
}

/** Chat Completions has no detail above `high`. */
function toImage({ image_url: url, file_id: fileId, detail }: JsonObject, param: string): JsonObject {
  if (!isSet(url)) throw isSet(fileId) ? noFiles(`${param}.file_id`) : missing(`${param}.image_url`)
  const chosen = detail === 'original' ? 'high' : (detail ?? undefined)
  return { type: 'image_url', image_url: withoutUndefined({ url: textAt(url, `${param}.image_url`), detail: chosen }) }
}

function toFile({ file_data: data, file_id: fileId, file_url: url, filename }: JsonObject, param: string): JsonObject {
  if (!isSet(data)) {
    if (isSet(fileId)) throw noFiles(`${param}.file_id`)
    throw isSet(url) ? noFiles(`${param}.file_url`) : missing(`${param}.file_data`)
  }
  const file = { file_data: textAt(data, `${param}.file_data`), filename: filename ?? undefined }
  return { type: 'file', file: withoutUndefined(file) }
}

function toAudio({ input_audio: audio }: JsonObject, param: string): JsonObject {
  const { data, format } = objectAt(audio, `${param}.input_audio`)
  return {
    type: 'input_audio',
    input_audio: {
      data: textAt(data, `${param}.input_audio.data`),
      format: textAt(format, `${param}.input_audio.format`),
    },
  }
}

function noFiles(param: string) {
  const message = `'${param}' refers to a file outside the request. Send its content instead.`
  return parameterError(param, 'unsupported_parameter', message)
}

function missing(param: string) {
  return parameterError(param, 'missing_required_parameter', `Missing required parameter: '${param}'.`)
}
