// @ts-expect-error With type "file" the default export is the path of the module.
import pdfjsFile from 'unpdf/pdfjs' with { type: 'file' }
import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'

/** Longer text is cut because no model reads more at once. */
const MAX_CHARACTERS = 1_000_000

export function openParser(): ChannelFunctions {
  return { read: async (bytes) => extractPdf(Buffer.from(z.string().parse(bytes), 'base64')) }
}

async function extractPdf(bytes: Buffer): Promise<string> {
  const { definePDFJSModule, extractText, getDocumentProxy } = await import('unpdf')
  await definePDFJSModule(() => import(pdfjsFile))
  const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
  const { text } = await extractText(document, { mergePages: false })
  const pages = text.map((page, index) => `--- Page ${index + 1} ---\n${page}`)
  return pages.join('\n\n').slice(0, MAX_CHARACTERS)
}
