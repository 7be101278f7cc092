import type { JsonObject } from '../../../../core/json/json-object.ts'
import { invalidField, readList, readObject, readString, requireKnownFields } from './read-fields.ts'

/** A part of a chat message. */
export type ChatPart = JsonObject & { type: string }

const fields = (...names: string[]) => [...names, 'type', 'cache_control']
const TEXT_FIELDS = fields('text', 'citations')
const IMAGE_FIELDS = fields('source')
const DOCUMENT_FIELDS = fields('source', 'title', 'context', 'citations')

/** Returns the type of a content block. @throws AppError `invalid` */
export function readBlock(value: unknown, path: string): { block: JsonObject; type: string } {
  const block = readObject(value, path)
  return { block, type: readString(block.type, `${path}.type`) }
}

/** Converts a text, image or document block. @throws AppError `invalid` for other types. */
export function toChatParts(value: unknown, path: string): ChatPart[] {
  const { block, type } = readBlock(value, path)
  if (type === 'text') {
    requireKnownFields(block, TEXT_FIELDS, path)
    return [{ type: 'text', text: readString(block.text, `${path}.text`) }]
  }
  if (type === 'image') {
    requireKnownFields(block, IMAGE_FIELDS, path)
    return [{ type: 'image_url', image_url: { url: toImageUrl(block.source, `${path}.source`) } }]
  }
  if (type === 'document') return toDocumentParts(block, path)
  throw invalidField(`${path}.type`, `Content of type '${type}' cannot be passed on to this model`)
}

function toImageUrl(value: unknown, path: string): string {
  const source = readObject(value, path)
  if (source.type === 'url') return readString(source.url, `${path}.url`)
  if (source.type === 'base64') return toDataUrl(source, path)
  throw invalidField(`${path}.type`, 'An image has to be base64 data or a URL for this model')
}

function toDataUrl(source: JsonObject, path: string): string {
  const mediaType = readString(source.media_type, `${path}.media_type`)
  return `data:${mediaType};base64,${readString(source.data, `${path}.data`)}`
}

/** The title and context of a document become text before it. */
function toDocumentParts(block: JsonObject, path: string): ChatPart[] {
  requireKnownFields(block, DOCUMENT_FIELDS, path)
  if (block.citations != null && readObject(block.citations, `${path}.citations`).enabled === true) {
    throw invalidField(`${path}.citations`, 'This model cannot cite documents')
  }
  const described = [block.title, block.context].flatMap((text, index) =>
    text == null ? [] : [{ type: 'text', text: readString(text, `${path}.${index === 0 ? 'title' : 'context'}`) }],
  )
  const source = readObject(block.source, `${path}.source`)
  return [...described, ...toSourceParts(source, block.title, `${path}.source`)]
}

function toSourceParts(source: JsonObject, title: unknown, path: string): ChatPart[] {
  if (source.type === 'text') return [{ type: 'text', text: readString(source.data, `${path}.data`) }]
  if (source.type === 'base64') {
    const filename = typeof title === 'string' && title !== '' ? title : 'document.pdf'
    return [{ type: 'file', file: { filename, file_data: toDataUrl(source, path) } }]
  }
  if (source.type === 'content') {
    if (typeof source.content === 'string') return [{ type: 'text', text: source.content }]
    const content = readList(source.content, `${path}.content`)
    return content.flatMap((part, index) => toChatParts(part, `${path}.content.${index}`))
  }
  throw invalidField(`${path}.type`, 'A document has to be text or base64 data for this model')
}

/** Returns text alone as a string, as every server of Chat Completions accepts it. */
export function contentToChat(parts: readonly ChatPart[]): string | readonly ChatPart[] {
  const [first] = parts
  return parts.length === 1 && first?.type === 'text' ? String(first.text) : parts
}
