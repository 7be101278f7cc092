import { isUtf8 } from 'node:buffer'
import sniffEncoding from 'html-encoding-sniffer'

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i

/**
 * The text of a page: its encoding stands in a byte order mark, else in `contentType`, else in the page itself (HTML
 * Standard, 13.2.3). One that names none is UTF-8 when it can be, else windows-1252.
 */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const encoding = sniffEncoding(bytes, {
    xml: /^\s*application\/xhtml\+xml/i.test(contentType),
    transportLayerEncodingLabel: CHARSET.exec(contentType)?.[1],
    defaultEncoding: isUtf8(bytes) ? 'UTF-8' : 'windows-1252',
  })
  return new TextDecoder(toDecoderLabel(encoding)).decode(bytes)
}

/** `replacement` is the standard's answer to encodings that hide markup, and has no decoder. */
function toDecoderLabel(encoding: string): Bun.Encoding {
  const label = encoding === 'replacement' ? 'utf-8' : encoding.toLowerCase()
  // Bun's type lists a few of the labels that its decoder knows.
  return label as Bun.Encoding
}
